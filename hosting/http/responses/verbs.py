"""What the protocol's operations do, by the verbs of the service.

A conversation is a thread, a response a run of it. Both are read from the thread's log alone.
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing, suppress
from dataclasses import replace
from typing import Any

from hosting.errors import (
    HostingError,
    InternalError,
    InvalidFieldError,
    ThreadDeletingError,
    UnknownAgentError,
    UnknownRunError,
    UnknownThreadError,
)
from hosting.http.replies import Reply, Streamed, json_reply
from hosting.http.responses import names
from hosting.http.responses.fold import ResponseFold, WireEvent
from hosting.http.responses.names import Named, NotServedError
from hosting.http.responses.objects import conversation_object, input_items, model_object, page
from hosting.http.responses.requests import Create, body_fields, parse_create, read_metadata
from hosting.http.route import Route
from hosting.http.streams import PING
from hosting.http.wire import WireRequest
from hosting.names import Address, check_thread_id, new_id
from hosting.plan import AgentPlan, Plan
from hosting.ports import EntityClient
from hosting.request.contents import Limits, limits_of
from hosting.request.run_call import RawRequest
from hosting.service.broadcast import LoggedEvent
from hosting.service.runs import SHORT_WAIT_SECONDS
from hosting.service.services import Services
from hosting.stores.contract import MOST_POSITION
from hosting.thread.events import Accepted, Completed, Reset, RunEvent, Terminal
from hosting.thread.run import Run

logger = logging.getLogger(__name__)

CANCEL_SECONDS = 5.0
"""How long a cancel waits for the run's end."""

_SECONDS_LENGTH = 8
"""Hexadecimal digits with which the id of a conversation that begins here says when."""

_Answer = Reply | Streamed
_Verb = Callable[[WireRequest, Mapping[str, str]], Awaitable[_Answer]]


