"""The verbs of features that other protocols use too; `hosting.assembly` hands them out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from msgspec import Struct

from hosting import errors
from hosting.core.thread.events import Terminal
from hosting.core.thread.head import Head
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import Answering, StartRun, UserMessage
from hosting.http.parameters import in_path
from hosting.http.replies import Reply, Streamed
from hosting.http.request import HttpRequest
from hosting.http.route import STORES, Refusals, Route
from hosting.metadata import Value
from hosting.names import Address
from hosting.plan import AgentPlan
from hosting.ports import EntityClient
from hosting.principal import Caller


class ThreadFilter(Struct, frozen=True):
    """Only threads with these members of the metadata, as texts, in this state, and changed since (seconds, UTC)."""

    metadata: Mapping[str, str] = {}
    status: Literal["idle", "running", "waiting", "paused"] | None = None
    changed_since: float = 0.0


EVERY_THREAD = ThreadFilter()


class ThreadQuery(Struct, frozen=True):
    """Which threads: so many at most, after those of the page before, in which order, and through which filter."""

    limit: int
    cursor: str | None = None
    pinned_first: bool = False
    filter: ThreadFilter = EVERY_THREAD


class FoundThreads(Struct, frozen=True):
    """Threads with their heads, and where the next page begins, if there is one."""

    threads: tuple[tuple[Address, Head], ...]
    cursor: str | None


class NewestThreads(Protocol):
    """A list of threads in an order that no thread's log has: by their last change."""

    async def __call__(self, agent: str, wanted: ThreadQuery, caller: Caller) -> FoundThreads:
        """Return the caller's threads with the agent, the newest change first.

        Raises `EngineUnavailableError` and `LogUnavailableError`.
        """


class ThreadChange(Struct, frozen=True):
    """The last change of a thread: `at` which time, and a `mark` that no other change of it has.

    Only a thread that `passes` is to be found: the others are not let through by the list's filter.
    """

    at: float
    mark: str
    passes: bool = True


class ChangedThreads(Struct, frozen=True):
    """An owner's threads with an agent, by their ids, with all changes until `seen_until`."""

    threads: Mapping[str, ThreadChange]
    seen_until: float


class Snippet(Struct, frozen=True):
    """A part of a text: a word that was searched for, and what stands before and after it."""

    before: str
    hit: str
    after: str


class FoundThread(Struct, frozen=True):
    """A thread with its head, and where its text has the words: in a message, or its title."""

    address: Address
    head: Head
    snippet: Snippet | None


class FoundWords(Struct, frozen=True):
    """Threads that have the words, and where the next page begins, if there is one.

    Of `behind` threads the last change was not looked through. All changes until `indexed_through` were.
    """

    threads: tuple[FoundThread, ...]
    cursor: str | None
    behind: int
    indexed_through: float


class FindsThreads(Protocol):
    """A search in the texts of threads."""

    async def find(
        self, text: str, changed: Mapping[str, ChangedThreads], query: ThreadQuery, caller: Caller
    ) -> FoundWords:
        """Return the caller's threads with all words and phrases of the text, the newest change first.

        The app's own engine may have another order. `changed` are all of the caller's threads, by agents in lower case.
        Raises `EngineUnavailableError` and `StoreUnavailableError`.
        """

    async def update(self, agent: str, changed: ChangedThreads, caller: Caller) -> None:
        """Look through what changed, if the caller's threads with the agent are searched. Raises as `find` does."""

    async def owed(self) -> int | None:
        """Return of how many threads the app's own engine has still to remove texts; None without such an engine.

        Raises `AttachmentsUnavailableError`.
        """


MOST_PUT = 100
"""Messages that are put into a thread at a time."""


class NewMessages(Struct, frozen=True):
    """Messages to put into a thread, oldest first, and the request's idempotency key."""

    messages: tuple[UserMessage, ...]
    key: str | None = None


class PutIn(Struct, frozen=True):
    """The id of messages that stand in a conversation; `replayed`, if an earlier request put them in."""

    id: str
    replayed: bool = False


class BeginsThreads(Protocol):
    """Threads that begin without a run: by messages that a person puts in, or by metadata. Each protocol reads and
    shows them in its own form."""

    async def put(self, agent: AgentPlan, address: Address, new: NewMessages, caller: Caller) -> PutIn:
        """Put messages in, or begin a thread with them; return once they stand and their signal is taken.

        Raises `StateRefusedError` for a workflow, `ForbiddenError` for words of the agent from somebody else than the
        thread's owner, `StateTooLargeError`, `UnsupportedContentError`, `InvalidThreadIdError` for an id that no new
        thread may have, what the thread refuses (`hosting.core.thread.thread_rules`), `EngineUnavailableError` and
        `LogUnavailableError`.
        """

    async def describe(self, address: Address, metadata: Mapping[str, Value], client: EntityClient) -> Head:
        """Give a thread this metadata and no other, or begin it with that; raises as `Threads.describe`."""


class Answered(Struct, frozen=True):
    """An answer was recorded for the run `requested`; `resumed` continues from there if it was the last one."""

    requested: Run
    resumed: Run | None


class AnswersApprovals(Protocol):
    """The approvals that threads wait for: each protocol shows and answers them in its own words."""

    async def waiting(self, address: Address) -> Run | None:
        """Return the run whose approvals the thread waits for now, or None. Raises `LogUnavailableError`."""

    async def answer(self, address: Address, answering: Answering) -> Answered:
        """Record the decision, and begin the run that continues if it was the last one missing.

        Raises what the thread refuses: `UnknownApprovalError`, `ApprovalAnsweredError`, `ApprovalExpiredError`,
        `ThreadDeletedError` and `ThreadDeletingError`; and as `Runs.start` does.
        """


