"""The protocol's one operation: run an agent, or answer a run's interrupts, and follow it to the end."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from hosting.core.broadcast import LoggedEvent
from hosting.core.request.contents import limits_of
from hosting.core.services import Services
from hosting.core.thread.events import Claimed
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import Answering
from hosting.errors import HostingError, InternalError
from hosting.http.ag_ui import names
from hosting.http.ag_ui.agreement import waited_calls
from hosting.http.ag_ui.beginning import Beginning, Begun
from hosting.http.ag_ui.fold import RunFold, WireEvent, encoded
from hosting.http.ag_ui.names import UnservedInputError
from hosting.http.ag_ui.requests import AG_UI_DOCUMENT, RunInput, parse_input
from hosting.http.replies import Reply, Streamed, run_headers
from hosting.http.request import HttpRequest
from hosting.http.route import Route
from hosting.names import Address
from hosting.plan import AgentPlan, Plan
from hosting.ports import EntityClient

logger = logging.getLogger(__name__)


class AgUiWire:
    """The AG-UI wire of an app."""

    function = names.FUNCTION
    path = names.PATH
    document = AG_UI_DOCUMENT

    def __init__(self, plan: Plan, services: Services) -> None:
        self._plan = plan
        self._services = services
        self._beginning = Beginning(services)

    def route_of(self, method: str, path: str) -> Route:
        """Return the operation; see `names.ag_ui_operation`."""
        return names.ag_ui_operation(method, path)

    def refusal(self, error: HostingError) -> Reply:
        """Return an error in the protocol's shape."""
        return names.ag_ui_refusal(error)

    async def reply(self, request: HttpRequest, path: str) -> Reply | Streamed:
        """Return a run's events up to its end; raises the errors of the service and `UnservedInputError`."""
        agent = self._plan.served(path.rstrip("/"))
        limits, owner = limits_of(agent.agent, self._services.settings), request.caller.owner
        wanted = await request.parsed(lambda raw: parse_input(raw, agent.name, limits, owner))
        if wanted.decisions:
            run, waited = await self._decide(request, agent, wanted)
            fold = RunFold(wanted, run, waited, names_causes=self._services.loop.names_causes)
            return self._streamed(self._events(fold, run, request.client), run)
        begun = await self._beginning.begin(request, agent, wanted)
        fold = RunFold(wanted, begun.run, {}, names_causes=self._services.loop.names_causes)
        return self._streamed(self._events(fold, begun.run, request.client, begun), begun.run)

    def _streamed(self, events: AsyncGenerator[bytes, None], run: Run) -> Streamed:
        return Streamed(events, {**run_headers(run), "x-accel-buffering": "no"})

    async def _decide(self, request: HttpRequest, agent: AgentPlan, wanted: RunInput) -> tuple[Run, Mapping[str, str]]:
        """Record the decisions, which must be on all that the thread waits for.

        Return the run that goes on, and the ids of the calls for which the one before waited.
        """
        approvals, decisions = self._services.approvals, wanted.decisions
        address = Address.of(agent.name, wanted.thread_id, request.caller.owner)
        waiting = await approvals.waiting(address)
        undecided = {} if waiting is None else {one.id: one.tool for one in waiting.undecided}
        if missing := undecided.keys() - {decision.id for decision in decisions}:
            tools = ", ".join(sorted(undecided[name] for name in missing))
            raise UnservedInputError(f"The answer on {tools} is missing in 'resume'. Send all answers together.")
        last = None
        for decision in sorted(decisions, key=lambda one: one.id in undecided):
            answer = Answering(decision, request.caller, streamed=True)
            answered = await approvals.answer(address, answer, request.client)
            last = answered if answered.resumed is not None else last
        if last is None or last.resumed is None:
            raise UnservedInputError("These answers are recorded; the thread waits for others. Send those.")
        return last.resumed, waited_calls(last.requested)

    async def _events(
        self, fold: RunFold, run: Run, client: EntityClient, begun: Begun | None = None
    ) -> AsyncGenerator[bytes, None]:
        """Yield the run's events to its end, deltas as they come.

        Once all runs before it have ended, those of a client that may not have what the thread has begin with that.
        """
        yield encoded(fold.start())
        try:
            async with aclosing(self._services.following.follow(run, client)) as lists:
                async for updates in lists:
                    events: list[WireEvent] = []
                    for update in updates:
                        if begun is not None and isinstance(update, LoggedEvent) and isinstance(update.event, Claimed):
                            history = await self._beginning.history_before(begun, client)
                            events += [] if history is None else fold.restate(history)
                            begun = None
                        events += fold.next(update)
                    if events:
                        yield encoded(events)
        except HostingError as error:
            yield encoded(fold.broken(error))
        except Exception:
            logger.exception("The stream of run %s failed.", run.run_id)
            defect = InternalError("The stream broke off. The app's log has the cause. Send the same run again.")
            yield encoded(fold.broken(defect))
