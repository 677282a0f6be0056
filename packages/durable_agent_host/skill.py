"""`durable-agent-host skill`: where the skill for coding agents is, a folder with `SKILL.md`, or a copy of it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from packages.durable_agent_host.adding.changes import Change, OutsideError, write

SKILL = Path(__file__).with_name("skills") / "durable-agents"


def main(arguments: Sequence[str]) -> int:
    """Print the skill's folder, or copy it; return 0, or 1 where another skill of its name is or nothing is written."""
    parser = argparse.ArgumentParser("durable-agent-host skill", description="Print the folder of the skill.")
    parser.add_argument(
        "--copy", type=Path, metavar="FOLDER", help="copy it into a folder of skills, such as .claude/skills"
    )
    options = parser.parse_args(arguments)
    if options.copy is None:
        print(SKILL)
        return 0
    folder: Path = options.copy.resolve()
    files = {path.relative_to(SKILL.parent).as_posix(): path.read_bytes() for path in sorted(SKILL.rglob("*.md"))}
    try:
        there = {name: (folder / name).read_bytes() for name in files if (folder / name).is_file()}
        if any(content != files[name] for name, content in there.items()):
            print(
                f"{folder / SKILL.name} is another version of the skill, or you changed it. Remove it, and copy again.",
                file=sys.stderr,
            )
            return 1
        write(folder, {name: Change(None, content) for name, content in files.items() if name not in there})
    except OutsideError as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{folder} cannot be written: {error.strerror}. Nothing was changed.", file=sys.stderr)
        return 1
    print(folder / SKILL.name)
    return 0
