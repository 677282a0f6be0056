"""The command `durable-agent-host`: each of its commands is the `main` of a module, with that module's options."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version

from hosting.commands.running_app import exit_code

COMMANDS = {
    "add": (f"{__package__}.adding.command", "add an agent, tool, workflow, schedule or trigger to an app"),
    "check": (f"{__package__}.check", "find outdated, unsafe or undeployable parts of an app"),
    "evaluate": ("hosting.commands.evaluate", "ask an agent the cases of a file, and check its answers"),
    "lock": (f"{__package__}.lock", "lock the packages of a deployment, with hashes, for each Python"),
    "new": (f"{__package__}.new", "create an app"),
    "operations": ("hosting.commands.operations", "show the queued, running and stuck runs of a running app"),
    "owners": ("hosting.commands.owners", "assign threads of a running app to an owner"),
    "skill": (f"{__package__}.skill", "print the folder of the skill for coding agents, or copy it"),
    "state": ("state.__main__", "print a stored conversation"),
    "tail": ("hosting.commands.tail", "print a run's events from its log"),
    "upgrade": (f"{__package__}.upgrade", "bring an app to this version, and show what changed in its files"),
}


def main() -> int:
    """Run the command that is named first, with the arguments behind it; 2, with the list, where there is none."""
    return exit_code(_carry_out)


def _carry_out(typed: Sequence[str]) -> int:
    name, *arguments = typed or [""]
    if name in COMMANDS:
        return int(import_module(COMMANDS[name][0]).main(arguments))
    if name == "--version":
        print(f"durable-agent-host {version('durable-agent-host')}")
        return 0
    asked = name in ("-h", "--help")
    lines = [f"  {command:12}{meaning}" for command, (_, meaning) in COMMANDS.items()]
    usage = [
        "usage: durable-agent-host COMMAND ...",
        "",
        *lines,
        "",
        "COMMAND --help lists the options of a command; --version prints the version.",
    ]
    print("\n".join(usage), file=sys.stdout if asked else sys.stderr)
    return 0 if asked else 2


if __name__ == "__main__":
    sys.exit(main())
