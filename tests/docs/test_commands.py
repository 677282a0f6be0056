"""Every command that the pages print is one that a person can type after the README's two, with nothing activated."""

import argparse
import re
from pathlib import Path

import pytest

from dev import HOST_COMMANDS, HOST_OPTIONS, ROOT, command_line
from packages.durable_agent_host.__main__ import COMMANDS
from tests.support.pages import page, part

PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("samples/README.md"), *ROOT.glob("samples/*/README.md")]
)
COMMAND = re.compile(r"(?:(?<=[^`]`)|^(?:\$ | {4}|))((?:python3?|pip|func|uv|\S*venv/\S*)(?: [^`\n|]+))", re.MULTILINE)
STANDARD_LIBRARY = ("python -m http.server", "python samples/reliable_streaming/follow.py")
"""Programs that any Python runs as it is."""


WITHOUT_A_CLONE = ("pip install durable-agent-host", "pip install functions-local-host")
"""For whoever has the packages instead."""


def commands_in(page: Path) -> list[str]:
    """Return what the page gives to type: in a block, at the beginning of a line, or as code in a sentence."""
    return [" ".join(found[1].split()) for found in COMMAND.finditer(page.read_text(encoding="utf-8"))]


def refusal(command: str) -> str:
    """Return what is wrong with typing the command in a clone, nothing if it works."""
    if command.startswith((*STANDARD_LIBRARY, *WITHOUT_A_CLONE)):
        return ""
    command = re.sub(r"^python (?:\.\./)+dev", "python dev", command)
    if not command.startswith("python dev.py "):
        return "needs an activated environment"
    try:
        options, rest = command_line().parse_known_args(command.split()[2:])
    except (SystemExit, argparse.ArgumentError):
        return "dev.py does not take it"
    if options.command == "run" and rest:
        return f"`run` does not know {rest}"
    if options.command == "exec" and options.program == "python" and options.arguments[0] == "-m":
        module = ROOT / options.arguments[1].replace(".", "/")
        return "" if module.with_suffix(".py").is_file() or (module / "__main__.py").is_file() else "no such module"
    return ""


@pytest.mark.behaviour("docs.commands-work")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_command_of_a_page_exists_and_needs_no_activated_environment(page: Path) -> None:
    """On Windows too: only `python` itself is assumed to be there."""
    assert {command: why for command in commands_in(page) if (why := refusal(command))} == {}


@pytest.mark.behaviour("docs.commands-work")
def test_every_option_and_command_of_dev_py_is_documented() -> None:
    text = page("docs/reference/commands.md")
    (listed,) = [action.choices for action in command_line()._actions if isinstance(action.choices, dict)]

    assert [name for name in listed if not re.search(rf"^\| `python dev\.py {name}\b", text, re.MULTILINE)] == []
    assert [name for name in HOST_OPTIONS if f"| `--{name}` |" not in text] == []
    assert [name for name in HOST_COMMANDS if f"`python dev.py host {name}`" not in text] == []


@pytest.mark.behaviour("docs.commands-work")
def test_every_command_of_the_library_is_documented_and_no_other() -> None:
    text = part(page("docs/reference/commands.md"), "## `durable-agent-host`")

    assert sorted(re.findall(r"^\| `durable-agent-host (\w+)", text, re.MULTILINE)) == sorted(COMMANDS)
