"""`durable-agent-host new FOLDER` makes an app of your own, of the files of the template that this package was made of.

The files are yours from then on. The library is a line of the app's `requirements.txt`, with this package's version.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

TEMPLATE = Path(__file__).with_name("template")
BESIDE_THE_APP = ("infra", "azure.yaml", ".github", ".vscode", ".devcontainer", "api.http")
"""What `--minimal` leaves out."""
PLACES = {
    "README.md": ("NAME", "name"),
    "azure.yaml": ("durable-agents-python", "name"),
    "host.json": ("durable-agents", "name"),
    "requirements.txt": ("VERSION", "version"),
    "requirements-dev.txt": ("VERSION", "version"),
}
"""The files that say the app's name or this package's version, with what stands there in the template."""


def main(arguments: Sequence[str]) -> int:
    """Make the app; return 0, or 1 where the folder has files already."""
    parser = argparse.ArgumentParser("durable-agent-host new", description="Make an app of your own.")
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="the app's folder, by whose name it is called")
    parser.add_argument("--minimal", action="store_true", help="only the app and its tests, nothing to deploy it with")
    options = parser.parse_args(arguments)
    folder = options.folder.resolve()
    if folder.is_dir() and any(path.name != ".git" for path in folder.iterdir()):
        print(f"{folder} has files already. Name a folder that is empty, or not there yet.", file=sys.stderr)
        return 1
    try:
        count = make_app(folder, is_minimal=options.minimal)
    except OSError as error:
        print(f"{folder} cannot be written: {error.strerror}.", file=sys.stderr)
        return 1
    print(f"Made {options.folder}: {count} files. Its commands:", "", sep="\n")
    print(f"    cd {options.folder}", "    python dev.py run", "    python dev.py test", sep="\n")
    return 0


def make_app(folder: Path, *, is_minimal: bool) -> int:
    """Write the files and return how many they are."""
    name = re.sub(r"[^a-z0-9]+", "-", folder.name.lower()).strip("-") or "agents"
    left_out = shutil.ignore_patterns("__pycache__", *(BESIDE_THE_APP if is_minimal else ()))
    shutil.copytree(TEMPLATE, folder, ignore=left_out, dirs_exist_ok=True)
    values = {"name": name, "version": version("durable-agent-host")}
    for file, (place, value) in PLACES.items():
        if (folder / file).is_file():
            text = (folder / file).read_text(encoding="utf-8")
            (folder / file).write_text(text.replace(place, values[value]), encoding="utf-8", newline="\n")
    return sum(path.is_file() for path in folder.rglob("*") if ".git" not in path.relative_to(folder).parts)
