"""Single values of host.json, as the app settings that stand over the file change them (host contract 6.1)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

from hosting.errors import ConfigurationError
from hosting.surroundings import site_name

_MOST_HUB_LETTERS = 45
_HUB = re.compile(r"[A-Za-z][A-Za-z0-9]{2,44}")
_NOT_OF_A_HUB = re.compile(r"[^A-Za-z0-9]")
_VARIABLE = re.compile(r"%([^%]+)%")


def host_value(folder: Path, environ: Mapping[str, str], *path: str) -> object:
    """Return the value at `path` in the app's host.json, or of its app setting; None when neither has one.

    Raises `ConfigurationError` for a file that is not JSON.
    """
    over_the_file = environ.get("__".join(("AzureFunctionsJobHost", *path)))
    if over_the_file:
        return over_the_file
    value = _content(folder / "host.json")
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def task_hub(folder: Path, environ: Mapping[str, str]) -> str:
    """Return the name of the app's task hub in lower case: the engine's storage tells no letter cases apart.

    It is what `extensions.durableTask.hubName` says, `%NAME%` in it replaced by the app setting of that name; else the
    engine's own default: the site's name without what a hub may not have, and `TestHubName` where there is no site.
    Raises `ConfigurationError` for a name that the engine's storage would not take.
    """
    named = host_value(folder, environ, "extensions", "durableTask", "hubName")
    if named is None:
        return _default_hub(site_name(environ)).lower()
    name = _VARIABLE.sub(lambda found: environ.get(found[1], found[0]), str(named))
    if not _HUB.fullmatch(name):
        raise ConfigurationError(
            f"extensions.durableTask.hubName of host.json is {named!r}: it must be 3 to {_MOST_HUB_LETTERS} letters "
            "and digits, a letter first, where %NAME% stands for an app setting."
        )
    return name.lower()


def _default_hub(site: str) -> str:
    letters = _NOT_OF_A_HUB.sub("", site)
    if not letters:
        return "TestHubName"
    name = (f"t{letters}" if letters[0].isdigit() else letters)[:_MOST_HUB_LETTERS]
    return name if _HUB.fullmatch(name) else f"{name}Hub"


def _content(path: Path) -> object:
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise ConfigurationError(f"{path.name} is not JSON: {error}") from None
