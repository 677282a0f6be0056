"""One call of one of the app's functions: the trigger's text in, what the function answered out (host contract 5.5)."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from azure.functions.meta import Datum

from devhost.converters import decode_text, encode_result
from devhost.index import Function
from devhost.invoke import Invoker


@dataclass(frozen=True)
class Caller:
    """Who calls: the session state that the client sent, None without one, and the headers of its request."""

    session_id: str | None
    headers: Mapping[str, str]


async def invoke(invoker: Invoker, function: Function, members: Mapping[str, object], caller: Caller) -> Datum:
    """Call the function with the members and the caller as its trigger's text; raise `FunctionFailedError`."""
    value = decode_text(function.trigger_type, _trigger_text(members, caller), "string")
    answered = await invoker.call(function, value, str(uuid.uuid4()))
    return encode_result(function.trigger_type, answered)


def _trigger_text(members: Mapping[str, object], caller: Caller) -> str:
    """Return the text that the function's trigger receives; members without value are left out."""
    transport: dict[str, object] = {"name": "http-streamable"}
    context = {name: value for name, value in members.items() if value is not None}
    if caller.session_id is not None:
        context["sessionid"] = transport["sessionId"] = caller.session_id
    transport["properties"] = {"headers": caller.headers}
    return json.dumps({**context, "transport": transport}, separators=(",", ":"), ensure_ascii=False)
