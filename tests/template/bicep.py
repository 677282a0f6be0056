"""infra/ as a Bicep parser sees it: files, modules and what they hold."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pycep import BicepParser

ROOT = Path(__file__).resolve().parents[2]
INFRA = ROOT / "infra"
MAIN = INFRA / "main.bicep"
FILES = sorted(INFRA.rglob("*.bicep"))


@cache
def parsed(path: Path) -> dict[str, Any]:
    """What the parser, which takes its time, makes of a file; nobody changes it."""
    return tree_of(path.read_text(encoding="utf-8"))


def tree_of(text: str) -> dict[str, Any]:
    """What the parser makes of a file's text; of `module!.outputs` it drops the mark."""
    tree: dict[str, Any] = parser().parse(text=text)
    return tree


@cache
def parser() -> "BicepParser":
    """The one parser: it takes longer to be made than to read most files, and half a second to be imported."""
    from pycep import BicepParser

    return BicepParser()


def config_of(declared: dict[str, Any]) -> dict[str, Any]:
    """What a module or resource is given, also where a condition or a loop stands before it."""
    config: dict[str, Any] = declared["config"]
    return config["config"] if {"condition", "config"} <= set(config) else config


def module_file(module: dict[str, Any]) -> Path:
    return INFRA / str(module["detail"]["path"])


def keys_in(value: object) -> Iterator[str]:
    """Every key of every object within `value`."""
    if isinstance(value, dict):
        yield from map(str, value)
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from keys_in(part)


def setting_names(value: object) -> set[str]:
    """The keys within `value` that are written as app settings are: NAME_OF_IT or Section__name."""
    keys = {key.strip("'") for key in keys_in(value)}
    return {key for key in keys if re.fullmatch(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+|[A-Z]\w*?__[\w.]+", key)}
