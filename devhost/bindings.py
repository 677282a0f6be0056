"""What a function is bound to, read from its raw binding JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from devhost.errors import FunctionLoadError
from devhost.ports import DurableKind

Direction = Literal["IN", "OUT"]
AuthLevel = Literal["anonymous", "function", "admin"]
McpKind = Literal["tool", "resource", "prompt"]
_AUTH_LEVELS: Mapping[str, AuthLevel] = {"anonymous": "anonymous", "function": "function", "admin": "admin"}
_SETTING = re.compile(r"%([^%\s]+)%")
_RESOLVED_ANYWHERE = frozenset({"route", "schedule", "queueName", "path"})
DEFAULT_CONNECTION = "AzureWebJobsStorage"


@dataclass(frozen=True)
class Binding:
    """One binding as declared: `properties` is the whole JSON object, `type` is in lower case."""

    type: str
    name: str
    direction: Direction
    properties: Mapping[str, object]


@dataclass(frozen=True)
class HttpTrigger:
    """A route template without prefix; `methods` in upper case, None for any verb."""

    route: str
    methods: frozenset[str] | None
    auth_level: AuthLevel = "function"


@dataclass(frozen=True)
class DurableTrigger:
    """An orchestrator, activity or entity, by the name that the durable protocol uses for it."""

    kind: DurableKind
    durable_name: str


@dataclass(frozen=True)
class McpTrigger:
    """A tool, resource or prompt of MCP; `properties` is the binding's whole JSON object."""

    kind: McpKind
    name: str
    properties: Mapping[str, object]


@dataclass(frozen=True)
class TimerTrigger:
    """A schedule; `use_monitor` asks that it is remembered across restarts."""

    schedule: str
    runs_at_start: bool
    use_monitor: bool


@dataclass(frozen=True)
class QueueTrigger:
    """A queue of a storage account; `connection` is the setting that names the account."""

    queue: str
    connection: str


@dataclass(frozen=True)
class BlobTrigger:
    """A path of blobs, `container/{name}`, in a storage account; `connection` is the setting that names the account."""

    path: str
    connection: str


@dataclass(frozen=True)
class SentTrigger:
    """A trigger of a service that no laptop has: its messages are sent by hand. `type` is in lower case."""

    type: str
    takes_many: bool
    has_sessions: bool


@dataclass(frozen=True)
class OtherTrigger:
    """A trigger that this host does not run."""

    type: str


Trigger = (
    HttpTrigger | DurableTrigger | McpTrigger | TimerTrigger | QueueTrigger | BlobTrigger | SentTrigger | OtherTrigger
)


@dataclass(frozen=True)
class StorageBinding:
    """A blob that a function is given, or a queue or blob that it writes to.

    `target` is a queue's name or a blob's path, in which `{name}` is a member of the trigger's data. `converter` is the
    binding type by which the SDK converts the value, `parameter` is `$return` for what the function returns.
    """

    kind: Literal["queue output", "blob output", "blob input"]
    parameter: str
    converter: str
    target: str
    connection: str
    is_binary: bool


def public_name(trigger: Trigger) -> tuple[str, str] | None:
    """Return the kind and the name by which callers know the function; it belongs to one function (1.2, 5.4)."""
    match trigger:
        case DurableTrigger(kind, durable_name):
            return kind, durable_name
        case McpTrigger("resource", _, properties):
            return "MCP resource", str(properties["uri"])
        case McpTrigger(kind, name):
            return f"MCP {kind}", name
        case _:
            return None


def parse_bindings(function_name: str, raw_bindings: Sequence[str], environ: Mapping[str, str]) -> tuple[Binding, ...]:
    """Return the bindings in their declared order, `%NAME%` replaced by app settings.

    Refuses a direction that the worker refuses, and a name that no setting has.
    """
    return tuple(_parse_binding(function_name, json.loads(raw), environ) for raw in raw_bindings)


def _resolved(function_name: str, key: str, value: object, environ: Mapping[str, str]) -> object:
    """Return the value with its settings filled in.

    Anywhere in routes, schedules, queue names and blob paths; elsewhere as the whole value.
    """
    if not isinstance(value, str) or not (key in _RESOLVED_ANYWHERE or _SETTING.fullmatch(value)):
        return value

    def fill(found: re.Match[str]) -> str:
        setting = environ.get(found[1])
        if setting is None:
            reason = f"'{found[0]}' in its '{key}' does not resolve: there is no setting {found[1]}. Add it."
            raise FunctionLoadError(function_name, reason)
        return setting

    return _SETTING.sub(fill, value)


def _parse_binding(function_name: str, raw: Mapping[str, object], environ: Mapping[str, str]) -> Binding:
    properties = {key: _resolved(function_name, key, value, environ) for key, value in raw.items()}
    direction = str(properties.get("direction", "IN")).upper()
    name = str(properties.get("name", ""))
    if direction not in ("IN", "OUT"):
        raise FunctionLoadError(function_name, f"the binding '{name}' has the unsupported direction '{direction}'.")
    if name == "$return" and direction != "OUT":
        raise FunctionLoadError(function_name, 'the "$return" binding must have the direction "out".')
    checked: Direction = "OUT" if direction == "OUT" else "IN"
    return Binding(str(properties.get("type", "")).lower(), name, checked, properties)