class PausesRuns(Protocol):
    """The runs that a person has stand still, and go on later."""

    async def pause(self, address: Address, run_id: str, client: EntityClient) -> Run:
        """Have the run stop at its next step, and return it as it stands; one that ends or has ended stays so.

        Raises as `Runs.find` does, and `AttachmentsUnavailableError` if the pause could not be marked.
        """

    async def resume(self, address: Address, run_id: str, client: EntityClient) -> Run:
        """Have a paused run go on, and return it as it stands; a run that is not paused goes on as before.

        Raises as `Runs.find` does.
        """


class ContinuesRuns(Protocol):
    """The runs that others may continue: a protocol's client names the answer that its next request goes on from."""

    async def continued(self, older: Run, agent: AgentPlan, start: StartRun, caller: Caller, *, scope: str) -> Run:
        """Start a run after `older`: on its thread, or on a fork of it where the thread has gone on from there.

        Under an idempotency key it is the same fork each time, which no request of another `scope` makes. Raises
        `RunNotNewestError` where there can be no fork, and as `Runs.start` does.
        """


APPROVAL_ID = in_path(
    "approval_id",
    "The approval.",
    errors.UnknownApprovalError,
    errors.ApprovalAnsweredError,
    errors.ApprovalExpiredError,
)
GOING_ON: Refusals = (
    errors.InvalidWaitError,
    errors.ThreadDeletingError,
    errors.UnreadableStateError,
    *STORES,
    errors.ThreadDeletedError,
    errors.ShuttingDownError,
    *errors.RUN_ERRORS,
)
"""Of an answer to an approval, with which the run may go on."""


@dataclass(frozen=True)
class Receiver:
    """A receiver of a task's news: its address, and its secrets for checking the sender. `credentials` stay hidden."""

    id: str
    url: str
    token: str = ""
    scheme: str = ""
    credentials: str = ""


class NotifiesReceivers(Protocol):
    """The receivers of tasks: a protocol has them notified as webhooks are, signed, again until they take it.

    A task is made of runs, and is named by its thread and the run that began it. `update_of` is for the protocol to
    set: what a receiver is sent of a run's end.
    """

    update_of: Callable[[Run, Terminal], dict[str, Any]] | None

    def read(self, where: str, fields: Mapping[str, object]) -> Receiver:
        """Return the receiver that a request names; raises `InvalidFieldError` that names the field by `where`."""

    async def of_task(self, address: Address, begun_by: str) -> Mapping[str, Receiver]:
        """Return the task's receivers by their ids, in the order in which they were named."""

    async def add(self, address: Address, begun_by: str, receiver: Receiver) -> None:
        """Have every later end of the task's runs delivered to a receiver too, which replaces one of its id.

        Raises `InvalidFieldError` for a task that has too many.
        """

    async def notify(self, run: Run, client: EntityClient) -> None:
        """Have the end of a run delivered to the receivers of its task; raises `EngineUnavailableError`."""

    async def remove(self, address: Address, begun_by: str, receiver_id: str) -> None:
        """Remove a receiver of the task."""


class RunNews(Struct, frozen=True):
    """What receivers are sent of an ended run besides its end: the `event`, its time, and its `fields`."""

    event: str
    at: float
    fields: Mapping[str, Any]


class NotifiesOfNews(Protocol):
    """Notifies the agent's own receiver of news of a run, as it is notified of ends.

    `news_of` is for the feature to set that has news: what there is under a name now, or None.
    """

    news_of: Callable[[Run, str], Awaitable[RunNews | None]] | None

    async def notify_of(self, address: Address, run_id: str, name: str, client: EntityClient) -> None:
        """Have the news of that name delivered, once however often it is called; raises `EngineUnavailableError`."""


class FeedbackDay(Struct, frozen=True):
    """The feedback that was given on one day: how often, the sum of the scores, and how often with each label."""

    count: int = 0
    total: float = 0.0
    labels: Mapping[str, int] = {}

    def plus(self, other: FeedbackDay) -> FeedbackDay:
        """Return the sum of both."""
        labels = {
            name: self.labels.get(name, 0) + other.labels.get(name, 0) for name in {**self.labels, **other.labels}
        }
        return FeedbackDay(self.count + other.count, self.total + other.total, labels)


NO_FEEDBACK = FeedbackDay()


class CountsFeedback(Protocol):
    """The figures of feedback, for those who show figures."""

    async def __call__(self, agent: str, owner: str, days: Collection[str]) -> Mapping[str, FeedbackDay]:
        """Return those of the owner's runs on these days (`2026-01-31`, UTC) on which any was given.

        Raises `AttachmentsUnavailableError`.
        """


class KeepsFiles(Protocol):
    """The files of callers, for a protocol that has operations on files."""

    def operations(self) -> Sequence[Route]:
        """Return the protocol's operations on files."""

    async def reply(self, request: HttpRequest, path: str) -> Reply | Streamed:
        """Return the answer of one of them; raises its refusals."""

    async def inlined(self, request: HttpRequest) -> HttpRequest:
        """Return a request with the contents of the files that its messages name by id.

        Raises `ContentTooLargeError`, `LogUnavailableError` and `AttachmentsUnavailableError`.
        """
