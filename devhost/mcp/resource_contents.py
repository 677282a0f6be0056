"""What a resource's function answered, as the result of `resources/read` (host contract 5.7)."""

from __future__ import annotations

import base64
from collections.abc import Mapping

from azure.functions.meta import Datum

from devhost.mcp.envelope import json_object, nested, read_envelope
from devhost.mcp.resources import Resource
from devhost.mcp.results import Result


def read_result(resource: Resource, uri: str, datum: Datum) -> Result:
    """Return the result for the address as it was asked for; raise `ValueError` for an unusable envelope."""
    if resource.has_result_schema:
        return {"contents": [json_object(nested(read_envelope(datum), "content"))]}
    kind = {"mimeType": resource.mime_type} if resource.mime_type else {}
    return {"contents": [{"uri": uri, **kind, **_body(datum)}]}


def _body(datum: Datum) -> Mapping[str, str]:
    if datum.type == "bytes":
        return {"blob": base64.b64encode(datum.value).decode()}
    return {"text": str(datum.value)}
