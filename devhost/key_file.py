"""The app's keys on this machine: made once, kept in `.devhost/keys.json`."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping
from pathlib import Path

from devhost.errors import SettingsError
from devhost.http.keys import Keys
from devhost.json_file import read_json_object, section
from devhost.own_files import make_own_folder, open_own_file

FILE = "keys.json"
SYSTEM_KEYS = ("durabletask_extension", "mcp_extension")


def load_keys(folder: Path, function_names: Iterable[str]) -> Keys:
    """Return the keys in the folder, made and written where they are missing; raise `SettingsError` by a sentence."""
    path = folder / FILE
    stored: Mapping[str, object] = read_json_object(path) if path.exists() else {}
    keys = Keys(
        master=_key(stored, "master"),
        host=_key(stored, "host"),
        functions=_keys(stored, "functions", [name.lower() for name in function_names]),
        system=_keys(stored, "system", SYSTEM_KEYS),
    )
    _write(path, keys)
    return keys


def _keys(stored: Mapping[str, object], kind: str, names: Iterable[str]) -> Mapping[str, str]:
    known = section(stored, kind, file=FILE)
    return {name: _key(known, name) for name in names}


def _key(stored: Mapping[str, object], name: str) -> str:
    value = stored.get(name) or secrets.token_urlsafe(32)
    if not isinstance(value, str):
        raise SettingsError(f"{FILE}: the key '{name}' must be a text, but is {value!r}. Delete the file for new keys.")
    return value


def _write(path: Path, keys: Keys) -> None:
    content = {"master": keys.master, "host": keys.host, "functions": keys.functions, "system": keys.system}
    try:
        make_own_folder(path.parent)
        with open_own_file(path) as file:
            json.dump(content, file, indent=2)
    except OSError as error:
        raise SettingsError(
            f"The keys cannot be written to {path}: {error.strerror}. Make the folder writable."
        ) from error


def describe_keys(keys: Keys) -> Iterable[str]:
    """Return the lines that `python -m devhost keys` prints."""
    yield f"master: {keys.master}"
    yield f"host: {keys.host}"
    for name, key in keys.functions.items():
        yield f"function {name}: {key}"
    for name, key in keys.system.items():
        yield f"system {name}: {key}"
