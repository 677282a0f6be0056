"""Entities over HTTP: signal, read, list, delete."""

from __future__ import annotations

import json
import re

from starlette.responses import Response

from devhost.durable.hub import TaskHub
from devhost.durable.management.http import (
    ManagementRequest,
    negative_top,
    next_page,
    parse_page,
    refusal,
    text_reply,
)
from devhost.durable.records import Entity, EntityId
from devhost.durable.texts import compact, format_utc, recompact
from devhost.ports import FunctionNames, is_missing, missing_function

_FORBIDDEN = re.compile(r"[/\\#?\x00-\x1f\x7f]")


class Entities:
    """The handlers of `entities/`."""

    def __init__(self, hub: TaskHub, names: FunctionNames) -> None:
        self._hub = hub
        self._names = names

    async def signal(self, request: ManagementRequest, name: str, key: str) -> Response:
        """Send an operation. JSON travels as it is, which Python entities read only when it is a string of JSON;
        any other content is a text, which they decode: both as on the real host."""
        if (refused := self._refuse(name, key)) is not None:
            return refused
        try:
            given = _operation_input(await request.body(), request.media_type)
        except (ValueError, RecursionError) as error:
            return refusal(400, f"Could not parse JSON content: {error}")
        await self._hub.signal(EntityId.of(name, key), request.parameter("op") or "", given)
        return Response(status_code=202)

    async def delete(self, request: ManagementRequest, name: str, key: str) -> Response:
        """Signal the operation `delete`; what that does is the entity's business."""
        if (refused := self._refuse(name, key)) is not None:
            return refused
        await self._hub.signal(EntityId.of(name, key), "delete", None)
        return Response(status_code=202)

    async def read(self, request: ManagementRequest, name: str, key: str) -> Response:
        """Answer the state as compact JSON; a deleted entity reads as null, a text that is no JSON as it is."""
        entity = await self._hub.store.entity(EntityId.of(name, "" if key == "$" else key))
        return Response(status_code=404) if entity is None else text_reply(200, _compacted(_state_of(entity)))

    async def list(self, request: ManagementRequest, name: str | None) -> Response:
        page = parse_page(request)
        if page.size < 0:
            return negative_top()
        prefix = f"@{name.lower()}@" if name else "@"
        found = await self._hub.store.list_entities(prefix, page.first_id, page.size + 1)
        with_state = request.flag("fetchstate")
        earliest, latest = (request.moment(f"lastoperationtime{end}") for end in ("from", "to"))
        shown = [
            entity
            for entity in found[: page.size]
            if (entity.exists or with_state)
            and (earliest is None or entity.updated_at >= earliest)
            and (latest is None or entity.updated_at <= latest)
        ]
        text = ",".join(_entry(entity, with_state) for entity in shown)
        return text_reply(200, f"[{text}]", next_page(request, [str(entity.id) for entity in found], page))

    def _refuse(self, name: str, key: str) -> Response | None:
        if is_missing(self._names, "entity", name):
            return refusal(400, missing_function(self._names, "entity", name))
        if _FORBIDDEN.search(key):
            hint = "Entity keys must not contain /, \\, #, ?, or control characters."
            return refusal(400, f"entityKey (Parameter '{hint}')")
        return None


def _operation_input(body: bytes, media_type: str) -> str | None:
    if not body:
        return None
    text = body.decode()
    if media_type.lower() != "application/json":
        return compact(text)
    json.loads(text)
    return text.strip()


def _state_of(entity: Entity) -> str:
    """Return what reads as the state: the real host shows the text that was answered last, also "does not exist"'s."""
    return entity.state or "null"


def _compacted(state: str) -> str:
    try:
        return recompact(state)
    except ValueError:
        return state


def _entry(entity: Entity, with_state: bool) -> str:
    head = compact(
        {
            "entityId": {"name": entity.id.name, "key": entity.id.key},
            "lastOperationTime": format_utc(entity.updated_at),
        }
    )
    state = _compacted(_state_of(entity)) if with_state else "null"
    return f'{head[:-1]},"state":{state}}}'
