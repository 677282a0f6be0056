"""The template's files as an app gets them, and the record that an app keeps of them in `.template.json`."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

_VERSION = re.compile(r"[0-9][0-9A-Za-z.+!-]*")
TEMPLATE = Path(__file__).with_name("template")
RECORD = ".template.json"
PLACES = {
    "README.md": ("NAME", "name"),
    "azure.yaml": ("durable-agents-python", "name"),
    "host.json": ("durable-agents", "name"),
    "requirements.txt": ("VERSION", "version"),
    "requirements-dev.txt": ("VERSION", "version"),
}
"""The files that say the app's name or this package's version, with what stands there in the template."""


@dataclass(frozen=True)
class Record:
    """Which files an app has of the template of which version, by the hash of what was written.

    A file in `older` lacks what the template changed since that version, because the user changed it too: its hash is
    that version's, and it can be merged later.
    """

    version: str
    name: str
    left_out: Sequence[str]
    files: Mapping[str, str]
    older: Mapping[str, str] = field(default_factory=dict)

    def text(self) -> str:
        return json.dumps(asdict(self), indent=2) + "\n"


def read_record(folder: Path) -> Record | None:
    """Return the app's record, or None where it is missing or is none.

    Its versions become a part of paths and of what is asked of an index, so they are versions and nothing else.
    """
    try:
        given = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        files, older = dict(given["files"]), dict(given.get("older", {}))
        if not all(_VERSION.fullmatch(version) for version in (given["version"], *older.values())):
            return None
        return Record(str(given["version"]), str(given["name"]), list(given["left_out"]), files, older)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def template_files(template: Path, name: str, version: str, left_out: Container[str]) -> dict[str, bytes]:
    """Return what `new` writes for an app of this name, each path below its folder with the content."""
    values = {"name": name, "version": version}
    found: dict[str, bytes] = {}
    for path in sorted(template.rglob("*")):
        file = path.relative_to(template).as_posix()
        if not path.is_file() or "__pycache__" in path.parts or file.partition("/")[0] in left_out:
            continue
        content = path.read_bytes()
        if file in PLACES:
            place, value = PLACES[file]
            content = content.replace(place.encode(), values[value].encode())
        found[file] = content
    return found


def hashes(files: Mapping[str, bytes], own: Container[str] = ()) -> dict[str, str]:
    """Return the hash of each file that is not the user's own."""
    return {name: digest(content) for name, content in files.items() if name not in own}


def digest(content: bytes) -> str:
    """Return the hash of a text, whichever line ends git gave it."""
    return hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest()
