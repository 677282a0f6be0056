"""The handlers of the routes about all threads of a caller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from hosting.amounts import cost_text
from hosting.core.agent.held_run import read_run
from hosting.core.outcome import approval_fields, completed_text
from hosting.core.thread.events import Completed
from hosting.core.thread.head import Head
from hosting.core.thread.run import Run
from hosting.core.thread.sources import fork_source
from hosting.core.thread_log import ThreadLog
from hosting.core.threads import Threads
from hosting.errors import UnknownAgentError
from hosting.features.overview.figures import Day
from hosting.features.overview.filters import passes, read_filter, thread_status
from hosting.features.overview.overview import AgentFigures, Overview
from hosting.features.overview.routes import (
    AGENT_FILTER,
    ALL_THREADS,
    DAYS,
    FIGURES,
    SEARCH,
    SORT,
    THREADS,
    WAITING,
    DayFigures,
    Figures,
    ListedThread,
    ThreadOfAgent,
    ThreadPage,
    ThreadsOfAgents,
    WaitingApproval,
    WaitingApprovals,
)
from hosting.http.parameters import (
    read_cursor,
    read_limit,
    read_number,
)
from hosting.http.replies import Reply, json_reply, thread_ids
from hosting.http.request import Bound, HttpRequest
from hosting.http.verbs import (
    EVERY_THREAD,
    NO_FEEDBACK,
    CountsFeedback,
    FeedbackDay,
    FindsThreads,
    FoundThread,
    FoundThreads,
    FoundWords,
    ThreadQuery,
)
from hosting.names import Address
from hosting.plan import AgentPlan
from hosting.ports import EntityPage, iso
from hosting.principal import Caller

_WORDS_CHARACTERS = 2000


class OverviewHandlers:
    """The handlers of the routes about all threads of a caller."""

    def __init__(
        self, overview: Overview, search: FindsThreads, threads: Threads, log: ThreadLog, feedback: CountsFeedback
    ) -> None:
        self._overview = overview
        self._search = search
        self._threads = threads
        self._log = log
        self._feedback = feedback

    def bound(self) -> Sequence[Bound]:
        """Return the routes with their handlers."""
        return (
            Bound(THREADS, self._list),
            Bound(ALL_THREADS, self._list_all),
            Bound(FIGURES, self._figures),
            Bound(WAITING, self._waiting),
        )

    async def _list(self, request: HttpRequest) -> Reply:
        agent, caller = request.agent.name, request.caller
        limit, cursor = read_limit(request.query), read_cursor(request.query)
        sort, search = SORT.read(request.query), SEARCH.read(request.query)
        passing = read_filter(THREADS, request.query)
        wanted = ThreadQuery(limit, cursor, pinned_first=sort == "pinned", filter=passing)
        if search is not None:
            return found_reply(await self._found([agent], search, wanted, caller), self._log.clocks.wall())
        if sort is not None or passing is not EVERY_THREAD:
            return newest_reply(await self._overview.newest(agent, wanted, caller), self._log.clocks.wall())
        return threads_reply(await self._threads.page(agent, caller.owner, limit, cursor, caller.client))

    async def _list_all(self, request: HttpRequest) -> Reply:
        plans, name = {plan.name.lower(): plan for plan in request.plan.served_of()}, AGENT_FILTER.read(request.query)
        if name is not None and name.lower() not in plans:
            raise UnknownAgentError(f"This app has no agent {name[:80]!r}. GET agents and GET workflows list them.")
        passing, search = read_filter(ALL_THREADS, request.query), SEARCH.read(request.query)
        wanted = ThreadQuery(read_limit(request.query), read_cursor(request.query), filter=passing)
        agents = [plan.name for plan in plans.values()] if name is None else [plans[name.lower()].name]
        now = self._log.clocks.wall()
        if search is not None:
            return found_everywhere_reply(await self._found(agents, search, wanted, request.caller), plans, now)
        page = await self._overview.of_agents(agents, wanted, request.caller)
        threads = [_of_agent(plans, address, _listed(address.thread_id, head, now)) for address, head in page.threads]
        body: ThreadsOfAgents = {"threads": threads, "next_cursor": page.cursor}
        return json_reply(200, body)

    async def _found(self, agents: Sequence[str], text: str, wanted: ThreadQuery, caller: Caller) -> FoundWords:
        """Return the threads that have the words, of those that the filter lets through."""
        changed = {agent.lower(): await self._overview.changed(agent, wanted, caller) for agent in sorted(agents)}
        found, now = await self._search.find(text, changed, wanted, caller), self._log.clocks.wall()
        passing = tuple(thread for thread in found.threads if passes(thread.head, wanted.filter, now))
        return replace(found, threads=passing)

    async def _figures(self, request: HttpRequest) -> Reply:
        agent, days = request.agent.name, read_number(DAYS, request.query)
        figures = await self._overview.figures(agent, days, request.caller)
        today = datetime.fromtimestamp(self._log.clocks.wall(), tz=UTC).date()
        asked = {(today - timedelta(days=before)).isoformat() for before in range(-1, days)}
        feedback = await self._feedback(agent, request.caller.owner, asked | {date for date, _ in figures.days})
        return figures_reply(agent, figures, feedback, days)

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
            "agent_kind": plans[run.address.agent].kind,
            "message": run.accepted.request.message[:_WORDS_CHARACTERS],
            "response": completed_text(run.end)[-_WORDS_CHARACTERS:] if isinstance(run.end, Completed) else "",
            **thread_ids(run.address.thread_id),
            **approval,
        }
        for run in paused
        for approval in approval_fields(run, run.undecided)
    ]
    body: WaitingApprovals = {"approvals": waiting, "next_cursor": cursor}
    return json_reply(200, body)


def figures_reply(agent: str, figures: AgentFigures, feedback: Mapping[str, FeedbackDay], most: int) -> Reply:
    """Return an agent's figures by day, the oldest day first: the last ones on which there was anything."""
    runs = dict(figures.days)
    dates = sorted({*runs, *feedback})[-most:]
    days = [day_fields(date, runs.get(date, Day()), feedback.get(date, NO_FEEDBACK)) for date in dates]
    body: Figures = {"agent": agent, "as_of": iso(figures.seen_until), "days": days}
    return json_reply(200, body)


