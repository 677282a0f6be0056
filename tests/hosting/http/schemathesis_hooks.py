"""What the document cannot say: which fields exclude each other, what parts of a schema are, which 5xx are promised."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import unquote

import schemathesis
from schemathesis.generation import GenerationMode

from hosting.core.request.response_format import FORMAT_COMPONENTS
from tests.support.seeds import IS_EXPLORING

RUN = "/agents/Joker/run"
THREAD_NAMES = ("thread_id", "session_id", "sessionId", "x-ms-thread-id", "x-ms-session-id")
PLACE_NAMES = ("after", "offset")
GIVEN_NAMES = ("input", "message", "contents")
FORMAT_NAMES = ("response_format", "responseFormat")
WITHOUT_PARTS: dict[str, Callable[[Any], Any]] = {
    "additionalProperties": lambda part: True,
    "items": lambda part: True,
    "properties": lambda parts: dict.fromkeys(parts, True),
    "anyOf": lambda parts: [True],
}


@schemathesis.hook
def before_load_schema(context: schemathesis.HookContext, raw_schema: dict[str, Any]) -> None:
    """In the gate, try the parts of a JSON schema and of contents in one field of one body: that of a run."""
    if not IS_EXPLORING:
        _shorten(raw_schema)


@schemathesis.hook
def before_call(context: schemathesis.HookContext, case: schemathesis.Case, kwargs: dict[str, Any]) -> None:
    """Let a valid request name one thread, input, format, position in a stream; those to be refused go as they are.

    None names a webhook: it would be sent, to whoever has that name.
    """
    if case.meta is None or case.meta.generation.mode is not GenerationMode.POSITIVE:
        return
    body = case.body if isinstance(case.body, dict) else {}
    several: Any = body.get("requests") or ()
    for asked in (body, *several):
        asked.pop("webhook", None)
    _keep_first(THREAD_NAMES, body, case.query, case.headers)
    _keep_first(FORMAT_NAMES, body)
    if body.get("input") is not None:
        _keep_first(GIVEN_NAMES, body)
    _keep_first(PLACE_NAMES, case.query)
    if "offset" not in (case.query or {}):
        (case.query or {}).pop("live", None)
    for name in FORMAT_NAMES:
        if isinstance(body.get(name), dict):
            body[name] = _without_parts(body[name])
    for message in (body, *(body.get("messages") or ())):
        for content in message.get("contents") or ():
            if content["$type"] == "data":  # its address says the media type too
                content.pop("mediaType", None)


@schemathesis.hook
def filter_path_parameters(context: schemathesis.HookContext, path_parameters: Any) -> bool:
    """Leave out a name in another letter case, and line breaks.

    The app takes the name, and the document has names as they are written. A path with a line break never reaches the
    app: the extension of the worker answers it, on Azure's host as on the local one.
    """
    if any("\n" in unquote(str(value)) for value in (path_parameters or {}).values()):
        return False
    name = (path_parameters or {}).get("name")
    parameters = context.operation.definition.raw.get("parameters", ()) if context.operation else ()
    named = [one for one in parameters if (one["in"], one["name"]) == ("path", "name")]
    known = [name for parameter in named for name in parameter["schema"]["enum"]]
    return name in known or str(name).lower() not in map(str.lower, known)


@schemathesis.check
def server_errors(
    ctx: schemathesis.CheckContext, response: schemathesis.Response, case: schemathesis.Case
) -> bool | None:
    """A 5xx is an agent's answer that does not fit the format that was asked for, and nothing else."""
    if response.status_code >= 500:
        assert response.json()["code"] == "invalid_output", response.text
    return None


def _shorten(document: dict[str, Any]) -> None:
    """Leave whole in one field what several fields and bodies take alike, and of it in the others the outermost part.

    The same code reads them all, and schemathesis would make a third of its requests of these parts alone. Of a webhook
    it sends only what is refused: it need not draw the longest address that is taken, for which it takes 20 s.
    """
    for webhook in _webhooks(document["paths"]):
        webhook["anyOf"][0]["pattern"] = "^https://"
    schemas = document["components"]["schemas"]
    whole = schemas["WholeSchema"] = schemas["JsonSchema"]
    schemas["JsonSchema"] = {**whole, "properties": {"type": whole["properties"]["type"]}}
    of_a_run = _fields(document["paths"][RUN]["post"])
    of_a_run["response_format"]["anyOf"].insert(0, {"$ref": "#/components/schemas/WholeSchema"})
    for path, operations in document["paths"].items():
        fields = _fields(operations.get("post", {}))
        if path != RUN and "contents" in fields:
            items = fields["contents"]["anyOf"][0]["items"]
            items["oneOf"] = items["oneOf"][:1]


def _webhooks(part: Any) -> Iterator[Any]:
    """Yield the schema of each field of that name."""
    if isinstance(part, list):
        for each in part:
            yield from _webhooks(each)
    elif isinstance(part, dict):
        if "webhook" in part.get("properties", {}):
            yield part["properties"]["webhook"]
        for each in part.values():
            yield from _webhooks(each)


def _fields(operation: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an operation's JSON body."""
    content = operation.get("requestBody", {}).get("content", {})
    fields: dict[str, Any] = content.get("application/json", {}).get("schema", {}).get("properties", {})
    return fields


def _without_parts(wanted: dict[str, Any]) -> dict[str, Any]:
    """Return the format with trivial parts and known keywords: any object is a part to the document, not to the app."""
    if "json_schema" in wanted:
        envelope = wanted["json_schema"]
        return {**wanted, "json_schema": {**envelope, "schema": _without_parts(envelope["schema"])}}
    kept = {name: value for name, value in wanted.items() if name in FORMAT_COMPONENTS["JsonSchema"]["properties"]}
    return {name: WITHOUT_PARTS.get(name, lambda value: value)(value) for name, value in kept.items()}


def _keep_first(names: tuple[str, ...], *places: Any) -> None:
    given = [(place, name) for place in places for name in names if name in (place or {})]
    for place, name in given[1:]:
        del place[name]
