"""Read the two settings files of a Functions app, which are JSON objects."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from devhost.errors import SettingsError


def read_json_object(path: Path) -> Mapping[str, object]:
    """Return the object in the file; raise `SettingsError` naming file, line and column when it is no JSON object.

    A byte order mark, which Windows editors write, is accepted.
    """
    try:
        content: object = json.loads(path.read_text(encoding="utf-8-sig"))
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise SettingsError(f"{path.name} is not valid JSON ({where}): {error.msg}. Correct that place.") from error
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path.name} is not UTF-8 text. Save it as UTF-8.") from error
    if not isinstance(content, dict):
        raise SettingsError(f"{path.name} must hold a JSON object, but holds a {type(content).__name__}.")
    return content


def section(content: Mapping[str, object], *keys: str, file: str) -> Mapping[str, object]:
    """Return the object under the path of keys, empty when a key is absent; refuse what is no object by its path."""
    found: object = content
    for depth, key in enumerate(keys, start=1):
        found = found.get(key, {}) if isinstance(found, Mapping) else found
        if not isinstance(found, Mapping):
            raise SettingsError(f"{file}: '{'.'.join(keys[:depth])}' must be an object, but is {found!r}.")
    assert isinstance(found, Mapping)
    return found
