"""Server-sent events as the standard has them, read from an open answer."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

import httpx

from conformance.port import Refused


@dataclass(frozen=True)
class Event:
    """One event: its id, its name (`message` if it has none), and its data."""

    id: str
    name: str
    data: str

    def json(self) -> Any:
        """Return the data as JSON has it."""
        return json.loads(self.data)


async def events_of(http: httpx.AsyncClient, method: str, path: str, **options: Any) -> AsyncGenerator[Event, None]:
    """Iterate over the events of the answer; Refused if it is no success."""
    async with http.stream(method, path, **options) as answer:
        if not answer.is_success:
            await answer.aread()
            raise Refused(answer)
        fields: dict[str, str] = {}
        last = ""
        async for line in answer.aiter_lines():
            if line:
                name, _, value = line.partition(":")
                value = value.removeprefix(" ")
                fields[name] = f"{fields['data']}\n{value}" if name == "data" and "data" in fields else value
            elif "data" in fields:
                last = fields.get("id", last)
                yield Event(last, fields.get("event", "message"), fields["data"])
                fields = {}
            else:
                fields = {}
