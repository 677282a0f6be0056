"""The protocol's one operation: run an agent, or answer a run's interrupts, and follow it to the end."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing

from hosting.core.agent.held_run import read_run
from hosting.core.archiving import Archiver
from hosting.core.broadcast import LoggedEvent
from hosting.core.request.contents import limits_of
from hosting.core.thread.events import Claimed, Joined
from hosting.core.thread.run import Run
from hosting.core.threads import Threads
from hosting.features.ag_ui.beginning import Beginning, Begun
from hosting.features.ag_ui.fold import RunFold, WireEvent
from hosting.features.ag_ui.messages import Message, asked_messages
from hosting.features.ag_ui.names import UnservedInputError
from hosting.features.ag_ui.requests import RunInput, parse_input
from hosting.http.replies import Streamed, run_headers
from hosting.http.request import HttpRequest
from hosting.http.wire import WireVerbs
from hosting.http.wire_replies import framed, streamed, with_ignored
from hosting.http.wire_runs import Answers, record_answers, waited_calls
from hosting.names import Address
from hosting.page_context import takes_page_context
from hosting.plan import AgentPlan
from hosting.ports import Wait
from hosting.shared_state import takes_state


class AgUiVerbs:
    """The operation of an app's AG-UI wire."""

    def __init__(self, verbs: WireVerbs, threads: Threads, archiver: Archiver) -> None:
        self._wire = verbs
        self._beginning = Beginning(verbs, threads, archiver)

    async def reply(self, request: HttpRequest, path: str) -> Streamed:
        """Return a run's events up to its end; raises the errors of the core and `UnservedInputError`."""
        agent = self._wire.plan.served(path.rstrip("/"))
        limits, owner = limits_of(agent, self._wire.settings), request.caller.owner
        run_input = await request.parsed(lambda raw: parse_input(raw, agent.name, limits, owner))
        for field, takes in (("context", takes_page_context), ("state", takes_state)):
            if getattr(run_input, field) and not takes(agent.agent):
                reason = "it is a workflow, or its class or its client is not agent-framework's"
                raise UnservedInputError(f"The agent {agent.name!r} takes no {field}: {reason}. Leave {field!r} out.")
        if run_input.decisions:
            begun, waited = await self._decide(request, agent, run_input)
        else:
            begun, waited = await self._beginning.begin(request, agent, run_input), {}
        asked: dict[str, Sequence[Message]] = {}
        fold = RunFold(run_input, begun.run, waited, asked, names_causes=self._wire.names_causes)
        events = self._events(request, fold, begun, asked)
        name = f"run {begun.run.run_id}"
        frames = framed(name, events, fold.broken, "Send the same run again.")
        return with_ignored(streamed(frames, run_headers(begun.run)), run_input.chosen.ignored)

    async def _decide(
        self, request: HttpRequest, agent: AgentPlan, run_input: RunInput
    ) -> tuple[Begun, Mapping[str, str]]:
        """Record the decisions, which must be on all that the thread waits for.

        Return the run that goes on, and the ids of the calls for which the one before waited.
        """
        decisions, address = run_input.decisions, Address.of(agent.name, run_input.thread_id, request.caller.owner)
        waiting = await self._wire.approvals.waiting(address)
        undecided = {} if waiting is None else {approval.id: approval.tool for approval in waiting.undecided}
        if missing := undecided.keys() - {decision.id for decision in decisions}:
            tools = ", ".join(sorted(undecided[name] for name in missing))
            raise UnservedInputError(f"The answer on {tools} is missing. Send all answers together.")
        newest_last = sorted(decisions, key=lambda decision: decision.id in undecided)
        answers = Answers(newest_last, Wait(math.inf), streamed=True, state=run_input.state)
        unfinished = UnservedInputError("These answers are recorded; the thread waits for others. Send those.")
        requested, resumed = await record_answers(self._wire, request, address, answers, unfinished)
        return Begun(resumed, run_input, agrees=True, before=requested.end), waited_calls(requested)

    async def _events(
        self, request: HttpRequest, fold: RunFold, begun: Begun, asked: dict[str, Sequence[Message]]
    ) -> AsyncGenerator[list[WireEvent], None]:
        """Yield the run's events to its end, deltas as they come; `asked` gets what joins it.

        Once all runs before it have ended, those of a client that may not have what the thread has begin with that.
        """
        yield fold.start()
        is_compared = False
        async with aclosing(self._wire.following.follow(begun.run, request.caller.client)) as lists:
            async for updates in lists:
                events: list[WireEvent] = []
                for update in updates:
                    if not is_compared and isinstance(update, LoggedEvent) and isinstance(update.event, Claimed):
                        history = await self._beginning.history_before(begun, request)
                        events += [] if history is None else fold.restate(history)
                        fold.brought = await self._beginning.state_before(begun, request)
                        events += fold.share(fold.brought)
                        is_compared = True
                    if isinstance(update, LoggedEvent) and isinstance(update.event, Joined):
                        joined = await read_run(self._wire.log, begun.run.address, update.event.run_id)
                        asked |= {joined.run_id: asked_messages(joined)} if isinstance(joined, Run) else {}
                    events += fold.next(update)
                yield events
