"""The caller's threads as resources: their conversations, and the files that runs answered with.

Nothing is kept for them: a thread is listed by its last change, and read where it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hosting.core.threads import Threads
from hosting.core.turns import LargeReads
from hosting.errors import HostingError, InvalidFieldError, UnknownRunError, UnknownThreadError
from hosting.features.mcp_endpoint.requests import ClientMessage, read_completion
from hosting.http.mcp_content import file_resource, files_of, read_thread_uri, thread_uri
from hosting.http.parameters import read_cursor
from hosting.http.request import HttpRequest
from hosting.http.thread_replies import messages_reply
from hosting.http.verbs import NewestThreads, ThreadQuery
from hosting.http.wire import WireVerbs
from hosting.listing import Window
from hosting.names import Address, is_id, may_be_stored
from hosting.plan import AgentPlan
from state.portable import data_uri_parts

_MOST = 50
"""Threads on a page, and entries of a conversation: the newest."""
_JSON = "application/json"
_THREAD = "thread://{agent}/{thread_id}"
_FILE = f"{_THREAD}/{{run_id}}/{{number}}"
_Result = Mapping[str, Any]


class UnknownResourceError(HostingError, code="unknown_resource", status=404):
    """An address of which there is no thread of the caller, or no file."""


class Resources(Struct, frozen=True, eq=False):
    """The resources of an app. `tools` are the agents by their tools' names in lower case."""

    verbs: WireVerbs
    threads: Threads
    newest_threads: NewestThreads
    reads: LargeReads
    tools: Mapping[str, AgentPlan]

    async def page(self, request: HttpRequest, message: ClientMessage) -> _Result:
        """Return a page of the caller's threads with one agent, the newest change first, and where the next begins."""
        agents = [agent.name for agent in self.tools.values()]
        name, cursor = self.begin_of(message.params.get("cursor"), agents)
        if name is None:
            return {"resources": []}
        newest = await self.newest_threads(name, ThreadQuery(_MOST, cursor), request.caller)
        resources = [
            {
                "uri": thread_uri(name, address.thread_id),
                "name": address.thread_id,
                "title": head.name or head.title or address.thread_id,
                "description": f"A conversation with {name}.",
                "mimeType": _JSON,
            }
            for address, head in newest.threads
        ]
        after = agents[agents.index(name) + 1 :]
        following = f"{name}:{newest.cursor}" if newest.cursor else f"{after[0]}:" if after else None
        return {"resources": resources, **({} if following is None else {"nextCursor": following})}

    @staticmethod
    def begin_of(cursor: object, agents: list[str]) -> tuple[str | None, str | None]:
        """Return the agent of a page, None without any, and the cursor among its threads."""
        if cursor is None:
            return (agents[0] if agents else None), None
        name, colon, rest = cursor.partition(":") if isinstance(cursor, str) else ("", "", "")
        if name not in agents or not colon:
            raise InvalidFieldError("params.cursor is not from this app. Send nextCursor of the last page.")
        return name, read_cursor({"cursor": rest})

    async def templates(self, request: HttpRequest, message: ClientMessage) -> _Result:
        """Return the forms of the addresses."""
        newest = f"The newest {_MOST} entries of a conversation."
        templates = [
            {"uriTemplate": _THREAD, "name": "thread", "description": newest, "mimeType": _JSON},
            {"uriTemplate": _FILE, "name": "file", "description": "A file of an answer, counted from 0."},
        ]
        return {"resourceTemplates": templates}

    async def complete(self, request: HttpRequest, message: ClientMessage) -> _Result:
        """Return how an argument of such an address may go on: an agent, or one of the caller's newest threads."""
        name, value, agent = read_completion(message.params, (_THREAD, _FILE))
        plan = self._agent(agent)
        values, has_more = [each.name for each in self.tools.values()] if name == "agent" else [], False
        if name == "thread_id" and plan is not None:
            newest = await self.newest_threads(plan.name, ThreadQuery(_MOST), request.caller)
            values, has_more = [address.thread_id for address, _ in newest.threads], newest.cursor is not None
        shown = [each for each in values if each.lower().startswith(value.lower())]
        return {"completion": {"values": shown, "hasMore": has_more, **({} if has_more else {"total": len(shown)})}}

    async def read(self, request: HttpRequest, message: ClientMessage) -> _Result:
        """Return a conversation, or a file; raises `UnknownResourceError`."""
        uri = message.params.get("uri")
        if not isinstance(uri, str):
            raise InvalidFieldError("params.uri is no text. Send the uri of a resource.")
        address, more = self.place(uri, request.caller.owner)
        try:
            contents = await (self._file if more else self._conversation)(request, uri, address, *more)
        except (UnknownThreadError, UnknownRunError):
            raise _unknown(uri) from None
        return {"contents": [contents]}

    def place(self, uri: str, owner: str) -> tuple[Address, list[str]]:
        """Return the thread of an address, and its run and number if it is a file's; raises `UnknownResourceError`."""
        name, *parts = read_thread_uri(uri) or [""]
        thread_id, more = "".join(parts[:1]), parts[1:]
        agent = self._agent(name)
        is_file = len(more) == 2 and is_id(more[0]) and more[1].isascii() and more[1].isdigit() and len(more[1]) < 4
        if agent is None or not may_be_stored(thread_id, owner) or (more and not is_file):
            raise _unknown(uri)
        return Address.of(agent.name, thread_id, owner), more

    def _agent(self, name: str) -> AgentPlan | None:
        return next((agent for agent in self.tools.values() if agent.name.lower() == name.lower()), None)

    async def _conversation(self, request: HttpRequest, uri: str, address: Address) -> _Result:
        async with self.reads.turn(address.owner):
            page = await self.threads.messages(address, Window(_MOST, None, None, True), request.caller.client)
            shows = self.verbs.plan.served(address.agent).options.shows_thoughts
            reply = await asyncio.to_thread(messages_reply, address.thread_id, page, shows_thoughts=shows)
        return {"uri": uri, "mimeType": _JSON, "text": reply.body}

    async def _file(self, request: HttpRequest, uri: str, address: Address, run_id: str, number: str) -> _Result:
        files = files_of(await self.verbs.runs.find(address, run_id, request.caller.client))[int(number) :]
        parts = data_uri_parts(str(files[0]["uri"])) if files else None
        if parts is None:
            raise _unknown(uri)
        return file_resource(uri, files[0].get("mediaType") or parts[0], parts[1])


def _unknown(uri: str) -> UnknownResourceError:
    return UnknownResourceError(f"There is no resource {uri[:200]!r}. List the resources.")
