"""What the host has from host.json, local.settings.json and the app settings, read and checked once at start-up.

Host contract 2.6, 6.1, 6.3.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from pathlib import Path

from devhost.errors import SettingsError
from devhost.forwarding import LEVELS, LogLevels
from devhost.triggers.queue_settings import BlobSettings, QueueSettings, read_blob_settings, read_queue_settings

logger = logging.getLogger(__name__)
FILE = "host.json"
LOCAL_FILE = "local.settings.json"
GROUP_VARIABLE = "FUNCTIONS_TARGET_GROUP"
DEFAULT_TIMEOUT_SECONDS = 30 * 60.0
DEFAULT_BODY_LIMIT_BYTES = 104_857_600
_COMMENT = re.compile(r"^[ \t]*//.*$", re.MULTILINE)
_DURATION = re.compile(r"(?:(\d+)\.)?(\d{1,2}):(\d{2}):(\d{2})")


@dataclass(frozen=True)
class McpServerSettings:
    """How the MCP endpoint presents itself."""

    name: str = "Azure Functions MCP server"
    version: str = "1.0.0"
    instructions: str | None = None


@dataclass(frozen=True)
class HostSettings:
    """Settings of one run of the host. `function_timeout_seconds` and `threads` are None for no limit of ours."""

    folder: Path
    script: str
    route_prefix: str
    function_timeout_seconds: float | None
    threads: int | None
    body_limit_bytes: int
    custom_headers: tuple[tuple[str, str], ...]
    only_functions: frozenset[str] | None
    extension_bundle: Mapping[str, object] | None
    log_levels: LogLevels
    durable_task: Mapping[str, object]
    mcp: McpServerSettings
    shows_home_page: bool
    group: str | None = None
    queues: QueueSettings = field(default_factory=lambda: read_queue_settings({}, {}))
    blobs: BlobSettings = field(default_factory=lambda: read_blob_settings({}))

    @property
    def engine_folder(self) -> Path:
        """The folder that holds the durable engine's files."""
        return self.folder / ".devhost"


@dataclass(frozen=True)
class CorsPolicy:
    """The origins that may call; `*` among them means all. `with_credentials` lets their cookies come along."""

    origins: frozenset[str] = frozenset()
    with_credentials: bool = False

    def allows(self, origin: str) -> bool:
        """Return whether pages of this origin may call."""
        return "*" in self.origins or origin.lower() in self.origins


@dataclass(frozen=True)
class LocalSettings:
    """What local.settings.json says: app settings by name, and the port it asks for (None: it asks for none)."""

    values: Mapping[str, str]
    port: int | None
    cors: CorsPolicy | None = None


def read_host_settings(folder: Path, environ: Mapping[str, str]) -> HostSettings:
    """Return the settings of the app in the folder; raise `SettingsError` naming setting, value and accepted range."""
    path = folder / FILE
    if not path.exists():
        raise SettingsError(f"There is no {FILE} in {folder}. Run the host in the folder of a Functions app.")
    host = read_json_object(path)
    if host.get("version") != "2.0":
        raise SettingsError(f'{FILE}: "version" must be "2.0", but is {host.get("version")!r}.')
    http = section(host, "extensions", "http", file=FILE)
    return HostSettings(
        folder=folder,
        script=environ.get("PYTHON_SCRIPT_FILE_NAME") or "function_app.py",
        route_prefix=_text(http, "extensions.http.routePrefix", "api").strip("/"),
        function_timeout_seconds=_timeout_seconds(host.get("functionTimeout")),
        threads=_count(environ, "PYTHON_THREADPOOL_THREAD_COUNT"),
        body_limit_bytes=_count(environ, "FUNCTIONS_REQUEST_BODY_SIZE_LIMIT") or DEFAULT_BODY_LIMIT_BYTES,
        custom_headers=_custom_headers(http),
        only_functions=_only_functions(host.get("functions")),
        extension_bundle=section(host, "extensionBundle", file=FILE) or None,
        log_levels=_log_levels(host),
        durable_task=section(host, "extensions", "durableTask", file=FILE),
        mcp=_mcp(section(host, "extensions", "mcp", file=FILE)),
        shows_home_page=environ.get("AzureWebJobsDisableHomepage", "").lower() != "true",
        group=environ.get(GROUP_VARIABLE) or None,
        queues=read_queue_settings(section(host, "extensions", "queues", file=FILE), environ),
        blobs=read_blob_settings(section(host, "extensions", "blobs", file=FILE)),
    )


def is_disabled(function_name: str, environ: Mapping[str, str]) -> bool:
    """Return whether the app setting `AzureWebJobs.<name>.Disabled` turns the function off."""
    return environ.get(f"AzureWebJobs.{function_name}.Disabled", "").lower() in ("1", "true")


def _text(content: Mapping[str, object], path: str, default: str) -> str:
    value = content.get(path.rpartition(".")[2], default)
    if isinstance(value, str):
        return value
    raise SettingsError(f"{FILE}: '{path}' must be a text, but is {value!r}.")


