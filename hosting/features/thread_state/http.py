"""The handlers of the routes of a thread's state, and of messages that are put in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hosting.core.request.contents import limits_of
from hosting.core.services import Services
from hosting.features.thread_state.puts import Puts
from hosting.features.thread_state.requests import parse_messages, parse_state_patch
from hosting.features.thread_state.routes import PUT_MESSAGES, STATE, STATE_WRITE, PutMessage, ThreadState
from hosting.features.thread_state.session import SessionStates, version_of
from hosting.http.replies import Reply, json_reply, thread_headers, thread_ids
from hosting.http.request import Bound, HttpRequest


class ThreadStateHandlers:
    """The handlers of one app's routes."""

    def __init__(self, services: Services) -> None:
        self._settings = services.settings
        self._states = SessionStates(services.log, services.threads, services.holders)
        self._puts = Puts(services.log, services.holders, services.stores, services.settings)

    def bound(self) -> Sequence[Bound]:
        """Return the routes with their handlers."""
        return Bound(STATE, self._read), Bound(STATE_WRITE, self._write), Bound(PUT_MESSAGES, self._put)

    async def _read(self, request: HttpRequest) -> Reply:
        return _shown(request, await self._states.read(request.address, request.caller.client))

    async def _write(self, request: HttpRequest) -> Reply:
        agent, address, client = request.agent, request.address, request.caller.client
        patch = await request.parsed(lambda raw: parse_state_patch(raw, self._settings.max_body_bytes))
        return _shown(request, await self._states.write(agent, address, patch, client))

    async def _put(self, request: HttpRequest) -> Reply:
        agent, address = request.agent, request.address
        limits = limits_of(agent, self._settings)
        new = await request.parsed(lambda raw: parse_messages(raw, limits))
        put = await self._puts.put(agent, address, new, request.caller)
        body: PutMessage = {
            "agent": agent.name,
            **thread_ids(address.thread_id),
            "put_id": put.id,
            "message_count": len(new.messages),
        }
        replayed = {"idempotency-replayed": "true"} if put.replayed else {}
        return json_reply(201, body, {**thread_headers(address.thread_id), **replayed})


def _shown(request: HttpRequest, state: Mapping[str, Any]) -> Reply:
    """Return the state of the thread in the path, with its version."""
    thread_id, version = request.thread_id, version_of(state)
    body: ThreadState = {
        "agent": request.agent.name,
        **thread_ids(thread_id),
        "version": version,
        "state": dict(state),
    }
    return json_reply(200, body, {**thread_headers(thread_id), "etag": f'"{version}"'})
