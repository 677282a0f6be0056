"""Single values of host.json, as the app settings that stand over the file change them (host contract 6.1)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from hosting.errors import ConfigurationError


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


def _content(path: Path) -> object:
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise ConfigurationError(f"{path.name} is not JSON: {error}") from None
