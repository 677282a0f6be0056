"""`GET operations`: the queued, running and stuck runs of an app. Only for administrators if callers sign in.

Theory. It is about all owners' threads, so an app that knows its callers shows it to administrators alone. It has ids
and numbers, and no text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from hosting.core.thread_log import ThreadLog
from hosting.features.overview.http import day_fields
from hosting.features.overview.operators_view import OperatorsView, Survey
from hosting.features.overview.routes import HOURS, OPERATIONS, AgentOperations, Operations, StoreCalls, StuckCode
from hosting.http.parameters import OWNER, read_number
from hosting.http.replies import Reply, json_reply
from hosting.http.request import Bound, HttpRequest
from hosting.http.verbs import FindsThreads
from hosting.plan import AgentPlan
from hosting.ports import iso

REASONS: Mapping[StuckCode, str] = {
    "not_taken_up": "The run is first in its thread's queue, and no process has claimed it. Its signal was lost, or "
    "every process is busy or gone.",
    "out_of_time": "The run passed its time limit, and no process ended it. Its process is gone.",
    "silent": "A process claimed the run and has recorded nothing for minutes. If it stays silent for 30 seconds "
    "more, that process is gone.",
    "deleting": "The thread's deletion has started and not ended. Its signal was lost.",
}
"""The meaning of each code."""


class OperationsHandlers:
    """The handler of the route for operators."""

    def __init__(self, view: OperatorsView, log: ThreadLog, search: FindsThreads) -> None:
        self._view = view
        self._log = log
        self._search = search

    def bound(self) -> Sequence[Bound]:
        """Return the route with its handler."""
        return (Bound(OPERATIONS, self._read),)

    async def _read(self, request: HttpRequest) -> Reply:
        hours, owner = read_number(HOURS, request.query), OWNER.read(request.query)
        plans, now = list(request.plan.agents.values()), self._log.clocks.wall()
        surveys = [await self._view.survey(plan.name, owner, 3600.0 * hours, request.caller.client) for plan in plans]
        owed, calls = await self._search.owed(), self._log.readiness.calls
        return operations_reply(list(zip(plans, surveys, strict=True)), now, hours, calls, owed)


def operations_reply(
    surveys: Sequence[tuple[AgentPlan, Survey]],
    now: float,
    hours: int,
    calls: Mapping[str, Counter[str]],
    search_owed: int | None,
) -> Reply:
    """Return the operations of these agents; `calls` are the process's calls of the store of threads, by agent."""
    body: Operations = {
        "as_of": iso(now),
        "since": iso(now - 3600 * hours),
        "looked_at": sum(len(survey.threads) for _, survey in surveys),
        "complete": all(survey.is_complete for _, survey in surveys),
        "store_calls_here": _calls(*calls.values()),
        "agents": [_agent(plan, survey, now, _calls(calls.get(plan.name, Counter()))) for plan, survey in surveys],
        "stuck": [
            {
                "agent": plan.name,
                "kind": plan.kind,
                "owner": one.address.owner,
                "thread_id": one.address.thread_id,
                "run_id": one.run_id,
                "code": one.code,
                "reason": REASONS[one.code],
                "since": iso(one.since),
                "seen": one.seen,
            }
            for plan, survey in surveys
            for one in survey.stuck
        ],
    }
    if search_owed is not None:
        body["search_owed"] = search_owed
    return json_reply(200, body)


def _calls(*counted: Counter[str]) -> StoreCalls:
    read, append, failed = (sum(one[name] for one in counted) for name in ("read", "append", "failed"))
    return {"read": read, "append": append, "failed": failed}


def _agent(plan: AgentPlan, survey: Survey, now: float, calls: StoreCalls) -> AgentOperations:
    opened, queued = survey.open_runs, survey.queued
    return {
        "agent": plan.name,
        "kind": plan.kind,
        "queued": len(queued),
        "oldest_queued_at": iso(min(run.at for run in queued)) if queued else None,
        "running": len(opened) - len(queued),
        "running_here": survey.held_here,
        "attempts": sum(run.attempts for run in opened),
        "taken_over": sum(run.lost for run in opened),
        "store_calls_here": calls,
        "today": day_fields(iso(now)[:10], survey.today, survey.feedback),
    }