def is_trigger(binding: Binding) -> bool:
    """Return whether the binding is a function's trigger: all trigger types, and only they, are named so."""
    return binding.type.endswith("trigger")


def parse_trigger(function_name: str, binding: Binding) -> Trigger:
    """Return the trigger that the binding declares; a type that is not hosted becomes `OtherTrigger`."""
    parse = _TRIGGERS.get(binding.type)
    return parse(function_name, binding.properties) if parse else OtherTrigger(str(binding.properties["type"]))


def _http(function_name: str, properties: Mapping[str, object]) -> Trigger:
    methods = properties.get("methods")
    route = properties.get("route")
    return HttpTrigger(
        route=route if isinstance(route, str) else function_name,
        methods=frozenset(str(method).upper() for method in methods) if isinstance(methods, list) and methods else None,
        auth_level=_auth_level(function_name, str(properties.get("authLevel") or "function")),
    )


def _auth_level(function_name: str, text: str) -> AuthLevel:
    level = _AUTH_LEVELS.get(text.lower())
    if level is None:
        raise FunctionLoadError(function_name, f"its authLevel is '{text}'; give anonymous, function or admin.")
    return level


def _durable(kind: DurableKind, name_key: str) -> Callable[[str, Mapping[str, object]], Trigger]:
    def parse(function_name: str, properties: Mapping[str, object]) -> Trigger:
        return DurableTrigger(kind, str(properties.get(name_key) or function_name))

    return parse


def _mcp(kind: McpKind, name_key: str) -> Callable[[str, Mapping[str, object]], Trigger]:
    def parse(function_name: str, properties: Mapping[str, object]) -> Trigger:
        if kind == "resource" and not properties.get("uri"):
            raise FunctionLoadError(function_name, "its resource has no uri.")
        return McpTrigger(kind, str(properties.get(name_key) or function_name), properties)

    return parse


def _timer(function_name: str, properties: Mapping[str, object]) -> Trigger:
    return TimerTrigger(
        schedule=str(properties.get("schedule", "")),
        runs_at_start=properties.get("runOnStartup") is True,
        use_monitor=properties.get("useMonitor") is not False,
    )


def _queue(function_name: str, properties: Mapping[str, object]) -> Trigger:
    return QueueTrigger(_named(function_name, properties, "queueName").lower(), connection_of(properties))


def _blob(function_name: str, properties: Mapping[str, object]) -> Trigger:
    path = _named(function_name, properties, "path")
    container = path.partition("/")[0]
    if not container or "{" in container:
        raise FunctionLoadError(function_name, f"its path is '{path}'; give a container's name before the first /.")
    return BlobTrigger(path, connection_of(properties))


def _sent(function_name: str, properties: Mapping[str, object]) -> Trigger:
    takes_many = str(properties.get("cardinality", "")).lower() == "many"
    return SentTrigger(str(properties["type"]).lower(), takes_many, properties.get("isSessionsEnabled") is True)


def _named(function_name: str, properties: Mapping[str, object], key: str) -> str:
    name = properties.get(key)
    if isinstance(name, str) and name:
        return name
    raise FunctionLoadError(function_name, f"its '{key}' is {name!r}; give a text.")


def connection_of(properties: Mapping[str, object]) -> str:
    """Return the setting that names a binding's storage account."""
    return str(properties.get("connection") or DEFAULT_CONNECTION)


_STORAGE: Mapping[tuple[str, Direction], tuple[Literal["queue output", "blob output", "blob input"], str]] = {
    ("queue", "OUT"): ("queue output", "queueName"),
    ("blob", "OUT"): ("blob output", "path"),
    ("blob", "IN"): ("blob input", "path"),
}


def is_of_storage(binding: Binding) -> bool:
    """Return whether the binding reads a blob, or writes a queue or blob."""
    return (binding.type, binding.direction) in _STORAGE


def parse_storage(function_name: str, binding: Binding, converter: str) -> StorageBinding:
    """Return the queue or blob of a binding for which `is_of_storage` holds."""
    kind, key = _STORAGE[binding.type, binding.direction]
    return StorageBinding(
        kind=kind,
        parameter=binding.name,
        converter=converter,
        target=_named(function_name, binding.properties, key),
        connection=connection_of(binding.properties),
        is_binary=str(binding.properties.get("dataType", "")).lower() == "binary",
    )


_TRIGGERS: Mapping[str, Callable[[str, Mapping[str, object]], Trigger]] = {
    "httptrigger": _http,
    "orchestrationtrigger": _durable("orchestrator", "orchestration"),
    "activitytrigger": _durable("activity", "activity"),
    "entitytrigger": _durable("entity", "entityName"),
    "mcptooltrigger": _mcp("tool", "toolName"),
    "mcpresourcetrigger": _mcp("resource", "resourceName"),
    "mcpprompttrigger": _mcp("prompt", "promptName"),
    "timertrigger": _timer,
    "queuetrigger": _queue,
    "blobtrigger": _blob,
    "servicebustrigger": _sent,
    "eventgridtrigger": _sent,
    "eventhubtrigger": _sent,
    "cosmosdbtrigger": _sent,
}
