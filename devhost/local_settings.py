"""Put local.settings.json into the environment, as Core Tools does (host contract 2.6)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from pathlib import Path

from devhost.errors import SettingsError
from devhost.http.origins import CorsPolicy
from devhost.json_file import read_json_object, section

FILE = "local.settings.json"
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class LocalSettings:
    """What local.settings.json says: app settings by name, and the port it asks for (None: it asks for none)."""

    values: Mapping[str, str]
    port: int | None
    cors: CorsPolicy | None = None


def read_local_settings(folder: Path) -> LocalSettings:
    """Return the app folder's local settings, empty without the file; raise `SettingsError` for what cannot be used."""
    path = folder / FILE
    if not path.exists():
        return LocalSettings(values={}, port=None)
    content = read_json_object(path)
    if content.get("IsEncrypted", False) is not False:
        raise SettingsError(f"{FILE} is encrypted. Run `func settings decrypt` and set IsEncrypted to false.")
    values = section(content, "Values", file=FILE)
    host = section(content, "Host", file=FILE)
    return LocalSettings(
        values={name: _text(name, value) for name, value in values.items() if value is not None},
        port=_port(host.get("LocalHttpPort")),
        cors=_cors(host.get("CORS"), host.get("CORSCredentials", False)),
    )


def _cors(origins: object, with_credentials: object) -> CorsPolicy | None:
    if not origins:
        return None
    if not isinstance(origins, str):
        raise SettingsError(f"{FILE}: Host.CORS must be a text of origins, comma between them, but is {origins!r}.")
    if not isinstance(with_credentials, bool):
        raise SettingsError(f"{FILE}: Host.CORSCredentials must be true or false, but is {with_credentials!r}.")
    allowed = frozenset(origin.strip().rstrip("/").lower() for origin in origins.split(",") if origin.strip())
    if with_credentials and "*" in allowed:
        raise SettingsError(f"{FILE}: Host.CORSCredentials cannot go with the CORS origin '*'. Name the origins.")
    return CorsPolicy(allowed, with_credentials)


def _text(name: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (str, int, float)):
        return str(value)
    raise SettingsError(f"{FILE}: the value of '{name}' must be a text, but is a {type(value).__name__}.")


def _port(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 65535:
        return value
    raise SettingsError(f"{FILE}: Host.LocalHttpPort must be a number from 0 to 65535, but is {value!r}.")


def apply_to_environment(settings: LocalSettings, environ: MutableMapping[str, str]) -> None:
    """Set each value that the environment does not hold already: a non-empty variable of the process wins."""
    for name, value in settings.values.items():
        if environ.get(name):
            logger.debug("The environment already holds %s; the value in %s is not used", name, FILE)
            continue
        environ[name] = value
