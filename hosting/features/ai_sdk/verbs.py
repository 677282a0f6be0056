"""The protocol's operations: send a message or answers, follow the open run, read the chat."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import NamedTuple

from hosting.core.archiving import Archiver
from hosting.core.request.contents import limits_of
from hosting.core.thread.commands import Continuation
from hosting.core.thread.events import Event, Joined
from hosting.core.thread.head import Head
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import RunRequest, StartRun
from hosting.core.threads import Threads
from hosting.errors import RunNotNewestError, UnknownThreadError
from hosting.features.ai_sdk import names
from hosting.features.ai_sdk.fold import AnswerFold, Chunk
from hosting.features.ai_sdk.messages import FoldedRun, chat_messages, entry_messages, folded_runs
from hosting.features.ai_sdk.requests import ChatRequest, parse_chat
from hosting.http.replies import Reply, Streamed, json_reply, run_headers
from hosting.http.request import HttpRequest
from hosting.http.rewinding import Rewinding
from hosting.http.wire import WireVerbs
from hosting.http.wire_replies import framed, streamed, with_ignored
from hosting.http.wire_requests import path_parts
from hosting.http.wire_runs import Answers, is_kept, record_answers, standing_puts, waited_calls
from hosting.names import Address, check_thread_id
from hosting.plan import AgentPlan
from hosting.ports import Wait

_LAST = b"data: [DONE]\n\n"
_VERSION = {"x-vercel-ai-ui-message-stream": "v1"}
_TRIES = 3


class _Begun(NamedTuple):
    """A run that a request began or goes on with, and the chunks of its message before it."""

    fold: AnswerFold
    before: Sequence[Chunk] = ()


class AiSdkVerbs:
    """The operations of an app's AI SDK wire."""

    def __init__(self, verbs: WireVerbs, threads: Threads, archiver: Archiver) -> None:
        self._wire = verbs
        self._threads, self._rewinding = threads, Rewinding(archiver)

    async def reply(self, request: HttpRequest, path: str) -> Reply | Streamed:
        """Return the answer of an operation; raises the errors of the core and `UnservedMessageError`."""
        route = request.route
        parts = path_parts(route, path) or {}
        agent, owner = self._wire.plan.served(parts["name"]), request.caller.owner
        if route is names.SEND:
            limits = limits_of(agent, self._wire.settings)
            chat = await request.parsed(lambda raw: parse_chat(raw, agent.name, limits, owner))
            begun = await (self._decide(request, agent, chat) if chat.decisions else self._begin(request, agent, chat))
            return with_ignored(self._streamed(request, begun), chat.chosen.ignored)
        address = Address.of(agent.name, check_thread_id(parts["id"], agent.name, owner), owner)
        if route is names.MESSAGES:
            return json_reply(200, {"messages": await self._messages(request, address)})
        runs = await self._logged(address)
        if not runs or runs[-1].run.end is not None:
            return Reply(204, "", None)
        *earlier, newest = runs[-1].chain()
        fold = AnswerFold(newest.run, newest.message_id, newest.waited, names_causes=self._wire.names_causes)
        return self._streamed(request, _Begun(fold, [chunk for run in earlier for chunk in run.shown]))

    async def _begin(self, request: HttpRequest, agent: AgentPlan, chat: ChatRequest) -> _Begun:
        """Return the run of a message, begun or found: the client's id of a new message is its key."""
        for left in reversed(range(_TRIES if chat.is_again else 1)):
            continues = await self._continues(request, agent, chat) if chat.is_again else None
            try:
                run = await self._start(request, agent, chat, continues, is_limited=left == _TRIES - 1 or not continues)
            except RunNotNewestError:
                if not left:
                    raise
            else:
                return _Begun(self._fold(run))
        raise AssertionError("the last try returns or raises")

    async def _start(
        self,
        request: HttpRequest,
        agent: AgentPlan,
        chat: ChatRequest,
        continues: Continuation | None,
        *,
        is_limited: bool,
    ) -> Run:
        assert chat.message is not None
        start = StartRun(
            RunRequest(**{**chat.message.model_dump(), **chat.chosen.members}, client_tools=chat.client_tools),
            chat.thread_id,
            Wait(math.inf),
            None if chat.is_again else chat.message_id,
            chat.traceparent,
            streams=True,
            wire={"message_id": chat.message_id},
            busy=agent.options.busy,
        )
        runs = self._wire.runs
        return (await runs.start(agent.name, start, request.caller, is_limited=is_limited, continues=continues)).run

    async def _continues(self, request: HttpRequest, agent: AgentPlan, chat: ChatRequest) -> Continuation | None:
        """Return how the thread goes on from before the run of that message; None if it never had one.

        Raises `RunNotNewestError` where that run, or one after it, cannot be taken back.
        """
        address = Address.of(agent.name, chat.thread_id, request.caller.owner)
        head = await self._wire.log.head(address)
        if not _is_there(head):
            return None
        runs = [fold.run for fold in await self._logged(address, head)]
        asked = (run for run in reversed(runs) if (run.accepted.wire or {}).get("message_id") == chat.message_id)
        if (first := next(asked, None)) is None:
            raise RunNotNewestError(
                f"The thread has no message {chat.message_id!r} that can be asked again. Send a new message."
            )
        view = await self._threads.view(address, request.caller.client)
        answered = [run.run_id for run in runs if run.first >= first.first and is_kept(run)]
        event = self._rewinding.before(view, first.run_id, answered, self._wire.log.clocks.wall())
        return Continuation.of(head, event)

    async def _decide(self, request: HttpRequest, agent: AgentPlan, chat: ChatRequest) -> _Begun:
        """Record the answers, which must be to all that the thread waits for, and return the run that goes on."""
        address = Address.of(agent.name, chat.thread_id, request.caller.owner)
        waiting = await self._wire.approvals.waiting(address)
        undecided = {} if waiting is None else {approval.id: approval.tool for approval in waiting.undecided}
        if missing := undecided.keys() - {decision.id for decision in chat.decisions}:
            tools = ", ".join(sorted(undecided[name] for name in missing))
            raise names.UnservedMessageError(f"The answer on {tools} is missing. Send all answers together.")
        # The first that is open may be the last one missing: what is recorded already is compared before it.
        decisions = sorted(chat.decisions, key=lambda decision: decision.id in undecided)
        answers = Answers(decisions, Wait(math.inf), streamed=True)
        unfinished = names.UnservedMessageError("These answers are recorded; the thread waits for others. Send those.")
        requested, resumed = await record_answers(self._wire, request, address, answers, unfinished)
        fold = AnswerFold(resumed, chat.message_id, waited_calls(requested), names_causes=self._wire.names_causes)
        return _Begun(fold)

    def _fold(self, run: Run) -> AnswerFold:
        return AnswerFold(run, run.run_id, {}, names_causes=self._wire.names_causes)

    async def _logged(self, address: Address, head: Head | None = None) -> list[FoldedRun]:
        """Return the runs that the log has up to this head, the oldest first."""
        return folded_runs(address, await self._events(address, head), names_causes=self._wire.names_causes)

    async def _events(self, address: Address, head: Head | None = None) -> list[tuple[int, Event]]:
        """Return the events that the log has up to this head; none of a thread that is not there."""
        head = head or await self._wire.log.head(address)
        return await self._wire.log.events(address, head.trimmed, head) if _is_there(head) else []

    async def _messages(self, request: HttpRequest, address: Address) -> list[dict[str, object]]:
        """Return the messages that the thread has, the oldest first; none of one that nobody has begun."""
        try:
            view = await self._threads.view(address, request.caller.client)
        except UnknownThreadError:
            return []
        events = await self._events(address)
        puts = standing_puts(events)
        logged = {*(run.run_id for run in view.runs), *(put.id for _, put in puts)}
        runs = folded_runs(address, events, names_causes=self._wire.names_causes)
        return [*entry_messages(view.conversation, logged), *chat_messages(runs, puts)]

    def _streamed(self, request: HttpRequest, begun: _Begun) -> Streamed:
        """Return the chunks up to the run's end, text as it comes; those of the run that it joined, if it did."""
        wire, client, fold = self._wire, request.caller.client, begun.fold

        async def batches() -> AsyncGenerator[list[Chunk], None]:
            now = fold
            yield [*now.start(), *begun.before]
            while True:
                async with aclosing(wire.following.follow(now.run, client)) as lists:
                    async for updates in lists:
                        yield [chunk for update in updates for chunk in now.next(update)]
                if not isinstance(now.run.end, Joined):
                    break
                now = now.answered_by(await wire.runs.find(now.run.address, now.run.end.into, client))

        frames = framed(f"run {fold.run.run_id}", batches(), fold.broken, "Follow the run again.")
        return streamed(_ended(frames), {**run_headers(fold.run), **_VERSION})


def _is_there(head: Head) -> bool:
    """Return whether the thread has been begun, and is not deleted."""
    return head.position > 0 and head.state == "open"


async def _ended(frames: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """Yield the frames, and the one that says that the stream is whole."""
    async with aclosing(frames):
        async for frame in frames:
            yield frame
    yield _LAST