class ResponsesWire:
    """The wire of one app."""

    function = names.FUNCTION
    path = names.PATH

    def __init__(self, plan: Plan, services: Services) -> None:
        self._plan = plan
        self._services = services
        self._settings = services.settings
        self._runs = services.runs
        self._verbs: dict[Route, _Verb] = {
            names.MODELS: self._list_models,
            names.MODEL: self._read_model,
            names.CREATE: self._create,
            names.RESPONSE: self._read,
            names.DELETE: self._delete,
            names.CANCEL: self._cancel,
            names.INPUT_ITEMS: self._list_input,
            names.BEGIN: self._begin,
            names.CONVERSATION: self._read_conversation,
            names.DELETE_CONVERSATION: self._delete_conversation,
            names.ITEMS: self._list_items,
            names.ITEM: self._read_item,
        }

    def route_of(self, method: str, path: str) -> Route:
        """Return the operation; see `names.operation_of`."""
        return names.operation_of(method, path)

    def refusal(self, error: HostingError) -> Reply:
        """Return an error in the protocol's shape."""
        return names.refusal(error)

    async def reply(self, request: WireRequest, path: str) -> _Answer:
        """Return the answer of an operation; raises what the service raises, and `NotServedError`."""
        verb = self._verbs.get(request.route)
        if verb is None:
            raise NotServedError(_NOT_SERVED[request.route])
        return await verb(request, names.parts_of(request.route, path) or {})

    async def _list_models(self, request: WireRequest, parts: Mapping[str, str]) -> Reply:
        agents = [model_object(agent.name) for agent in self._plan.agents.values() if agent.http]
        return json_reply(200, {"object": "list", "data": agents})

    async def _read_model(self, request: WireRequest, parts: Mapping[str, str]) -> Reply:
        return json_reply(200, model_object(self._agent(parts["id"]).name))

    async def _create(self, request: WireRequest, parts: Mapping[str, str]) -> _Answer:
        wanted = await request.parsed(lambda raw: parse_create(raw, self._known, self._settings.max_body_bytes))
        run = await (self._decide(request, wanted) if wanted.decisions else self._start(request, wanted))
        if wanted.streams:
            return self._streamed(run, request.client, -1, forgets=not wanted.stores)
        run = await self._runs.wait_as(wanted.start.wait, run, request.client)
        reply = await self._shown(run)
        if not wanted.stores and run.certain_end is not None:
            await self._forget(run, request.client)
        return reply

    async def _start(self, request: WireRequest, wanted: Create) -> Run:
        start = wanted.start
        if wanted.conversation is not None:
            check_thread_id(wanted.conversation.thread_id, wanted.agent, request.caller.owner)
        if wanted.previous is not None:
            before = await self._find(request, wanted.previous)
            start = replace(start, follows=before.first)
        return (await self._runs.start(wanted.agent, start, request.client, request.caller)).run

    async def _decide(self, request: WireRequest, wanted: Create) -> Run:
        """Record the decisions, which must be on all that the thread waits for, and return the run that goes on."""
        approvals, place = self._services.approvals, wanted.previous or wanted.conversation
        assert place is not None
        address = place.address(request.caller.owner)
        waiting = await approvals.waiting(address)
        decided = {decision.id: decision for decision in wanted.decisions}
        missing = [] if waiting is None else [one.tool for one in waiting.undecided if one.id not in decided]
        if missing:
            raise NotServedError(f"The answer on {', '.join(missing)} is missing. Send all answers together.", "input")
        requested = {} if waiting is None else {one.id: one for one in waiting.requested_approvals}
        approved = [requested[name].model_dump() for name, one in decided.items() if one.approved and name in requested]
        calls = {} if waiting is None else _calls(waiting.terminal)
        wire = {**(wanted.start.wire or {}), "approved": approved, "calls": calls}
        resumed = None
        for decision in decided.values():
            answered = await approvals.answer(
                address,
                decision,
                request.client,
                request.caller,
                waits=self._runs.wait_seconds(wanted.start.wait, wanted.start.form) > SHORT_WAIT_SECONDS,
                streamed=wanted.start.streams,
                wire=wire,
            )
            resumed = answered.resumed or resumed
        if resumed is None:
            raise NotServedError("These answers are recorded; the thread waits for others. Send those.", "input")
        return resumed

    async def _read(self, request: WireRequest, parts: Mapping[str, str]) -> _Answer:
        query = request.query
        after = query.get("starting_after", "-1")
        if not after.removeprefix("-").isdigit() or not after.isascii() or len(after) > 17:
            raise InvalidFieldError(f"The query 'starting_after' is {after[:80]!r}. Send a sequence_number.")
        run = await self._find(request, names.read_response_id(parts["id"]))
        if query.get("stream", "false").lower() in ("true", "1"):
            return self._streamed(run, request.client, int(after))
        return await self._shown(run)

    async def _cancel(self, request: WireRequest, parts: Mapping[str, str]) -> Reply:
        named = names.read_response_id(parts["id"])
        run = await self._runs.cancel(named.address(request.caller.owner), named.run_id, request.client)
        seconds = min(CANCEL_SECONDS, self._settings.wait_seconds)
        return await self._shown(await self._runs.wait(run, request.client, seconds, takes=False))

    async def _delete(self, request: WireRequest, parts: Mapping[str, str]) -> Reply:
        named = names.read_response_id(parts["id"])
        run = await self._find(request, named)
        if len(await self._services.threads.runs(run.address, 2, request.client)) > 1:
            conversation = names.conversation_id(named.agent, named.thread_id)
            raise NotServedError(f"The response is part of a conversation. Delete that: conversations/{conversation}.")
        await self._delete_thread(run.address, request.client)
        return json_reply(200, {"id": parts["id"], "object": "response", "deleted": True})

    async def _list_input(self, request: WireRequest, parts: Mapping[str, str]) -> Reply:
        run = await self._find(request, names.read_response_id(parts["id"]))
        return json_reply(200, page(input_items(run), request.query))

    async def _begin(self, request: WireRequest, parts: Mapping[str, str]) -> Reply:
        """Nothing is written before the first response: the id says whose conversation it is, and since when."""

        def parse(raw: RawRequest) -> dict[str, Any]:
            return body_fields(raw, frozenset(("items", "metadata")), self._settings.max_body_bytes)

        fields = await request.parsed(parse)
        if fields.get("items"):
            raise NotServedError(_NOT_SERVED[names.ADD_ITEMS], "items")
        metadata = read_metadata(fields.get("metadata"))
        agent = self._agent(metadata.get("agent_id") or metadata.get("entity_id"))
        if unkept := metadata.keys() - {"agent_id", "entity_id"}:
            raise NotServedError(f"{_NOT_SERVED[names.UPDATE]} Leave out {min(unkept)[:80]!r}.", "metadata")
        now = int(time.time())
        thread_id = f"{now:08x}{new_id()[_SECONDS_LENGTH:]}"
        return json_reply(200, conversation_object(agent.name, thread_id, now))

    async def _read_conversation(self, request: WireRequest, parts: Mapping[str, str]) -> Reply:
        named = names.read_conversation_id(parts["id"])
        folds, _ = await self._conversation(request, named)
        accepted = next((fold.run.accepted for fold in folds if fold.run is not None), None)
        created_at = int(named.thread_id[:_SECONDS_LENGTH], 16) if accepted is None else int(accepted.at)
        return json_reply(200, conversation_object(self._agent(named.agent).name, named.thread_id, created_at))

    async def _delete_conversation(self, request: WireRequest, parts: Mapping[str, str]) -> Reply:
        named = names.read_conversation_id(parts["id"])
        await self._delete_thread(self._address(request, named), request.client)
        return json_reply(200, {"id": parts["id"], "object": "conversation.deleted", "deleted": True})

    async def _list_items(self, request: WireRequest, parts: Mapping[str, str]) -> Reply:
        _, items = await self._conversation(request, names.read_conversation_id(parts["id"]))
        return json_reply(200, page(items, request.query))

    async def _read_item(self, request: WireRequest, parts: Mapping[str, str]) -> Reply:
        _, items = await self._conversation(request, names.read_conversation_id(parts["id"]))
        for item in items:
            if item["id"] == parts["item"]:
                return json_reply(200, item)
        raise UnknownThreadError(f"The conversation has no item {parts['item'][:80]!r}.")

    async def _conversation(
        self, request: WireRequest, named: Named
    ) -> tuple[list[ResponseFold], list[dict[str, Any]]]:
        """Return the runs that the log has, and the items of those that have an answer or may get one.

        A conversation that began here is empty before its first response. Raises `UnknownThreadError`.
        """
        address, agent = self._address(request, named), self._agent(named.agent).name
        head = await self._services.log.head(address)
        if head.position == 0 and _begins_here(named.thread_id):
            return [], []
        view = await self._services.threads.view(address, request.client)
        log = await self._services.log.events(address, view.head.trimmed, through=view.head.position)
        folds: dict[str, ResponseFold] = {}
        for position, event in log:
            if isinstance(event, Reset):
                folds.clear()
            elif isinstance(event, RunEvent):
                if isinstance(event, Accepted):
                    folds[event.run_id] = ResponseFold(agent, address)
                if event.run_id in folds:
                    folds[event.run_id].next(LoggedEvent(position, event))
        items = []
        for fold in folds.values():
            assert fold.run is not None
            if fold.run.certain_end is None or isinstance(fold.run.certain_end, Completed):
                items += [*input_items(fold.run), *fold.output()]
        return list(folds.values()), items

    async def _find(self, request: WireRequest, named: Named) -> Run:
        try:
            return await self._runs.find(self._address(request, named), named.run_id, request.client)
        except UnknownRunError as error:
            raise UnknownRunError("There is no such response, or it is older than the log.") from error

    async def _shown(self, run: Run) -> Reply:
        """Return the response as its log has it."""
        fold = ResponseFold(self._agent(run.accepted.agent).name, run.address)
        through = run.end or MOST_POSITION
        for position, event in await self._services.log.events(run.address, run.first - 1, through=through):
            if isinstance(event, RunEvent) and event.run_id == run.run_id:
                fold.next(LoggedEvent(position, event))
        if fold.run is None:
            raise UnknownRunError("There is no such response any more.")
        return json_reply(200, fold.response())

    def _streamed(self, run: Run, client: EntityClient, after: int, *, forgets: bool = False) -> Streamed:
        return Streamed(self._events(run, client, after, forgets=forgets), {"x-accel-buffering": "no"})

    async def _events(
        self, run: Run, client: EntityClient, after: int, *, forgets: bool
    ) -> AsyncGenerator[bytes, None]:
        """Yield the events after that number up to the run's end, deltas as they come."""
        fold, number = ResponseFold(self._agent(run.accepted.agent).name, run.address), after
        try:
            async with aclosing(self._services.following.follow(run, client)) as lists:
                async for updates in lists:
                    events = [event.after(after) for update in updates for event in fold.next(update)]
                    sent = [event for event in events if event is not None]
                    number = sent[-1].number if sent else number
                    if sent or not updates:
                        yield b"".join(event.encode() for event in sent) or PING
        except HostingError as error:
            yield _broken(error, number)
        except Exception:
            logger.exception("The stream of run %s failed.", run.run_id)
            yield _broken(InternalError("The stream broke off; the cause is in the app's log. Resume it."), number)
        if forgets:
            await self._forget(run, client)

    async def _forget(self, run: Run, client: EntityClient) -> None:
        """Have the thread of a response deleted that is not to be stored; whoever has the answer waits for no more."""
        with suppress(HostingError):
            await self._services.threads.delete(run.address, client, 0.0)

    async def _delete_thread(self, address: Address, client: EntityClient) -> None:
        if not await self._services.threads.delete(address, client, self._settings.wait_seconds):
            raise ThreadDeletingError("The deletion is under way. Ask again in a moment.")

    def _address(self, request: WireRequest, named: Named) -> Address:
        self._agent(named.agent)
        return named.address(request.caller.owner)

    def _agent(self, name: str | None) -> AgentPlan:
        """Return the agent of that name, or the only one; raises `UnknownAgentError`."""
        if name is not None:
            return self._plan.served(name)
        agents = [agent for agent in self._plan.agents.values() if agent.http]
        if len(agents) != 1:
            known = ", ".join(agent.name for agent in agents) or "none"
            raise UnknownAgentError(f"Name the agent: as 'model'. Agents: {known}.")
        return agents[0]

    def _known(self, name: str | None) -> tuple[str, Limits]:
        planned = self._agent(name)
        return planned.name, limits_of(planned.agent, self._settings)


_NOT_SERVED = {
    names.UPDATE: "The metadata of a conversation is not kept.",
    names.ADD_ITEMS: "Items come into a conversation by responses. Send them as the input of one.",
    names.DELETE_ITEM: "Single items are not deleted. Delete the conversation.",
}


def _calls(end: Terminal | None) -> dict[str, Any]:
    """Return what each tool call of an answer is called with, by the model's id of it."""
    messages = end.entry.get("messages", ()) if end is not None else ()
    contents = (content for message in messages for content in message.get("contents", ()))
    return {
        content["callId"]: content.get("arguments") for content in contents if content.get("$type") == "functionCall"
    }


def _begins_here(thread_id: str) -> bool:
    return len(thread_id) == len(new_id()) and all(digit in "0123456789abcdef" for digit in thread_id)


def _broken(error: HostingError, number: int) -> bytes:
    fields = {"code": error.code, "message": error.detail, "param": None}
    return WireEvent(number + 1, "error", fields).encode()