def _timeout_seconds(value: object) -> float | None:
    if value is None:
        return DEFAULT_TIMEOUT_SECONDS
    if value in ("-1", -1):
        return None
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups()) if match else (0, 0, 0, 0)
    total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    if total < 1:
        raise SettingsError(f"{FILE}: 'functionTimeout' must be \"-1\" or hh:mm:ss from 00:00:01, but is {value!r}.")
    return float(total)


def _count(environ: Mapping[str, str], name: str) -> int | None:
    value = environ.get(name, "")
    if not value:
        return None
    if value.isascii() and value.isdigit() and int(value) >= 1:
        return int(value)
    raise SettingsError(f"The setting {name} must be a whole number from 1, but is {value!r}.")


def _custom_headers(http: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    headers = http.get("customHeaders", {})
    if isinstance(headers, Mapping) and all(isinstance(value, str) for value in headers.values()):
        return tuple((name.lower(), value) for name, value in headers.items())
    raise SettingsError(f"{FILE}: 'extensions.http.customHeaders' must map names to texts, but is {headers!r}.")


def _only_functions(value: object) -> frozenset[str] | None:
    if value is None:
        return None
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return frozenset(name.upper() for name in value)
    raise SettingsError(f"{FILE}: 'functions' must be a list of function names, but is {value!r}.")


def _log_levels(host: Mapping[str, object]) -> LogLevels:
    levels = section(host, "logging", "logLevel", file=FILE)
    for name, level in levels.items():
        if str(level).lower() not in LEVELS:
            raise SettingsError(f"{FILE}: 'logging.logLevel.{name}' is {level!r}; use one of {', '.join(LEVELS)}.")
    return LogLevels.of(levels)


def _mcp(content: Mapping[str, object]) -> McpServerSettings:
    default = McpServerSettings()
    instructions = _text(content, "extensions.mcp.instructions", "")
    return McpServerSettings(
        name=_text(content, "extensions.mcp.serverName", default.name),
        version=_text(content, "extensions.mcp.serverVersion", default.version),
        instructions=instructions or None,
    )


def read_local_settings(folder: Path) -> LocalSettings:
    """Return the app folder's local settings, empty without the file; raise `SettingsError` for what cannot be used."""
    path = folder / LOCAL_FILE
    if not path.exists():
        return LocalSettings(values={}, port=None)
    content = read_json_object(path)
    if content.get("IsEncrypted", False) is not False:
        raise SettingsError(f"{LOCAL_FILE} is encrypted. Run `func settings decrypt` and set IsEncrypted to false.")
    values = section(content, "Values", file=LOCAL_FILE)
    host = section(content, "Host", file=LOCAL_FILE)
    return LocalSettings(
        values={name: _value(name, value) for name, value in values.items() if value is not None},
        port=_port(host.get("LocalHttpPort")),
        cors=_cors(host.get("CORS"), host.get("CORSCredentials", False)),
    )


def _cors(origins: object, with_credentials: object) -> CorsPolicy | None:
    if not origins:
        return None
    if not isinstance(origins, str):
        raise SettingsError(
            f"{LOCAL_FILE}: Host.CORS must be a text of origins, comma between them, but is {origins!r}."
        )
    if not isinstance(with_credentials, bool):
        raise SettingsError(f"{LOCAL_FILE}: Host.CORSCredentials must be true or false, but is {with_credentials!r}.")
    allowed = frozenset(origin.strip().rstrip("/").lower() for origin in origins.split(",") if origin.strip())
    if with_credentials and "*" in allowed:
        raise SettingsError(f"{LOCAL_FILE}: Host.CORSCredentials cannot go with the CORS origin '*'. Name the origins.")
    return CorsPolicy(allowed, with_credentials)


def _value(name: str, value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (str, int, float)):
        return str(value)
    raise SettingsError(f"{LOCAL_FILE}: the value of '{name}' must be a text, but is a {type(value).__name__}.")


def _port(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 65535:
        return value
    raise SettingsError(f"{LOCAL_FILE}: Host.LocalHttpPort must be a number from 0 to 65535, but is {value!r}.")


def apply_to_environment(settings: LocalSettings, environ: MutableMapping[str, str]) -> None:
    """Set each value that the environment does not hold already: a non-empty variable of the process wins."""
    for name, value in settings.values.items():
        if environ.get(name):
            logger.debug("The environment already holds %s; the value in %s is not used", name, LOCAL_FILE)
            continue
        environ[name] = value


def read_json_object(path: Path) -> Mapping[str, object]:
    """Return the object in the file; raise `SettingsError` naming file, line and column when it is no JSON object.

    A byte order mark, which Windows editors write, is accepted, and so are lines that begin with `//`, as by the real
    host.
    """
    try:
        content: object = json.loads(_COMMENT.sub("", path.read_text(encoding="utf-8-sig")))
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
