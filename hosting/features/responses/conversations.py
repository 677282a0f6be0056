"""The protocol's conversations: an agent's threads and their items, and the refused operations."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from operator import itemgetter
from typing import Any

from msgspec import Struct

from hosting.core.request.contents import limits_of
from hosting.core.thread.events import Completed, Event, Joined
from hosting.core.thread.head import NEW, Head
from hosting.core.threads import Threads
from hosting.core.turns import LargeReads
from hosting.errors import ThreadDeletingError, UnknownThreadError
from hosting.features.responses import names
from hosting.features.responses.agents import thread_of
from hosting.features.responses.fold import ResponseFold
from hosting.features.responses.objects import input_items, items_of
from hosting.features.responses.requests import parse_conversation, parse_items, parse_metadata
from hosting.http.replies import Reply, json_reply
from hosting.http.request import HttpRequest
from hosting.http.route import Route
from hosting.http.verbs import BeginsThreads, NewestThreads, NewMessages, ThreadQuery
from hosting.http.wire import WireVerbs
from hosting.http.wire_openai import find_agent
from hosting.http.wire_replies import page, whole_list
from hosting.http.wire_runs import fold_runs, standing_puts
from hosting.metadata import Metadata, texts_of
from hosting.names import Address, new_id

MOST_CONVERSATIONS = 50
"""So many of the newest are listed: of each, the log is read for when it began."""

_SECONDS_LENGTH = 8
"""Hexadecimal digits with which the id of a conversation that begins here says when."""

_DAY_SECONDS = 86_400.0

_AGENT_NAMES = frozenset(("agent_id", "entity_id"))


class _Conversation(Struct, frozen=True):
    """A conversation as its thread's log has it; a new one before its first response has no events."""

    agent: str
    address: Address
    head: Head
    events: list[tuple[int, Event]]

    def shown(self, metadata: Metadata) -> dict[str, Any]:
        """Return the protocol's object, whose metadata are texts."""
        identifier = names.conversation_id(self.agent, self.address.thread_id)
        return {
            "id": identifier,
            "object": "conversation",
            "created_at": self._created_at(),
            "metadata": texts_of(metadata),
        }

    def _created_at(self) -> int:
        """Return the time in the id of a conversation that began here, else that of the first event that the log has.

        Where all events are trimmed it is that of the last one. Other ids look like those from here, so the time in one
        counts only where the first event came within a day of it.
        """
        thread_id, first = self.address.thread_id, self.events[0][1].at if self.events else self.head.changed_at
        began_at = int(thread_id[:_SECONDS_LENGTH], 16) if _begins_here(thread_id) else 0
        return began_at if self.head.position == 0 or abs(first - began_at) <= _DAY_SECONDS else int(first)


