"""Threads that a client watches by an open stream of one request: nothing of it is kept once that is closed.

Versions with a handshake subscribe by a request, and are notified in another stream. Any process may get the one and
the other, so something would have to be kept for each client.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from typing import Any

from msgspec import Struct

from hosting.core.care import Care
from hosting.core.following import Following
from hosting.core.thread_log import ThreadLog
from hosting.errors import HostingError, InvalidFieldError
from hosting.features.mcp_endpoint import names
from hosting.features.mcp_endpoint.requests import ClientMessage, members
from hosting.features.mcp_endpoint.resources import Resources, UnknownResourceError
from hosting.http.json_rpc import envelope
from hosting.http.replies import Streamed
from hosting.http.request import HttpRequest
from hosting.http.thread_changes import changed_threads
from hosting.http.wire_replies import data_frames, framed, streamed
from hosting.names import Address

MOST_WATCHED = 20
"""Threads of one stream: each costs a read of the log every few seconds."""
_Sent = Mapping[str, Any]


class Subscriptions(Struct, frozen=True, eq=False):
    """What clients of an app listen to."""

    resources: Resources
    care: Care
    log: ThreadLog
    following: Following

    async def listen(self, request: HttpRequest, message: ClientMessage) -> Streamed:
        """Return the stream of changes of the caller's threads; what else the client wishes for is left out."""
        wished = members(message.params, "notifications").get("resourceSubscriptions") or []
        if not isinstance(wished, list) or not all(isinstance(uri, str) for uri in wished):
            raise InvalidFieldError("params.notifications.resourceSubscriptions is no list of addresses.")
        watched: dict[Address, str] = {}
        for uri in wished:
            with suppress(UnknownResourceError):
                address, more = self.resources.place(uri, request.caller.owner)
                watched |= {} if more else {address: uri}
        if len(watched) > MOST_WATCHED:
            raise InvalidFieldError(f"A stream watches at most {MOST_WATCHED} threads. Open another one for the rest.")

        def broken(error: HostingError) -> list[_Sent]:
            return [envelope(message.id, error=names.rpc_error(error))]

        return streamed(framed("subscriptions", self._news(message, watched), broken, "Listen again.", data_frames))

    async def _news(self, message: ClientMessage, watched: Mapping[Address, str]) -> AsyncGenerator[list[_Sent], None]:
        meta = {"_meta": {names.META_SUBSCRIPTION: message.id}}

        def notice(name: str, **params: Any) -> _Sent:
            return {"jsonrpc": "2.0", "method": f"notifications/{name}", "params": {**params, **meta}}

        agreed = {"resourceSubscriptions": [*watched.values()]} if watched else {}
        begun = [notice("subscriptions/acknowledged", notifications=agreed)]
        async with aclosing(changed_threads(self.care, self.log, watched, self.following.stream_time())) as changes:
            async for changed in changes:
                yield begun + [notice("resources/updated", uri=watched[address]) for address in changed]
                begun = []
        yield [envelope(message.id, result={"resultType": "complete", **meta})]
