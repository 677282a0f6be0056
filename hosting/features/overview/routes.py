"""The routes about all threads together, with their bodies: those of an owner, and that of operators."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, NotRequired, get_args

from typing_extensions import TypedDict

from hosting import errors
from hosting.core.outcome import Approval, ThreadIds, Usage
from hosting.core.thread.head import TITLE_CHARACTERS
from hosting.http import places
from hosting.http.bodies import ForkedFrom
from hosting.http.parameters import CURSOR, LIMIT, Parameter, number_in_query, text_in_query
from hosting.http.route import STORES, ResponseSpec, Route, ok
from hosting.http.run_call import JsonBody
from hosting.metadata import Value
from hosting.plan import Kind
from hosting.strict_json.parsing import Schema

MOST_DAYS = 400
"""The days that an agent's figures are listed of, and kept for."""
Status = Literal["idle", "running", "waiting", "paused"]
StuckCode = Literal["not_taken_up", "out_of_time", "silent", "deleting"]


class SnippetBody(TypedDict):
    """A part of a title or message: the newest word that was searched for, and what stands before and after it."""

    before: str
    hit: str
    after: str


class ListedThread(ThreadIds):
    """One thread and the time of its last change (RFC 3339). Sorted, searched or filtered, also its state.

    The title is the start of its first message, or what `describe` made it; only forks have `forked_from`, and only
    threads with metadata have that. A search adds the `snippet`, unless the words stand in the thread's id alone.
    """

    updated_at: str
    title: NotRequired[str]
    status: NotRequired[Status]
    pinned: NotRequired[bool]
    metadata: NotRequired[dict[str, Value]]
    forked_from: NotRequired[ForkedFrom]
    snippet: NotRequired[SnippetBody]


class ThreadPage(TypedDict):
    """A page of threads, in the store's order or by change; `next_cursor` reads the next page.

    A search says of how many threads the last change is not searched yet (`behind`), and until when all changes are
    (`indexed_through`).
    """

    threads: list[ListedThread]
    next_cursor: str | None
    behind: NotRequired[int]
    indexed_through: NotRequired[str]


class WaitingApproval(Approval, ThreadIds):
    """One approval with its agent or workflow (`agent_kind`) and thread.

    `message` is the start of what was asked of the agent, empty if an earlier decision continued the run. `response` is
    the end of its text before the call. Each has 2,000 characters at most.
    """

    agent: str
    agent_kind: Literal["agent", "workflow"]
    message: str
    response: str


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


class FeedbackFigures(TypedDict):
    """The feedback that was given on a day (UTC): count, mean score (0 to 1), and count by label."""

    count: int
    mean_score: float
    labels: dict[str, int]


class DayFigures(TypedDict):
    """The runs that ended on a day (UTC): count, failures by code, and tokens. Cancelled runs are no failures.

    `cost` is set if the runs have a cost, `feedback` if any was given on that day.
    """

    day: str
    runs: int
    failures: dict[str, int]
    cancelled: int
    latency_seconds: Latencies
    usage: Usage
    cost: NotRequired[str]
    feedback: NotRequired[FeedbackFigures]


class Figures(TypedDict):
    """An agent's figures by day, oldest day first; they count every run that ended before `as_of`."""

    agent: str
    as_of: str
    days: list[DayFigures]


SEARCHED = (*STORES, errors.SearchUnavailableError)
"""The refusals of a list that may be searched."""
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
_SEARCHED = r"[^\u0000-\u001f\u007f]{1,100}"
SEARCH = text_in_query(
    "search",
    "Only threads with all of these words in their title, messages or id, ignoring case; the newest change first, "
    "whatever `sort` says. The last word may be the beginning of one. Words in double quotes must follow each other.",
    _SEARCHED,
    "1 to 100 characters.",
)
_STATUS = re.compile("|".join(get_args(Status)))
STATUS = Parameter(
    "status",
    "query",
    "Only threads that wait for approvals, that have a run which has not ended, or neither; the newest change first.",
    {"type": "string", "enum": [*get_args(Status)]},
    _STATUS,
    f"one of {', '.join(map(repr, get_args(Status)))}.",
)
CHANGED_SINCE = text_in_query(
    "changed_since",
    "Only threads that changed at this time (RFC 3339, UTC) or later; the newest change first.",
    r"[12][0-9]{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
    r"(?:\.[0-9]{1,9})?(?:Z|[+ ]00:00)",
    "a time in UTC such as 2026-01-31T08:00:00Z.",
)
METADATA_FILTER = Parameter(
    "metadata.name",
    "query",
    "Only threads whose metadata has the member of this name (after the point) with this value: `metadata.team=red`. "
    "With several, all must be so; the newest change first.",
    {"type": "string"},
)
FILTERS = (STATUS, CHANGED_SINCE, METADATA_FILTER)
THREADS = Route(
    "threads",
    "GET",
    places.AGENT.below("threads"),
    "List the agent's threads",
    ok(ThreadPage),
    SEARCHED,
    (LIMIT, CURSOR, SORT, SEARCH, *FILTERS),
)


