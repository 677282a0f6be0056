"""The app's host: values of host.json, and refusals or warnings about settings of the host.

A value of host.json is read as the host reads it, with the app setting that overrides it. What is
meant for a developer's machine is refused in production, by a sentence that says what to set instead; stores are
refused where they are chosen. A worker setting that is missing is only named: the worker starts without it, and what
fails then names no setting.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from hosting.errors import ConfigurationError
from hosting.settings import Settings, is_hosted, is_production, site_name
from hosting.start_up import warn

_MOST_HUB_LETTERS = 45
_HUB = re.compile(r"[A-Za-z][A-Za-z0-9]{2,44}")
_NOT_OF_A_HUB = re.compile(r"[^A-Za-z0-9]")
_VARIABLE = re.compile(r"%([^%]+)%")
_DURATION = re.compile(r"(?:(\d+)\.)?(\d{1,2}):(\d{2}):(\d{2})\Z")

DEFAULT_FUNCTION_TIMEOUT_SECONDS = 1800.0
"""Where host.json says nothing: the Flex Consumption plan's."""


def app_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder of the app's host.json: where the process works, else the host's `AzureWebJobsScriptRoot`."""
    here, named = Path.cwd(), environ.get("AzureWebJobsScriptRoot")
    is_elsewhere = bool(named) and not (here / "host.json").exists() and (here / str(named) / "host.json").exists()
    return here / str(named) if is_elsewhere else here


def host_value(folder: Path, environ: Mapping[str, str], *path: str) -> object:
    """Return the value at `path` in the app's host.json, or of its app setting; None when neither has one.

    Raises `ConfigurationError` for a file that is not JSON.
    """
    override = environ.get("__".join(("AzureFunctionsJobHost", *path)))
    if override:
        return override
    file = folder / "host.json"
    try:
        value = json.loads(file.read_text(encoding="utf-8-sig")) if file.exists() else None
    except ValueError as error:
        raise ConfigurationError(f"{file.name} is not JSON: {error}") from None
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def route_prefix(folder: Path, environ: Mapping[str, str]) -> str:
    """Return the prefix of all routes, perhaps empty: `extensions.http.routePrefix`, else `api`."""
    given = host_value(folder, environ, "extensions", "http", "routePrefix")
    return "api" if given is None else str(given)


def function_timeout_seconds(folder: Path, environ: Mapping[str, str]) -> float | None:
    """Return the platform's limit: the app setting that overrides host.json, else host.json of `folder`, else Flex's.

    None stands for no limit. Raises `ConfigurationError` for a value that the platform would not take either.
    """
    value = host_value(folder, environ, "functionTimeout")
    if value is None:
        return DEFAULT_FUNCTION_TIMEOUT_SECONDS
    if value in ("-1", -1):
        return None
    match = _DURATION.match(value) if isinstance(value, str) else None
    if match is None:
        raise ConfigurationError(f'functionTimeout is {value!r}: it must be "-1" or hh:mm:ss.')
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def task_hub(folder: Path, environ: Mapping[str, str]) -> str:
    """Return the name of the app's task hub in lower case: the engine's storage compares it without case.

    It is `extensions.durableTask.hubName`, with `%NAME%` in it replaced by the app setting of that name. Without one it
    is the engine's own default: the site's name without what a hub may not have, or `TestHubName` where there is none.
    Raises `ConfigurationError` for a name that the engine's storage would not take.
    """
    given = host_value(folder, environ, "extensions", "durableTask", "hubName")
    if given is None:
        letters = _NOT_OF_A_HUB.sub("", site_name(environ)) or "TestHubName"
        name = (f"t{letters}" if letters[0].isdigit() else letters)[:_MOST_HUB_LETTERS]
        return name.lower() if _HUB.fullmatch(name) else f"{name}Hub".lower()
    name = _VARIABLE.sub(lambda found: environ.get(found[1], found[0]), str(given))
    if not _HUB.fullmatch(name):
        raise ConfigurationError(
            f"extensions.durableTask.hubName of host.json is {given!r}: it must be 3 to {_MOST_HUB_LETTERS} letters "
            "and digits, a letter first, where %NAME% stands for an app setting."
        )
    return name.lower()


ATTRIBUTE = "ONLY_FOR_DEVELOPMENT"
"""Attribute of an agent or client for development only: a sentence with the settings for production."""

_MCP_LEVEL = ("extensions", "mcp", "system", "webhookAuthorizationLevel")
_PROVIDER = ("extensions", "durableTask", "storageProvider")
_ETAG = (*_PROVIDER, "useInstanceTableEtag")
_DEFAULT_PROVIDER = "azurestorage"
"""The engine's default, and the only value that keeps the document of an execution that another has overtaken."""