class ConversationVerbs:
    """The operations on conversations, in `verbs`."""

    def __init__(
        self,
        verbs: WireVerbs,
        threads: Threads,
        newest_threads: NewestThreads,
        large_reads: LargeReads,
        begins: BeginsThreads,
    ) -> None:
        self._plan, self._settings, self._log = verbs.plan, verbs.settings, verbs.log
        self._wire, self._threads, self._newest_threads, self._large_reads = verbs, threads, newest_threads, large_reads
        self._begins = begins
        self.verbs: Mapping[Route, Callable[[HttpRequest, Mapping[str, str]], Awaitable[Reply]]] = {
            names.LIST: self._list,
            names.BEGIN: self._begin,
            names.CONVERSATION: self._read,
            names.UPDATE: self._update,
            names.DELETE_CONVERSATION: self._delete,
            names.ITEMS: self._list_items,
            names.ADD_ITEMS: self._add_items,
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
        newest = await self._newest_threads(agent.name, ThreadQuery(MOST_CONVERSATIONS), request.caller)
        conversations = []
        for address, head in newest.threads if "type" not in query else ():
            conversation = await self._conversation(address, head, head.trimmed + 1)
            conversations.append(conversation.shown(head.metadata))
        has_more = newest.cursor is not None
        return json_reply(200, {"object": "list", "data": conversations, "has_more": has_more})

    async def _begin(self, request: HttpRequest, parts: Mapping[str, str]) -> Reply:
        """Before the first response only metadata and messages are written: the id has the time.

        Metadata that names the agent and has nothing else is not kept.
        """
        new = await request.parsed(lambda raw: parse_conversation(raw, self._plan, self._settings))
        agent, metadata = new.agent, new.metadata
        began_at = int(self._log.clocks.wall())
        thread_id = f"{began_at:08x}{new_id()[_SECONDS_LENGTH:]}"
        conversation = _Conversation(agent.name, Address.of(agent.name, thread_id, request.caller.owner), NEW, [])
        if new.messages:
            await self._begins.put(agent, conversation.address, NewMessages(new.messages), request.caller)
        if metadata.keys() <= _AGENT_NAMES:
            metadata = {}
        else:
            await self._begins.describe(conversation.address, metadata, request.caller.client)
        return json_reply(200, conversation.shown(metadata))

    async def _update(self, request: HttpRequest, parts: Mapping[str, str]) -> Reply:
        """Give the conversation other metadata: all of it, as the protocol has it."""
        metadata = await request.parsed(lambda raw: parse_metadata(raw, self._settings.max_body_bytes))
        conversation = await self._find(request, parts)
        await self._begins.describe(conversation.address, metadata, request.caller.client)
        return json_reply(200, conversation.shown(metadata))

    async def _read(self, request: HttpRequest, parts: Mapping[str, str]) -> Reply:
        conversation = await self._find(request, parts)
        return json_reply(200, conversation.shown(conversation.head.metadata))

    async def _delete(self, request: HttpRequest, parts: Mapping[str, str]) -> Reply:
        await self.delete(request, self._address(request, parts))
        return json_reply(200, {"id": parts["id"], "object": "conversation.deleted", "deleted": True})

    async def _list_items(self, request: HttpRequest, parts: Mapping[str, str]) -> Reply:
        async with self._large_reads.turn(request.caller.owner):
            return json_reply(200, page(await self._items(request, parts), request.query))

    async def _add_items(self, request: HttpRequest, parts: Mapping[str, str]) -> Reply:
        """Put messages in. The same items come again under the same key."""
        address = self._address(request, parts)
        agent = find_agent(self._plan, address.agent)
        new = await request.parsed(lambda raw: parse_items(raw, limits_of(agent, self._settings)))
        put = await self._begins.put(agent, address, new, request.caller)
        return json_reply(200, whole_list(items_of(put.id, new.messages)))

    async def _read_item(self, request: HttpRequest, parts: Mapping[str, str]) -> Reply:
        async with self._large_reads.turn(request.caller.owner):
            for item in await self._items(request, parts):
                if item["id"] == parts["item"]:
                    return json_reply(200, item)
        raise UnknownThreadError(f"The conversation has no item {parts['item'][:80]!r}.")

    async def _items(self, request: HttpRequest, parts: Mapping[str, str]) -> list[dict[str, Any]]:
        """Return the items of messages that were put in, and of runs that have an answer or may get one, by the log."""
        conversation, causes = await self._find(request, parts), self._wire.names_causes
        agent, address = conversation.agent, conversation.address
        folds = fold_runs(address, conversation.events, lambda run, _: ResponseFold(agent, run, names_causes=causes))
        items = {position: items_of(put.id, put.messages) for position, put in standing_puts(conversation.events)}
        for fold in folds.values():
            answering = folds.get(end.into) if isinstance(end := fold.run.end, Joined) else fold
            if answering is not None and isinstance(answering.run.end, Completed | None):
                items[fold.run.first] = [*input_items(fold.run), *fold.output()]
        return [item for _, group in sorted(items.items(), key=itemgetter(0)) for item in group]

    async def _find(self, request: HttpRequest, parts: Mapping[str, str]) -> _Conversation:
        """Return the conversation that a path names; raises `UnknownThreadError`."""
        address = self._address(request, parts)
        head = await self._log.head(address)
        if head.position > 0 or not _begins_here(address.thread_id):
            head = (await self._threads.view(address, request.caller.client)).head
        return await self._conversation(address, head, head.position)

    def _address(self, request: HttpRequest, parts: Mapping[str, str]) -> Address:
        return thread_of(self._plan, names.read_conversation_id(parts["id"]), request.caller.owner)

    async def _conversation(self, address: Address, head: Head, through: int) -> _Conversation:
        events = await self._log.events(address, head.trimmed, through=through) if head.position else []
        return _Conversation(find_agent(self._plan, address.agent).name, address, head, events)


def _begins_here(thread_id: str) -> bool:
    return len(thread_id) == len(new_id()) and all(digit in "0123456789abcdef" for digit in thread_id)