class ThreadOfAgent(ListedThread):
    """One thread, with its agent or workflow (`agent_kind`)."""

    agent: str
    agent_kind: Kind


class ThreadsOfAgents(TypedDict):
    """A page of the caller's threads with all agents, the newest change first; `next_cursor` reads the next page.

    A search says what it says of one agent's threads.
    """

    threads: list[ThreadOfAgent]
    next_cursor: str | None
    behind: NotRequired[int]
    indexed_through: NotRequired[str]


AGENT_FILTER = text_in_query(
    "agent",
    "Only threads with the agent or workflow of this name.",
    r"[^\u0000-\u001f\u007f]{1,100}",
    "the name of an agent.",
)
ALL_THREADS = Route(
    "all_threads",
    "GET",
    places.APP.below("threads"),
    "List the threads of all agents",
    ok(ThreadsOfAgents),
    (errors.UnknownAgentError, *SEARCHED),
    (LIMIT, CURSOR, AGENT_FILTER, SEARCH, *FILTERS),
)
DAYS = number_in_query(
    "days", "The number of days, of those on which runs ended or feedback was given; the newest first.", MOST_DAYS, 30
)
FIGURES = Route(
    "figures",
    "GET",
    places.AGENT.below("figures"),
    "Read the agent's runs by day: count, duration, failures and usage",
    ok(Figures),
    (*STORES, errors.AttachmentsUnavailableError),
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


class DescribedThread(ThreadIds):
    """A thread's title and whether it is pinned."""

    title: str
    pinned: bool


_FIELDS: Mapping[str, Schema] = {
    "title": {
        "anyOf": [{"type": "string", "maxLength": TITLE_CHARACTERS}, {"type": "null"}],
        "description": "The new title. Empty: the start of the first message again. Default: as it is.",
    },
    "pinned": {
        "anyOf": [{"type": "boolean"}, {"type": "null"}],
        "description": "true to pin the thread, false to unpin it. Default: as it is.",
    },
}
DESCRIPTION = JsonBody(_FIELDS, (), '{"title": "Invoices", "pinned": true}')
DESCRIBE = Route(
    "thread_describe",
    "POST",
    places.THREAD.below("describe"),
    "Rename a thread, or pin it",
    (ResponseSpec(200, "The thread's title and pin.", DescribedThread),),
    (errors.ThreadDeletingError, errors.ThreadDeletedError, errors.UnreadableStateError, *STORES),
    body=DESCRIPTION,
    needs="own",
)


class AgentOperations(TypedDict):
    """The queued and running runs of an agent, and today's figures.

    `running_here` are the runs in the process that answers, and `store_calls_here` its calls of the store of
    threads. `attempts` and `taken_over` count the open runs' attempts, and those that followed a lost process.
    """

    agent: str
    kind: Kind
    queued: int
    oldest_queued_at: str | None
    running: int
    running_here: int
    attempts: int
    taken_over: int
    store_calls_here: StoreCalls
    today: DayFigures


class StuckThread(TypedDict):
    """A thread without progress: its next run, or its deletion if `run_id` is null, with the reason and since when.

    `seen` changes whenever something is recorded of the thread.
    """

    agent: str
    kind: Kind
    owner: str
    thread_id: str
    run_id: str | None
    code: StuckCode
    reason: str
    since: str
    seen: str


class StoreCalls(TypedDict):
    """Calls of the store of threads: reads and appends that worked, and those of both that failed."""

    read: int
    append: int
    failed: int


class Operations(TypedDict):
    """The runs of the app's agents, by threads that changed `since`; `complete` is false if there were too many.

    `store_calls_here` counts all calls of the process that answers, since its start. `search_owed` is of how many
    threads the app's own search engine has still to remove texts; absent without such an engine.
    """

    as_of: str
    since: str
    looked_at: int
    complete: bool
    store_calls_here: StoreCalls
    agents: list[AgentOperations]
    stuck: list[StuckThread]
    search_owed: NotRequired[int]


HOURS = number_in_query("hours", "Only threads that changed within this many hours.", most=720, default=1)
OPERATIONS = Route(
    "operations",
    "GET",
    places.APP.below("operations"),
    "Read the queued, running and stuck runs of all agents",
    ok(Operations),
    (*STORES, errors.AttachmentsUnavailableError),
    (HOURS,),
    needs="admin",
)
ROUTES = (THREADS, ALL_THREADS, FIGURES, WAITING, DESCRIBE, OPERATIONS)
