"""An app's folder as the checks read it: nothing of it is imported or run."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from packages.durable_agent_host.from_upstream import app_files

Found = tuple[str, str]
"""A place, `file` or `file:line`, and a sentence that says what to do."""

SETTINGS = "local.settings.json"
REQUIREMENTS = "requirements.txt"
PROJECT = "durable-agent-host"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
"""On which an app can run."""

_REQUIREMENT = re.compile(r"\s*(?P<name>[A-Za-z0-9][\w.-]*)\s*(\[(?P<extras>[^\]]*)\])?\s*(?P<version>[^;#@]*)")
_RUNTIME = re.compile(r"name:\s*'python'\s*\n\s*version:\s*'([\d.]+)'")
_LITERAL = re.compile(r"^\s*'?(?P<name>[A-Za-z]\w*)'?:\s*'(?P<value>[^']*)'\s*$")


def lock_file(python: str) -> str:
    """Return the name of the file that locks the app's requirements for a version of Python."""
    return f"requirements-{python}.txt"


@dataclass(frozen=True)
class Requirement:
    """One line of requirements.txt, with those that continue it. `name` is empty for an option or a path."""

    line: int
    text: str
    name: str = ""
    extras: Sequence[str] = ()
    version: str = ""

    @property
    def is_held(self) -> bool:
        """Whether no other version can be installed."""
        return self.version.startswith("==") and "*" not in self.version

    @property
    def place(self) -> str:
        return f"{REQUIREMENTS}:{self.line}"


class AppFolder:
    """The files of one app, each read once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def text(self, name: str) -> str | None:
        """Return a file's text, or None where it is not there."""
        path = self.folder / name
        return path.read_text(encoding="utf-8-sig", errors="replace") if path.is_file() else None

    def shown(self, path: Path) -> str:
        return path.relative_to(self.folder).as_posix()

    @cached_property
    def files(self) -> Sequence[Path]:
        return list(app_files(self.folder))

    @cached_property
    def sources(self) -> Mapping[str, ast.Module | SyntaxError]:
        """The app's Python files but its tests, or why one is none."""
        found: dict[str, ast.Module | SyntaxError] = {}
        for path in self.files:
            name = self.shown(path)
            if path.suffix == ".py" and not name.startswith("tests/"):
                try:
                    found[name] = ast.parse(path.read_bytes())
                except SyntaxError as error:
                    found[name] = error
        return found

    def nodes(self) -> Iterator[tuple[str, ast.AST]]:
        """Iterate over every node of every source, with the file's name."""
        for name, tree in self.sources.items():
            if isinstance(tree, ast.Module):
                for node in ast.walk(tree):
                    yield name, node

    @cached_property
    def requirements(self) -> Sequence[Requirement]:
        return self.requirements_of(REQUIREMENTS)

    def requirements_of(self, file: str) -> Sequence[Requirement]:
        """Return what a file asks for, each line that ends with a backslash together with the next one."""
        lines = (self.text(file) or "").splitlines()
        found: list[Requirement] = []
        begun: tuple[int, str] | None = None
        for number, line in enumerate(lines, 1):
            first, before = begun or (number, "")
            text = before + line.strip()
            begun = (first, text[:-1]) if text.endswith("\\") else None
            if begun is None and text and not text.startswith("#"):
                found.append(_requirement(first, text))
        return found

    @property
    def pin(self) -> Requirement | None:
        """The requirement that is this package."""
        return next((one for one in self.requirements if one.name == PROJECT), None)

    @cached_property
    def host(self) -> Mapping[str, Any] | None:
        """What host.json has, or None where it is missing or cannot be read."""
        try:
            value = json.loads(self.text("host.json") or "")
        except ValueError:
            return None
        return value if isinstance(value, dict) else None

    def values(self, name: str) -> Mapping[str, str] | None:
        """Return the settings in a file of local settings, or None where it is missing or cannot be read."""
        lines = (self.text(name) or "").splitlines()
        try:
            value = json.loads("\n".join("" if line.lstrip().startswith("//") else line for line in lines))
            return {str(key): str(one) for key, one in value["Values"].items()}
        except (ValueError, TypeError, KeyError, AttributeError):
            return None

    @cached_property
    def settings(self) -> Mapping[str, str]:
        """The app's settings on this machine, or as the template has them."""
        return self.values(SETTINGS) or self.values(f"{SETTINGS}.template") or {}

    @cached_property
    def bicep(self) -> Mapping[str, str]:
        return {self.shown(path): path.read_text("utf-8") for path in self.files if path.suffix == ".bicep"}

    @cached_property
    def runtimes(self) -> Sequence[tuple[str, str]]:
        """The Bicep files that name a Python for the app, with its version."""
        return [(name, found) for name, text in self.bicep.items() for found in _RUNTIME.findall(text)]

    @cached_property
    def deployed(self) -> Sequence[tuple[str, str, str]]:
        """The places, names and values of what a Bicep file gives in plain words, settings of the app among them."""
        return [
            (f"{name}:{number}", found["name"], found["value"])
            for name, text in self.bicep.items()
            for number, line in enumerate(text.splitlines(), 1)
            if (found := _LITERAL.match(line))
        ]


def _requirement(line: int, text: str) -> Requirement:
    found = _REQUIREMENT.match(text)
    if found is None or text.startswith(("-", ".", "/")) or "://" in text.partition(";")[0]:
        return Requirement(line, text)
    name = re.sub(r"[-_.]+", "-", found["name"]).lower()
    extras = [extra.strip() for extra in (found["extras"] or "").split(",") if extra.strip()]
    version = re.split(r"\s+--", found["version"])[0].strip().replace(" ", "")
    return Requirement(line, text, name, extras, version)
