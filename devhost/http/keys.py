"""Keys, asked for with `--auth` only: who may call what.

The master key opens everything, a host key opens every function, a function's own key opens that function, and an
extension's system key opens its webhook. They are made once and kept in `.devhost/keys.json`.
"""

from __future__ import annotations

import hmac
import json
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from starlette.requests import HTTPConnection

from devhost.bindings import AuthLevel
from devhost.errors import SettingsError
from devhost.own_files import make_own_folder, open_own_file
from devhost.settings import read_json_object, section

FILE = "keys.json"
SYSTEM_KEYS = ("durabletask_extension", "mcp_extension")


@dataclass(frozen=True)
class Keys:
    """The keys of one app; names of functions and extensions are in lower case."""

    master: str
    host: str
    functions: Mapping[str, str]
    system: Mapping[str, str]

    def is_master(self, given: str) -> bool:
        """Return whether the key opens everything."""
        return _is_one_of(given, [self.master])

    def opens_function(self, given: str, name: str, level: AuthLevel) -> bool:
        """Return whether the key is enough for a function of this level."""
        if level == "anonymous":
            return True
        accepted = [self.master]
        if level == "function":
            accepted += [self.host, self.functions.get(name.lower(), "")]
        return _is_one_of(given, accepted)

    def refusal_of_webhook(self, given: str, extension: str) -> int | None:
        """Return the status that refuses the key for a webhook: 401 for none or unknown ones, 403 for another kind."""
        if _is_one_of(given, [self.master, self.system.get(f"{extension.lower()}_extension", "")]):
            return None
        return 403 if _is_one_of(given, [self.host, *self.functions.values(), *self.system.values()]) else 401


def _is_one_of(given: str, accepted: list[str]) -> bool:
    return bool(given) and any(key and hmac.compare_digest(given.encode(), key.encode()) for key in accepted)


def given_key(asked: HTTPConnection) -> str:
    """Return the key that a request brings, empty without one; the header wins over the query."""
    return asked.headers.get("x-functions-key") or next(iter(asked.query_params.getlist("code")), "")


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


def read_master(folder: Path) -> str:
    """Return the master key in the folder, empty where no host has made one; raise `SettingsError` by a sentence."""
    path = folder / FILE
    return _key(read_json_object(path), "master") if path.exists() else ""


def _keys(stored: Mapping[str, object], kind: str, names: Iterable[str]) -> Mapping[str, str]:
    known = section(stored, kind, file=FILE)
    return {name: _key(known, name) for name in names}


def _key(stored: Mapping[str, object], name: str) -> str:
    value = stored.get(name) or secrets.token_urlsafe(32)
    if not isinstance(value, str):
        raise SettingsError(f"{FILE}: the key '{name}' must be a text, but is {value!r}. Delete the file for new keys.")
    return value


def _write(path: Path, keys: Keys) -> None:
    try:
        make_own_folder(path.parent)
        with open_own_file(path) as file:
            json.dump(asdict(keys), file, indent=2)
    except OSError as error:
        raise SettingsError(
            f"The keys cannot be written to {path}: {error.strerror}. Make the folder writable."
        ) from error


def describe_keys(keys: Keys, *, is_whole: bool) -> Iterable[str]:
    """Return the lines that `python -m devhost keys` prints; those of single functions where all are wanted."""
    yield f"master: {keys.master}"
    yield f"host: {keys.host}"
    for name, key in keys.system.items():
        yield f"system {name}: {key}"
    if is_whole:
        yield from (f"function {name}: {key}" for name, key in keys.functions.items())
    elif keys.functions:
        yield f"{len(keys.functions)} more with --all: keys of single functions"
