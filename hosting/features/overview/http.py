"""The routes of an agent's threads, of its figures by day and of all waiting approvals, with bodies and handlers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from typing_extensions import NotRequired, TypedDict

from hosting.amounts import cost_text
from hosting.core.agent.held_run import read_run
from hosting.core.outcome import Approval, ThreadIds, Usage, approval_fields
from hosting.core.thread.head import Head
from hosting.core.thread.run import Run
from hosting.core.thread.sources import fork_source
from hosting.core.thread_log import ThreadLog
from hosting.core.threads import Threads
from hosting.features.overview.figures import MOST_DAYS, Day
from hosting.features.overview.overview import AgentFigures, Overview
from hosting.features.overview.search import SEARCHED_MESSAGES, SEARCHED_THREADS, ThreadSearch
from hosting.http import places
from hosting.http.bodies import ForkedFrom
from hosting.http.parameters import (
    CURSOR,
    LIMIT,
    Parameter,
    number_in_query,
    read_cursor,
    read_limit,
    read_number,
    text_in_query,
)
from hosting.http.replies import Reply, json_reply, thread_ids
from hosting.http.request import Bound, HttpRequest
from hosting.http.route import STORES, Route, ok
from hosting.http.verbs import FoundThreads, ThreadQuery
from hosting.plan import AgentPlan
from hosting.ports import EntityPage, iso


class ListedThread(ThreadIds):
    """One thread and the time of its last change (RFC 3339). Sorted or searched, also its title, status and pin.

    The title is the start of its first message, or what `describe` made it; only forks have `forked_from`.
    """

    updated_at: str
    title: NotRequired[str]
    status: NotRequired[Literal["idle", "running", "waiting"]]
    pinned: NotRequired[bool]
    forked_from: NotRequired[ForkedFrom]


class ThreadPage(TypedDict):
    """A page of threads, in the store's order or by change; `next_cursor` reads the next page."""

    threads: list[ListedThread]
    next_cursor: str | None


class WaitingApproval(Approval, ThreadIds):
    """One approval with its agent or workflow (`kind`) and thread."""

    agent: str
    kind: Literal["agent", "workflow"]


class WaitingApprovals(TypedDict):
    """The approvals that the caller's threads wait for, of all agents; `next_cursor` reads the next page."""

    approvals: list[WaitingApproval]
    next_cursor: str | None


class Latencies(TypedDict):
    """Seconds from requests to the ends of their runs: mean, median, 95th percentile and maximum."""

    mean: float
    p50: float
    p95: float
    max: float


class DayFigures(TypedDict):
    """The runs that ended on a day (UTC): count, failures by code, and tokens. Cancelled runs are no failures.

    `cost` is set if the runs have a cost.
    """

    day: str
    runs: int
    failures: dict[str, int]
    cancelled: int
    latency_seconds: Latencies
    usage: Usage
    cost: NotRequired[str]


class Figures(TypedDict):
    """An agent's figures by day, oldest day first; they count every run that ended before `as_of`."""

    agent: str
    as_of: str
    days: list[DayFigures]


_SORT = re.compile("changed|pinned")
SORT = Parameter(
    "sort",
    "query",
    "changed: the newest change first, with titles. pinned: pinned threads first, then as changed. Default: the order "
    "of the store.",
    {"type": "string", "enum": ["changed", "pinned"]},
    _SORT,
    "'changed' or 'pinned', or leave it out.",
)
SEARCH = text_in_query(
    "search",
    "Only threads with this text, ignoring case; the newest change first. All ids are looked through, and of the "
    f"first {SEARCHED_THREADS} threads of the list also the title and the newest {SEARCHED_MESSAGES} messages.",
    r"[^\u0000-\u001f\u007f]{1,100}",
    "1 to 100 characters.",
)
THREADS = Route(
    "threads",
    "GET",
    places.AGENT.below("threads"),
    "List the agent's threads",
    ok(ThreadPage),
    STORES,
    (LIMIT, CURSOR, SORT, SEARCH),
)
DAYS = number_in_query("days", "The number of days, of those on which runs ended; the newest first.", MOST_DAYS, 30)
FIGURES = Route(
    "figures",
    "GET",
    places.AGENT.below("figures"),
    "Read the agent's runs by day: count, duration, failures and usage",
    ok(Figures),
    STORES,
    (DAYS,),
)
WAITING = Route(
    "approvals",
    "GET",
    places.APP.below("approvals"),
    "List the tool calls of all threads that wait for approval",
    ok(WaitingApprovals),
    STORES,
    (LIMIT, CURSOR),
)