def day_fields(date: str, day: Day, feedback: FeedbackDay) -> DayFigures:
    """Return the figures of the runs of one day, and of the feedback that was given on it."""
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
    if feedback.count:
        mean_score = round(feedback.total / feedback.count, 3)
        figures["feedback"] = {"count": feedback.count, "mean_score": mean_score, "labels": dict(feedback.labels)}
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


def found_reply(found: FoundWords, now: float) -> Reply:
    """Return a page of an agent's threads that have the words."""
    body: ThreadPage = {
        "threads": [_with_snippet(thread, now) for thread in found.threads],
        "next_cursor": found.cursor,
        "behind": found.behind,
        "indexed_through": iso(found.indexed_through),
    }
    return json_reply(200, body)


def found_everywhere_reply(found: FoundWords, plans: Mapping[str, AgentPlan], now: float) -> Reply:
    """Return a page of threads that have the words; `plans` has the agents by their names in lower case."""
    body: ThreadsOfAgents = {
        "threads": [_of_agent(plans, thread.address, _with_snippet(thread, now)) for thread in found.threads],
        "next_cursor": found.cursor,
        "behind": found.behind,
        "indexed_through": iso(found.indexed_through),
    }
    return json_reply(200, body)


def _of_agent(plans: Mapping[str, AgentPlan], address: Address, listed: ListedThread) -> ThreadOfAgent:
    plan = plans[address.agent]
    return {**listed, "agent": plan.name, "agent_kind": plan.kind}


def _with_snippet(thread: FoundThread, now: float) -> ListedThread:
    listed = _listed(thread.address.thread_id, thread.head, now)
    if (snippet := thread.snippet) is not None:
        listed["snippet"] = {"before": snippet.before, "hit": snippet.hit, "after": snippet.after}
    return listed


def _listed(thread_id: str, head: Head, now: float) -> ListedThread:
    listed: ListedThread = {
        "thread_id": thread_id,
        "session_id": thread_id,
        "updated_at": iso(head.changed_at),
        "title": head.name or head.title,
        "status": thread_status(head, now),
        "pinned": head.pinned,
    }
    if head.metadata:
        listed["metadata"] = head.metadata
    if (source := fork_source(head)) is not None:
        listed["forked_from"] = {**thread_ids(source.thread_id), "entries": source.entries}
    return listed
