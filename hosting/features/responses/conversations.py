"""The protocol's conversations: an agent's threads and their items, and the refused operations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from hosting.core.thread.events import Completed, Event
from hosting.core.thread.head import Head
from hosting.core.threads import Threads
from hosting.core.turns import LargeReads
from hosting.errors import InvalidFieldError, ThreadDeletingError, UnknownThreadError
from hosting.features.responses import names
from hosting.features.responses.agents import find_agent, thread_of
from hosting.features.responses.fold import ResponseFold
from hosting.features.responses.names import Named, NotServedError
from hosting.features.responses.objects import conversation_object, input_items, page
from hosting.features.responses.requests import body_fields, read_metadata
from hosting.http.replies import Reply, json_reply
from hosting.http.request import HttpRequest
from hosting.http.route import Route
from hosting.http.run_call import RawRequest
from hosting.http.verbs import NewestThreads, ThreadQuery
from hosting.http.wire import WireVerbs
from hosting.http.wire_runs import fold_runs
from hosting.names import Address, new_id

MOST_CONVERSATIONS = 50
"""So many of the newest are listed: of each, the log is read for when it began."""

_SECONDS_LENGTH = 8
"""Hexadecimal digits with which the id of a conversation that begins here says when."""

_DAY_SECONDS = 86_400.0

_AGENT_NAMES = frozenset(("agent_id", "entity_id"))


class ConversationVerbs:
    """The operations on conversations, in `verbs`."""

    def __init__(
        self, verbs: WireVerbs, threads: Threads, newest_threads: NewestThreads, large_reads: LargeReads
    ) -> None:
        self._plan, self._settings, self._log = verbs.plan, verbs.settings, verbs.log
        self._wire, self._threads, self._newest_threads, self._large_reads = verbs, threads, newest_threads, large_reads
        self.verbs: Mapping[Route, Callable[[HttpRequest, Mapping[str, str]], Awaitable[Reply]]] = {
            names.LIST: self._list,
            names.BEGIN: self._begin,
            names.CONVERSATION: self._read,
            names.UPDATE: self._update,
            names.DELETE_CONVERSATION: self._delete,
            names.ITEMS: self._list_items,
            names.ITEM: self._read_item,
        }

    async def delete(self, request: HttpRequest, address: Address) -> None:
        """Delete a thread; raises `ThreadDeletingError` where that takes longer than a request may wait."""
        if not await self._threads.delete(address, request.caller.client, self._settings.wait_seconds):
            raise ThreadDeletingError("The deletion is in progress. Try again in a moment.")

    async def _list(self, request: HttpRequest, parts: Mapping[str, str]) -> Reply:
        """Return the agent's conversations, the newest change first. A `type` is of sessions of workflows."""
        query = request.query
        agent = find_agent(self._plan, query.get("agent_id") or query.get("entity_id"), "'agent_id' in the query")
        newest, found = ThreadQuery(MOST_CONVERSATIONS), []
        listed = await self._newest_threads(agent.name, newest, request.caller)
        for address, head in listed.threads if "type" not in query else ():
            first = await self._events(address, head, head.trimmed + 1)
            created_at, metadata = _created_at(address, head, first), await self._log.metadata(address, head)
            found.append(conversation_object(agent.name, address.thread_id, created_at, metadata))
        has_more = listed.cursor is not None
        return json_reply(200, {"object": "list", "data": found, "has_more": has_more})

    async def _begin(self, request: HttpRequest, parts: Mapping[str, str]) -> Reply:
        """Before the first response only metadata is written: the id has the owner and the time.

        Metadata that names the agent and has nothing else is not kept.
        """

        def parse(raw: RawRequest) -> dict[str, Any]:
            return body_fields(raw, frozenset(("items", "metadata")), self._settings.max_body_bytes)

        fields = await request.parsed(parse)
        if fields.get("items"):
            raise NotServedError(names.NOT_SERVED[names.ADD_ITEMS], "items")
        metadata = read_metadata(fields.get("metadata"))
        agent = find_agent(self._plan, metadata.get("agent_id") or metadata.get("entity_id"), "'metadata.agent_id'")
        now = int(self._log.clocks.wall())
        thread_id = f"{now:08x}{new_id()[_SECONDS_LENGTH:]}"
        kept = metadata if metadata.keys() - _AGENT_NAMES else {}
        if kept:
            address = Address.of(agent.name, thread_id, request.caller.owner)
            await self._threads.describe(address, kept, request.caller.client)
        return json_reply(200, conversation_object(agent.name, thread_id, now, kept))

    async def _update(self, request: HttpRequest, parts: Mapping[str, str]) -> Reply:
        """Give the conversation other metadata: all of it, as the protocol has it."""

        def parse(raw: RawRequest) -> dict[str, str]:
            fields = body_fields(raw, frozenset(("metadata",)), self._settings.max_body_bytes)
            if "metadata" not in fields:
                raise InvalidFieldError("The field 'metadata' is missing. Send the conversation's metadata.")
            return read_metadata(fields["metadata"])

        metadata = await request.parsed(parse)
        address, head, log = await self._read_log(request, names.read_conversation_id(parts["id"]))
        agent, created_at = find_agent(self._plan, address.agent).name, _created_at(address, head, log)
        await self._threads.describe(address, metadata, request.caller.client)
        return json_reply(200, conversation_object(agent, address.thread_id, created_at, metadata))

    async def _read(self, request: HttpRequest, parts: Mapping[str, str]) -> Reply:
        address, head, log = await self._read_log(request, names.read_conversation_id(parts["id"]))
        agent, created_at = find_agent(self._plan, address.agent).name, _created_at(address, head, log)
        metadata = await self._log.metadata(address, head)
        return json_reply(200, conversation_object(agent, address.thread_id, created_at, metadata))

    async def _delete(self, request: HttpRequest, parts: Mapping[str, str]) -> Reply:
        named = names.read_conversation_id(parts["id"])
        await self.delete(request, thread_of(self._plan, named, request.caller.owner))
        return json_reply(200, {"id": parts["id"], "object": "conversation.deleted", "deleted": True})

    async def _list_items(self, request: HttpRequest, parts: Mapping[str, str]) -> Reply:
        async with self._large_reads.turn(request.caller.owner):
            return json_reply(200, page(await self._items(request, parts), request.query))

    async def _read_item(self, request: HttpRequest, parts: Mapping[str, str]) -> Reply:
        async with self._large_reads.turn(request.caller.owner):
            for item in await self._items(request, parts):
                if item["id"] == parts["item"]:
                    return json_reply(200, item)
        raise UnknownThreadError(f"The conversation has no item {parts['item'][:80]!r}.")

    async def _items(self, request: HttpRequest, parts: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the items of the runs that the log has, and that have an answer or may get one."""
        address, _, log = await self._read_log(request, names.read_conversation_id(parts["id"]))
        agent = find_agent(self._plan, address.agent).name
        causes = self._wire.names_causes
        folds = fold_runs(address, log, lambda run, _: ResponseFold(agent, run, names_causes=causes))
        items: list[dict[str, Any]] = []
        for fold in folds.values():
            if fold.run.end is None or isinstance(fold.run.end, Completed):
                items += [*input_items(fold.run), *fold.output()]
        return items

    async def _read_log(self, request: HttpRequest, named: Named) -> tuple[Address, Head, list[tuple[int, Event]]]:
        """Return the log of a conversation: empty for a new one before its first response.

        Raises `UnknownThreadError`.
        """
        address = thread_of(self._plan, named, request.caller.owner)
        head = await self._log.head(address)
        if head.position == 0 and _begins_here(named.thread_id):
            return address, head, []
        view = await self._threads.view(address, request.caller.client)
        return address, view.head, await self._events(address, view.head, view.head.position)

    async def _events(self, address: Address, head: Head, through: int) -> list[tuple[int, Event]]:
        return await self._log.events(address, head.trimmed, through=through)


def _begins_here(thread_id: str) -> bool:
    return len(thread_id) == len(new_id()) and all(digit in "0123456789abcdef" for digit in thread_id)


def _created_at(address: Address, head: Head, log: list[tuple[int, Event]]) -> int:
    """Return the time in the id of a conversation that began here, else that of the first event that the log has.

    Where all events are trimmed it is that of the last one. Other ids look like those from here, so the time in one
    counts only where the first event came within a day of it.
    """
    first = log[0][1].at if log else head.changed_at
    named = int(address.thread_id[:_SECONDS_LENGTH], 16) if _begins_here(address.thread_id) else 0
    return named if head.position == 0 or abs(first - named) <= _DAY_SECONDS else int(first)