class Safeguards:
    """Checks for production: each raises `ConfigurationError` there, and none in development."""

    def __init__(self, settings: Settings, folder: Path, environ: Mapping[str, str]) -> None:
        """Read the host.json in `folder`; refuse invalid JSON, and settings that let an older document win.

        Two executions of one entity can overlap. Without `useInstanceTableEtag` the engine then keeps the document of
        the one that ends last, although it may have begun first.
        """
        self._is_production = is_production(environ)
        self._allows_anonymous = settings.anonymous == "allow"
        self._mcp_level = str(host_value(folder, environ, *_MCP_LEVEL))
        provider = str(host_value(folder, environ, *_PROVIDER, "type") or _DEFAULT_PROVIDER)
        refuses_older = str(host_value(folder, environ, *_ETAG)).lower() == "true"
        if self._is_production and provider.lower() == _DEFAULT_PROVIDER and not refuses_older:
            raise ConfigurationError(
                f"{'.'.join(_ETAG)} in host.json is not true: a worker that was taken for dead could replace a "
                "thread's newer conversation by its older one. Set it to true, as the template's host.json has it."
            )

    def check_http(self, *, is_anonymous: bool) -> None:
        """Refuse HTTP routes that ask for no key, unless `AGENT_ANONYMOUS` says that this is meant."""
        if is_anonymous:
            self._refuse_anonymous("http_auth_level of AgentFunctionApp")

    def check_agent(self, agent: object, name: str, *, is_tool: bool) -> None:
        """Refuse an agent or client that is for development only, and a tool without a key."""
        for declaring in (agent, getattr(agent, "client", None)):
            advice = getattr(declaring, ATTRIBUTE, None)
            if advice and self._is_production:
                raise ConfigurationError(
                    f"Agent {name!r} uses {type(declaring).__name__}, which is not for production. {advice}"
                )
        if is_tool and self._mcp_level.lower() == "anonymous":
            self._refuse_anonymous(f"{'.'.join(_MCP_LEVEL)} in host.json")

    def _refuse_anonymous(self, door: str) -> None:
        if self._is_production and not self._allows_anonymous:
            raise ConfigurationError(
                f"{door} is Anonymous: anyone who finds the app may use its agents and read their threads. Ask for "
                "keys, or set AGENT_ANONYMOUS to 'allow' if you want this."
            )


class WorkerSetting(Struct, frozen=True):
    """A setting of the Python worker, its value, and the consequence of its absence.

    It is a switch that workers below Python 3.13 need, or one `for_load`: any value will do, and only in production.
    """

    name: str
    value: str
    without: str
    for_load: bool = False


WORKER_SETTINGS = (
    WorkerSetting("PYTHON_ENABLE_INIT_INDEXING", "1", "no HTTP route is answered"),
    WorkerSetting(
        "PYTHON_ISOLATE_WORKER_DEPENDENCIES", "1", "the worker's own protobuf and grpc take the place of the app's"
    ),
    WorkerSetting(
        "PYTHON_THREADPOOL_THREAD_COUNT",
        "32",
        "orchestrators and your own synchronous functions share a handful of threads",
        for_load=True,
    ),
)


def report_missing(environ: Mapping[str, str], python: tuple[int, int] = sys.version_info[:2]) -> None:
    """Print a warning for each setting that is missing; nothing where no host runs the app."""
    for setting in WORKER_SETTINGS if is_hosted(environ) else ():
        given = environ.get(setting.name, "").strip().lower()
        if setting.for_load:
            is_missing = is_production(environ) and not given
        else:
            is_missing = python < (3, 13) and given not in ("1", "true", "yes", "t", "y")
        if is_missing:
            name, value, without = setting.name, setting.value, setting.without
            warn(f"Set the app setting {name} to {value}: without it {without}. See docs/reference/deployment.md.")
