"""The protocol's operations, by the verbs of the service.

A conversation is a thread, a response a run of it. Both are read from the thread's log alone.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing

from hosting.core.request.fields import read_truth
from hosting.core.thread.events import Joined, RunEvent
from hosting.core.thread.run import Run
from hosting.core.threads import Threads
from hosting.errors import HostingError, UnknownRunError
from hosting.features.responses import names
from hosting.features.responses.agents import READS, thread_of
from hosting.features.responses.conversations import ConversationVerbs
from hosting.features.responses.fold import ResponseFold, WireEvent, encoded
from hosting.features.responses.names import IdParts
from hosting.features.responses.objects import input_items
from hosting.features.responses.requests import Create, parse_create
from hosting.http.replies import Reply, Streamed, json_reply
from hosting.http.request import HttpRequest
from hosting.http.route import Route
from hosting.http.verbs import ContinuesRuns, KeepsFiles
from hosting.http.wire import WireVerbs
from hosting.http.wire_openai import NotServedError, find_agent
from hosting.http.wire_replies import framed, page, streamed, with_ignored
from hosting.http.wire_requests import path_parts
from hosting.http.wire_runs import Answers, cancel, forget, record_answers, run_events, waited_calls
from hosting.names import check_thread_id

_Answer = Reply | Streamed
_Verb = Callable[[HttpRequest, Mapping[str, str]], Awaitable[_Answer]]


class ResponsesVerbs:
    """The operations of an app's Responses wire."""

    def __init__(
        self,
        verbs: WireVerbs,
        threads: Threads,
        older_runs: ContinuesRuns,
        conversations: ConversationVerbs,
        files: KeepsFiles,
    ) -> None:
        self._plan, self._settings = verbs.plan, verbs.settings
        self._wire, self._runs, self._log = verbs, verbs.runs, verbs.log
        self._threads, self._older_runs, self._conversations, self._files = threads, older_runs, conversations, files
        self._verbs: Mapping[Route, _Verb] = {
            names.CREATE: self._create,
            names.RESPONSE: self._read,
            names.DELETE: self._delete,
            names.CANCEL: self._cancel,
            names.INPUT_ITEMS: self._list_input,
            **self._conversations.verbs,
        }

    async def reply(self, request: HttpRequest, path: str) -> _Answer:
        """Return the response of an operation; raises the errors of the service and `NotServedError`."""
        route, parts = request.route, path_parts(request.route, path) or {}
        if route in names.NOT_SERVED:
            raise NotServedError(names.NOT_SERVED[route])
        if route in READS:
            return json_reply(200, READS[route](self._plan, parts.get("id", "")))
        if route not in self._verbs:
            return await self._files.reply(request, path)
        return await self._verbs[route](request, parts)

    async def _create(self, request: HttpRequest, parts: Mapping[str, str]) -> _Answer:
        request = await self._files.inlined(request)
        create = await request.parsed(lambda raw: parse_create(raw, self._plan, self._settings))
        run = await (self._decide(request, create) if create.decisions else self._start(request, create))
        if create.streams:
            return with_ignored(self._streamed(request, run, -1), create.ignored)
        run = await self._runs.wait_as(create.start.wait, run, request.caller.client)
        return with_ignored(await self._shown(request, run), create.ignored)

    async def _start(self, request: HttpRequest, create: Create) -> Run:
        agent, start, caller = create.agent, create.start, request.caller
        if create.conversation is not None:
            check_thread_id(create.conversation.thread_id, agent.name, caller.owner)
        if create.previous is None:
            return (await self._runs.start(agent.name, start, caller)).run
        previous = await self._find(request, create.previous)
        while isinstance(previous.end, Joined):
            previous = await self._runs.find(previous.address, previous.end.into, caller.client)
        return await self._older_runs.continued(previous, agent, start, caller, scope=names.FUNCTION)

    async def _decide(self, request: HttpRequest, create: Create) -> Run:
        """Record the decisions, which must be on all that the thread waits for, and return the run that goes on."""
        place, start = create.waiting, create.start
        assert place is not None
        address = place.address(request.caller.owner)
        waiting = await self._wire.approvals.waiting(address)
        decisions = {decision.id: decision for decision in create.decisions}
        undecided = () if waiting is None else waiting.undecided
        if missing := [approval.tool for approval in undecided if approval.id not in decisions]:
            raise NotServedError(f"The answer on {', '.join(missing)} is missing. Send all answers together.", "input")
        waited = {} if waiting is None else waited_calls(waiting)
        approved = {call_id: name for call_id, name in waited.items() if name in decisions and decisions[name].approved}
        wire = {**(start.wire or {}), "approved": approved}
        answers = Answers(decisions.values(), start.wait, start.streams, wire)
        unfinished = NotServedError("These answers are recorded; the thread waits for others. Send those.", "input")
        _, resumed = await record_answers(self._wire, request, address, answers, unfinished)
        return resumed

    async def _read(self, request: HttpRequest, parts: Mapping[str, str]) -> _Answer:
        after = int(names.STARTING_AFTER.read(request.query) or "-1")
        streams = read_truth("stream", request.query.get("stream", "false"))
        run = await self._find(request, names.read_response_id(parts["id"]))
        if streams:
            return self._streamed(request, run, after)
        return await self._shown(request, run)

    async def _cancel(self, request: HttpRequest, parts: Mapping[str, str]) -> Reply:
        reference = names.read_response_id(parts["id"])
        address = reference.address(request.caller.owner)
        run = await cancel(self._wire, address, reference.run_id, request.caller.client)
        return await self._shown(request, run)

    async def _delete(self, request: HttpRequest, parts: Mapping[str, str]) -> Reply:
        reference = names.read_response_id(parts["id"])
        run = await self._find(request, reference)
        if len((await self._threads.runs(run.address, 2, request.caller.client))[1]) > 1:
            conversation = names.conversation_id(reference.agent, reference.thread_id)
            raise NotServedError(f"The response is part of a conversation. Delete that: conversations/{conversation}.")
        await self._conversations.delete(request, run.address)
        return json_reply(200, {"id": parts["id"], "object": "response", "deleted": True})

    async def _list_input(self, request: HttpRequest, parts: Mapping[str, str]) -> Reply:
        run = await self._find(request, names.read_response_id(parts["id"]))
        return json_reply(200, page(input_items(run), request.query))

    async def _find(self, request: HttpRequest, reference: IdParts) -> Run:
        address = thread_of(self._plan, reference, request.caller.owner)
        try:
            return await self._runs.find(address, reference.run_id, request.caller.client)
        except UnknownRunError as error:
            raise UnknownRunError("The response does not exist, or is older than the log.") from error

    def _fold(self, run: Run) -> ResponseFold:
        agent = find_agent(self._plan, run.accepted.agent)
        return ResponseFold(agent.name, run, names_causes=self._wire.names_causes)

    async def _shown(self, request: HttpRequest, run: Run) -> Reply:
        """Return the response from its log; an ended response that is not stored is deleted with that."""
        fold = self._fold(run)
        for logged in await run_events(self._log, run, "response"):
            if isinstance(logged.event, RunEvent) and logged.event.run_id == run.run_id:
                fold.next(logged)
        await forget(self._threads, fold.run, request.caller.client)
        return json_reply(200, fold.response())

    def _streamed(self, request: HttpRequest, run: Run, after: int) -> Streamed:
        """Return the events after that number up to the run's end, deltas as they come."""
        fold, number = self._fold(run), after

        async def batches() -> AsyncGenerator[list[WireEvent], None]:
            nonlocal number
            async with aclosing(self._wire.following.follow(run, request.caller.client)) as lists:
                async for updates in lists:
                    events = [event for update in updates for event in fold.next(update)]
                    sent = [rest for event in events if (rest := event.after(after)) is not None]
                    number = sent[-1].number if sent else number
                    yield sent
            await forget(self._threads, fold.run, request.caller.client)

        def broken(error: HostingError) -> list[WireEvent]:
            fields = {"code": error.code, "message": error.detail, "param": None}
            return [WireEvent(number + 1, "error", fields)]

        return streamed(framed(f"run {run.run_id}", batches(), broken, "Resume it.", encoded))
