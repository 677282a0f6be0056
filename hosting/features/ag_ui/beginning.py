"""How a client's request becomes a run: with a next message, or from before a repeated message.

Theory. Mostly a client has just what the thread has: all that it had at its last request, with that run's messages.
The newest run's events show it, and nothing else is read. Otherwise all events of the thread are. What is seen there is
named in the append that accepts the run, and where the thread has gone on meanwhile, it is looked at again.

What the thread has before the run is certain once those before it have ended, which its first claim says. So a client
that may have something else gets it then.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hosting.core.archiving import Archiver
from hosting.core.thread.commands import Continuation
from hosting.core.thread.events import Accepted, Completed, Event, Terminal
from hosting.core.thread.head import NEW, Head
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import RunRequest, StartRun
from hosting.core.threads import Threads
from hosting.errors import IdempotencyKeyReusedError, RunNotNewestError
from hosting.features.ag_ui.agreement import LoggedThread, Turn, turns_of, wire_fields
from hosting.features.ag_ui.messages import conversation_mark, mark, older_messages, put_messages
from hosting.features.ag_ui.requests import RunInput
from hosting.http.request import HttpRequest
from hosting.http.rewinding import Rewinding
from hosting.http.wire import WireVerbs
from hosting.http.wire_runs import standing_puts
from hosting.names import Address
from hosting.plan import AgentPlan
from hosting.ports import Wait
from hosting.shared_state import text_in
from state.conversation import session_state
from state.extension import host_of

_TRIES = 3


class Begun(Struct, frozen=True):
    """A run and its client's request. `is_restated`: the client gets all messages as the thread has them.

    `before` is the end of the run before it, where that is known without another look at the thread.
    """

    run: Run
    run_input: RunInput
    agrees: bool = False
    is_restated: bool = False
    before: Terminal | None = None


class _Plan(Struct, frozen=True):
    """How a request continues its thread: with these messages, if the thread is as it was seen."""

    run_input: RunInput
    continues: Continuation | None
    agrees: bool = False
    is_restated: bool = False
    before: Terminal | None = None


class Beginning:
    """Begins the runs of the wire."""

    def __init__(self, verbs: WireVerbs, threads: Threads, archiver: Archiver) -> None:
        self._runs, self._log, self._names_causes = verbs.runs, verbs.log, verbs.names_causes
        self._threads, self._rewinding = threads, Rewinding(archiver)

    async def begin(self, request: HttpRequest, agent: AgentPlan, run_input: RunInput) -> Begun:
        """Return the run, begun or found: the client's id of a run is its key.

        Raises `RunNotNewestError` for a message asked again that the thread cannot go on from, and as `Runs.start`.
        """
        address = Address.of(agent.name, run_input.thread_id, request.caller.owner)
        is_limited = True
        if (known := await self._head_if_known(address, run_input)) is not None:
            head, before = known
            with suppress(RunNotNewestError):
                plan = _Plan(run_input, Continuation.of(head), agrees=True, before=before)
                return await self._start(request, agent, plan)
            is_limited = False  # it was counted where it was refused
        for left in reversed(range(_TRIES)):
            plan = await self._plan(request, agent, address, run_input)
            if not left and not plan.is_restated:
                plan = replace(plan, continues=None, agrees=False)
            try:
                return await self._start(request, agent, plan, is_limited=is_limited)
            except RunNotNewestError:
                if not left:
                    raise
            is_limited = False
        raise AssertionError("the last try returns or raises")

    async def _plan(self, request: HttpRequest, agent: AgentPlan, address: Address, run_input: RunInput) -> _Plan:
        """Return how the request continues the thread as it is now; raises as `begin` does."""
        head, history = await self._history(address, request)
        if (own := history.own(run_input.run_id)) is not None:
            return _Plan(run_input.without_first(max(0, len(run_input.fresh) - len(own.asked))), None)
        taken_back, count = history.asked_again(run_input) if agent.workflow is None else ([], 0)
        before = taken_back[0].run.first if taken_back else None
        agrees = not count and not head.runs and history.agrees(run_input.past, before)
        if not taken_back:
            return _Plan(run_input.without_first(count), Continuation.of(head), agrees)
        if not all(turn.is_of_wire for turn in taken_back):
            raise RunNotNewestError(
                "Messages after that one came from another route and cannot be replaced. Continue from the newest "
                "message, or fork the thread."
            )
        answered = [turn.run.run_id for turn in taken_back if turn.is_kept]
        now, first = self._log.clocks.wall(), taken_back[0].run.run_id
        view = await self._threads.view(address, request.caller.client)
        rewound = self._rewinding.before(view, first, answered, now)
        return _Plan(run_input, Continuation.of(head, rewound), agrees, is_restated=True)

    async def _start(self, request: HttpRequest, agent: AgentPlan, plan: _Plan, *, is_limited: bool = True) -> Begun:
        run_input = plan.run_input
        *earlier, last = run_input.messages
        start = StartRun(
            RunRequest(
                **{**last.model_dump(), **run_input.chosen.members},
                earlier=tuple(earlier),
                client_tools=run_input.tools,
                page_context=run_input.context,
                state=run_input.state,
            ),
            run_input.thread_id,
            Wait(math.inf),
            run_input.run_id,
            run_input.traceparent,
            streams=True,
            wire=wire_fields(run_input, agreed=plan.agrees),
            busy=agent.options.busy,
        )
        try:
            started = await self._runs.start(
                agent.name, start, request.caller, is_limited=is_limited, continues=plan.continues
            )
        except IdempotencyKeyReusedError:
            raise IdempotencyKeyReusedError("runId was used for another run of this thread. Send a new id.") from None
        is_new = not started.replayed
        return Begun(
            started.run, run_input, is_new and plan.agrees, is_new and plan.is_restated, plan.before if is_new else None
        )

    async def _head_if_known(self, address: Address, run_input: RunInput) -> tuple[Head, Terminal | None] | None:
        """Return the head of a thread of which the client has all, and its newest end; None where that is not sure.

        It may be an older one, which the append then shows.
        """
        head = self._log.remembered(address)
        if not run_input.past:
            is_new = head is None or head.position == 0 or head.state == "deleted"
            return (head or NEW, None) if is_new else None
        head = head or await self._log.head(address)
        if head.state != "open" or head.runs or head.newest <= head.trimmed or head.put > head.newest:
            return None
        newest = self._turns(address, await self._log.events(address, head.newest - 1, head))
        return (head, newest[-1].run.end) if newest and _has_all_since(newest[-1], run_input) else None

    def _turns(self, address: Address, log: list[tuple[int, Event]]) -> list[Turn]:
        return turns_of(address, log, names_causes=self._names_causes)

    async def _history(self, address: Address, request: HttpRequest) -> tuple[Head, LoggedThread]:
        """Return the thread as it is now: its log, and before that its document."""
        head = await self._log.head(address)
        if head.position == 0 or head.state == "deleted":
            return head, LoggedThread((), (), is_whole=True)
        log = await self._log.events(address, head.trimmed, head)
        turns = self._turns(address, log)
        puts = standing_puts(log)
        shown = [(position, put_messages(put)) for position, put in puts]
        if not head.trimmed and head.imported is None:
            return head, LoggedThread((), turns, is_whole=True, puts=shown)
        conversation = (await self._threads.view(address, request.caller.client)).conversation
        logged = {event.run_id for _, event in log if isinstance(event, Accepted)} | {put.id for _, put in puts}
        is_whole = not host_of(conversation).archived.entries
        return head, LoggedThread(older_messages(conversation, logged), turns, is_whole, shown)

    async def state_before(self, begun: Begun, request: HttpRequest) -> str | None:
        """Return the shared state with which the run begins, as JSON text; its first claim says that it is certain."""
        brought = begun.run.accepted.request.state
        if brought is not None:
            return brought
        if isinstance(begun.before, Completed):
            return text_in(begun.before.session)
        if begun.agrees and not begun.run_input.past:  # the thread has nothing
            return None
        view = await self._threads.view(begun.run.address, request.caller.client)
        return text_in(session_state(view.conversation))

    async def history_before(self, begun: Begun, request: HttpRequest) -> list[Mapping[str, Any]] | None:
        """Return all messages before the run, and those that it was asked; None where its client has just these."""
        if begun.agrees and not begun.is_restated:
            return None
        run_input, run = begun.run_input, begun.run
        _, history = await self._history(run.address, request)
        if not begun.is_restated and history.agrees(run_input.past, run.first):
            return None
        messages, _ = history.messages(run.first, {message["id"] for message in run_input.fresh})
        return [*messages, *run_input.fresh]


def _has_all_since(newest: Turn, run_input: RunInput) -> bool:
    """Return whether the client has all of the newest run, and before it the history of that run's request."""
    names = enumerate(message["id"] for message in run_input.past)
    first = next((number for number, name in names if name.startswith(newest.prefix)), None)
    if first is None or not newest.is_kept or newest.run.accepted.key == run_input.run_id:
        return False
    shown = [*map(mark, newest.shown)]
    return conversation_mark(run_input.past[:first]) == newest.page and [*map(mark, run_input.past[first:])] == shown
