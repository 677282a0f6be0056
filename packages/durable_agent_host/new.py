"""`durable-agent-host new FOLDER` makes an app of your own, of the files of the template that this package was made of.

The files are yours from then on. The library is a line of the app's `requirements.txt`, with this package's version.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from packages.durable_agent_host.from_upstream import Moved, move, uses_upstream
from packages.durable_agent_host.template import RECORD, TEMPLATE, Record, hashes, template_files

BESIDE_THE_APP = ("infra", "azure.yaml", ".github", ".vscode", ".devcontainer", "api.http")
"""What `--minimal` leaves out."""
FOR_A_CONTAINER = ("Dockerfile", ".dockerignore")
"""What only `--container` brings."""
OF_THE_SAMPLE = ("agents", "function_app.py", "api.http", "tests")
"""What an app that was moved over has of its own."""
MERGED = ("host.json", "requirements.txt")
"""The files of the template that the user's are merged with; of others the user's stay."""


def main(arguments: Sequence[str]) -> int:
    """Make the app; return 0, or 1 where the folder has files already or there is no app to move over."""
    parser = argparse.ArgumentParser("durable-agent-host new", description="Create an app.")
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="the app's folder; its name becomes the app's name")
    parser.add_argument(
        "--minimal", action="store_true", help="only the app and its tests, without files for deployment"
    )
    parser.add_argument(
        "--container", action="store_true", help="with a Dockerfile, for Azure Functions on Container Apps"
    )
    parser.add_argument(
        "--from-upstream",
        metavar="PATH",
        type=Path,
        help="the folder of an app that uses Microsoft's agent-framework-azurefunctions: its files, moved over",
    )
    options = parser.parse_args(arguments)
    folder: Path = options.folder.resolve()
    refusal = _refusal(folder, options.from_upstream)
    if refusal:
        print(refusal, file=sys.stderr)
        return 1
    moved = _moved(options.from_upstream) if options.from_upstream else None
    try:
        count = make_app(folder, is_minimal=options.minimal, has_container=options.container, moved=moved)
    except OSError as error:
        print(f"{folder} cannot be written: {error.strerror}.", file=sys.stderr)
        return 1
    print(f"Made {options.folder}: {count} files. Its commands:", "", sep="\n")
    commands = [f"cd {options.folder}", "python dev.py run", *([] if moved else ["python dev.py test"])]
    print(*(f"    {command}" for command in commands), sep="\n")
    if moved:
        _report(moved)
    return 0


def _refusal(folder: Path, upstream: Path | None) -> str | None:
    """Return why the app cannot be made, before anything is written; None if it can."""
    if folder.is_dir() and any(path.name != ".git" for path in folder.iterdir()):
        return f"{folder} has files already. Name an empty or new folder."
    if upstream is None:
        return None
    source = upstream.resolve()
    if source == folder or source in folder.parents or folder in source.parents:
        return f"{folder} and {source} contain each other. Name a folder next to the app that you move over."
    if not (source / "function_app.py").is_file():
        return f"{source} has no function_app.py. Name the folder of the app, where its host.json is."
    if not uses_upstream(source):
        return f"No Python file in {source} uses Microsoft's package. There is nothing to move over."
    return None


def _moved(source: Path) -> Moved:
    pin = f"durable-agent-host=={version('durable-agent-host')}"
    return move(source.resolve(), pin, lambda name: (TEMPLATE / name).read_text(encoding="utf-8"))


def _report(moved: Moved) -> None:
    """Say what was changed of the user's files, which of the template's gave way, and what is left to do."""
    known = [name for name in moved.files if (TEMPLATE / name).is_file() and name not in MERGED]
    kept = [name for name in known if name.partition("/")[0] not in OF_THE_SAMPLE]
    print("", f"{len(moved.files)} files are yours. Changed: {', '.join(moved.rewritten) or 'none'}.", sep="\n")
    if kept:
        print(f"Yours, in place of the template's: {', '.join(kept)}.")
    if moved.left:
        print("", "Look at these, which were not rewritten:", "", *(f"    {line}" for line in moved.left), sep="\n")


def make_app(folder: Path, *, is_minimal: bool, has_container: bool, moved: Moved | None = None) -> int:
    """Write the files, and the record of those that are the template's; return how many they are."""
    name = re.sub(r"[^a-z0-9]+", "-", folder.name.lower()).strip("-") or "agents"
    left_out = (
        *(BESIDE_THE_APP if is_minimal else ()),
        *(() if has_container else FOR_A_CONTAINER),
        *(OF_THE_SAMPLE if moved else ()),
    )
    own = moved.files if moved else {}
    files = template_files(TEMPLATE, name, version("durable-agent-host"), left_out)
    record = Record(version("durable-agent-host"), name, list(left_out), hashes(files, own))
    files = {**files, **own, RECORD: record.text().encode()}
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)
    return len(files)