class OverviewHandlers:
    """The handlers of the routes about all threads of a caller."""

    def __init__(self, overview: Overview, search: ThreadSearch, threads: Threads, log: ThreadLog) -> None:
        self._overview = overview
        self._search = search
        self._threads = threads
        self._log = log

    def bound(self) -> Sequence[Bound]:
        """Return the routes with their handlers."""
        return Bound(THREADS, self._list), Bound(FIGURES, self._figures), Bound(WAITING, self._waiting)

    async def _list(self, request: HttpRequest) -> Reply:
        agent, caller = request.agent.name, request.caller
        limit, cursor = read_limit(request.query), read_cursor(request.query)
        sort, search = SORT.read(request.query), SEARCH.read(request.query)
        wanted = ThreadQuery(limit, cursor, pinned_first=sort == "pinned")
        if search is not None:
            found = await self._search.find(agent, search, wanted, caller)
            return newest_reply(found, self._log.clocks.wall())
        if sort is not None:
            return newest_reply(await self._overview.newest(agent, wanted, caller), self._log.clocks.wall())
        return threads_reply(await self._threads.page(agent, caller.owner, limit, cursor, caller.client))

    async def _figures(self, request: HttpRequest) -> Reply:
        agent, days = request.agent.name, read_number(DAYS, request.query)
        figures = await self._overview.figures(agent, days, request.caller)
        return figures_reply(agent, figures)

    async def _waiting(self, request: HttpRequest) -> Reply:
        wanted = ThreadQuery(read_limit(request.query), read_cursor(request.query))
        agents = [agent.name for agent in request.plan.served_of()]
        page = await self._overview.waiting(agents, wanted, request.caller)
        asking = [
            await read_run(self._log, address, head.waiting.run_id, head)
            for address, head in page.threads
            if head.waiting is not None
        ]
        paused = [run for run in asking if isinstance(run, Run)]
        return waiting_reply(paused, request.plan.agents, page.cursor)


def waiting_reply(paused: Sequence[Run], plans: Mapping[str, AgentPlan], cursor: str | None) -> Reply:
    """Return the waiting approvals of these runs; `plans` has the agents by their names in lower case."""
    waiting: list[WaitingApproval] = [
        {
            "agent": plans[run.address.agent].name,
            "kind": plans[run.address.agent].kind,
            **thread_ids(run.address.thread_id),
            **approval,
        }
        for run in paused
        for approval in approval_fields(run, run.undecided)
    ]
    body: WaitingApprovals = {"approvals": waiting, "next_cursor": cursor}
    return json_reply(200, body)


def figures_reply(agent: str, figures: AgentFigures) -> Reply:
    """Return an agent's figures by day, the oldest day first."""
    days = [day_fields(date, day) for date, day in figures.days]
    body: Figures = {"agent": agent, "as_of": iso(figures.seen_until), "days": days}
    return json_reply(200, body)


def day_fields(date: str, day: Day) -> DayFigures:
    """Return the figures of the runs of one day."""
    mean = day.seconds / day.runs if day.runs else 0.0
    median, slow, longest = day.latency_of(0.5), day.latency_of(0.95), day.longest_seconds
    figures: DayFigures = {
        "day": date,
        "runs": day.runs,
        "failures": day.failed,
        "cancelled": day.cancelled,
        "latency_seconds": {
            "mean": round(mean, 3),
            "p50": round(median, 3),
            "p95": round(slow, 3),
            "max": round(longest, 3),
        },
        "usage": dict(day.tokens),  # type: ignore[typeddict-item]
    }
    if day.cost:
        figures["cost"] = cost_text(day.cost)
    return figures


def threads_reply(page: EntityPage) -> Reply:
    """Return a page of threads, in the store's order."""
    threads: list[ListedThread] = [
        {"thread_id": key, "session_id": key, "updated_at": changed} for key, changed in page.keys
    ]
    body: ThreadPage = {"threads": threads, "next_cursor": page.cursor}
    return json_reply(200, body)


def newest_reply(page: FoundThreads, now: float) -> Reply:
    """Return a page of threads, the newest change first."""
    threads = [_listed(address.thread_id, head, now) for address, head in page.threads]
    body: ThreadPage = {"threads": threads, "next_cursor": page.cursor}
    return json_reply(200, body)


def _listed(thread_id: str, head: Head, now: float) -> ListedThread:
    listed: ListedThread = {
        "thread_id": thread_id,
        "session_id": thread_id,
        "updated_at": iso(head.changed_at),
        "title": head.name or head.title,
        "status": "waiting" if head.is_waiting_for_approval(now) else "running" if head.runs else "idle",
        "pinned": head.pinned,
    }
    if (source := fork_source(head)) is not None:
        listed["forked_from"] = {**thread_ids(source.thread_id), "entries": source.entries}
    return listed
