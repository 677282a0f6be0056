"""The work on runs that is the same over every wire: their answers to approvals, their log, and the folds of a thread.

Theory. A wire is a fold of the thread's log, as our own frames are one: it starts, follows and ends runs by the verbs
of the core, and keeps nothing of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, Generic, TypeVar

from msgspec import Struct

from hosting.core.broadcast import DeltaText, LoggedEvent, Update
from hosting.core.outcome import usage_of
from hosting.core.runs import SHORT_WAIT_SECONDS
from hosting.core.stores.contract import MOST_POSITION
from hosting.core.thread.events import Accepted, Completed, Event, Joined, Progressed, RunEvent, Terminal
from hosting.core.thread.finish import finish_reason, is_incomplete
from hosting.core.thread.run import Ended, Run, keeps_words
from hosting.core.thread.run_request import Answering, Decision
from hosting.core.thread.thread_events import Deleted, Imported, MessagesPut, Reset, Rewound
from hosting.core.thread.usage import CACHED, REASONING
from hosting.core.thread_log import ThreadLog
from hosting.core.threads import Threads
from hosting.core.transcript import Item, ThoughtAdded, Transcript
from hosting.errors import (
    ApprovalAnsweredError,
    ApprovalExpiredError,
    HostingError,
    InvalidInputError,
    UnknownApprovalError,
    UnknownRunError,
)
from hosting.http.request import HttpRequest
from hosting.http.wire import WireVerbs
from hosting.names import Address
from hosting.ports import EntityClient, Wait
from state.contents import TOKEN_COUNTS

CANCEL_SECONDS = 4.0
"""How long a cancel waits for the run's end: clients that wait for an answer alone give up after 5 s."""


_USAGE = {
    **{name: stored.replace("TokenCount", "Tokens") for stored, name in TOKEN_COUNTS.items()},
    CACHED: "cachedInputTokens",
    REASONING: "reasoningTokens",
}
"""The names of tokens for clients in JavaScript, by those of our own answers."""


class RewrittenError(HostingError, code="text_rewritten", status=500):
    """Text that was sent to a reader of a stream stands no more, and the protocol cannot take it back."""


Sent = TypeVar("Sent")


class ItemFold(Generic[Sent]):
    """The base of a protocol's view of one run that is made of the items of its transcript."""

    def __init__(self, run: Run, *, names_causes: bool, reads_answers: bool = False) -> None:
        """The options are those of `Transcript`."""
        self._transcript = Transcript(run, names_causes=names_causes, reads_answers=reads_answers)
        self._events: list[Sent] = []

    @property
    def run(self) -> Run:
        """The run as it stands."""
        return self._transcript.run

    def next(self, update: Update) -> list[Sent]:
        """Fold one more, and return its events."""
        self._events = []
        position = "" if isinstance(update, DeltaText) else str(update.position)
        for item in self._transcript.next(update):
            if isinstance(item, ThoughtAdded):
                self._think(position, item.text)
            elif isinstance(item, Progressed):
                self._report(item)
            else:
                self._end_thought(item)
                self._project(position, item)
        return self._events

    def _think(self, position: str, text: str) -> None:
        """Add the events for a text that is added to a thought: nothing, of a protocol without thoughts."""

    def _report(self, progress: Progressed) -> None:
        """Add the events for a new progress: nothing, of a protocol that has no place for it."""

    def _end_thought(self, item: Item) -> None:
        """Add the events for the end of a thought by this item, before those of the item itself."""

    def _project(self, position: str, item: Item) -> None:
        """Add the events for an item that is new at a position of the log; text that is not logged has none."""
        raise NotImplementedError


SomeFold = TypeVar("SomeFold", bound=ItemFold[Any])


class Answers(Struct, frozen=True):
    """The decisions of one request, and how its caller waits for the run that goes on; see `Answering`.

    `places` are where they stand in the request, by their ids: an error about one names its place.
    """

    decisions: Iterable[Decision]
    wait: Wait
    streamed: bool = False
    wire: Mapping[str, Any] | None = None
    gives_up: bool = False
    places: Mapping[str, str] = {}
    state: str | None = None


_OF_AN_ANSWER = (UnknownApprovalError, ApprovalAnsweredError, ApprovalExpiredError, InvalidInputError)


async def record_answers(
    verbs: WireVerbs, request: HttpRequest, address: Address, answers: Answers, unfinished: HostingError
) -> tuple[Run, Run]:
    """Record the decisions in their order; return the run that asked for them, and the run that goes on.

    Raises `unfinished` if the thread waits for other decisions still.
    """
    waits = verbs.runs.wait_seconds(answers.wait) > SHORT_WAIT_SECONDS
    last = None
    for decision in answers.decisions:
        how = (waits, answers.streamed, answers.wire, answers.gives_up, answers.state)
        answering = Answering(decision, request.caller, *how)
        try:
            answered = await verbs.approvals.answer(address, answering)
        except _OF_AN_ANSWER as error:
            if (place := answers.places.get(decision.id)) is not None:
                error.detail = f"{place}: {error.detail}"
            raise
        last = last if answered.resumed is None else (answered.requested, answered.resumed)
    if last is None:
        raise unfinished
    return last


async def cancel(verbs: WireVerbs, address: Address, run_id: str, client: EntityClient) -> Run:
    """Return a run that was asked to end: once it has, or once the caller waits no longer. Raises as `Runs.cancel`."""
    run = await verbs.runs.cancel(address, run_id, client)
    return await verbs.runs.wait(run, client, min(CANCEL_SECONDS, verbs.settings.wait_seconds), takes=False)


async def forget(threads: Threads, run: Run, client: EntityClient) -> None:
    """Have the thread deleted of a run that has ended and is not to be stored.

    Whoever has the answer waits for no more; a run that calls its caller's tools has its answer in another run. The
    thread's entity does the same where this fails or never comes.
    """
    if run.accepted.temporary and run.end is not None and not awaits_results(run.end):
        with suppress(HostingError):
            await threads.delete(run.address, client, 0.0)


def awaits_results(end: Terminal | None) -> bool:
    """Return whether a run ended with calls of the caller's tools, and waits for nobody else."""
    approvals = end.approvals if isinstance(end, Completed) else ()
    return bool(approvals) and all(approval.kind == "client_tool" for approval in approvals)


async def run_events(log: ThreadLog, run: Run, name: str, through: int | None = None) -> list[LoggedEvent]:
    """Return the log from a run's first event to its end, or `through` a position.

    Raises `UnknownRunError`, with the protocol's name of a run, if the log has its first event no more.
    """
    through = through or run.end_position or MOST_POSITION
    events = await log.events(run.address, run.first - 1, through=through)
    if not events or events[0][0] != run.first:
        raise UnknownRunError(f"The {name} no longer exists.")
    return [LoggedEvent(position, event) for position, event in events]


def fold_runs(
    address: Address,
    events: Iterable[tuple[int, Event]],
    begin: Callable[[Run, dict[str, SomeFold]], SomeFold],
) -> dict[str, SomeFold]:
    """Return the folds of a thread's runs by their ids, oldest first, without runs that were reset or replaced.

    `begin` makes the fold of a run that was accepted; it gets those before it.
    """
    folds: dict[str, SomeFold] = {}
    for position, event in events:
        match event:
            case Reset() | Imported() | Deleted():
                folds.clear()
            case Rewound():
                folds = {name: fold for name, fold in folds.items() if fold.run.first < event.first}
            case Accepted():
                folds[event.run_id] = begin(Run(address, event, position, position), folds)
        if isinstance(event, RunEvent) and event.run_id in folds:
            folds[event.run_id].next(LoggedEvent(position, event))
        if isinstance(event, Joined) and event.into in folds:
            folds[event.into].next(LoggedEvent(position, event))
    return folds


def standing_puts(events: Iterable[tuple[int, Event]]) -> list[tuple[int, MessagesPut]]:
    """Return the messages that a person put into a thread, by their positions, without those reset or replaced."""
    puts: dict[int, MessagesPut] = {}
    for position, event in events:
        match event:
            case Reset() | Imported() | Deleted():
                puts.clear()
            case Rewound():
                puts = {number: put for number, put in puts.items() if number < event.first}
            case MessagesPut():
                puts[position] = event
    return list(puts.items())


def put_metadata(put: MessagesPut) -> dict[str, Any]:
    """Return what says of messages that no run made them, and who put them in."""
    by = put.principal
    person = None if by is None else {"issuer": by.issuer, "id": by.id, "name": by.name}
    return {"put": {"id": put.id, "by": person}}


def waited_calls(run: Run) -> dict[str, str]:
    """Return the approvals' ids of the tool calls for which a run waits, by the model's ids of the calls."""
    waiting, approval_ids = list(run.requested_approvals), dict[str, str]()
    messages = () if run.end is None else run.end.entry.get("messages", ())
    contents = (content for message in messages for content in message.get("contents", ()))
    for call in (content for content in contents if content.get("$type") == "functionCall"):
        for approval in waiting:
            if (approval.tool, approval.arguments) == (call.get("name"), call.get("arguments")):
                approval_ids[call["callId"]] = approval.id
                waiting.remove(approval)
                break
    return approval_ids


def is_kept(run: Run) -> bool:
    """Return whether the model sees the run from its end on."""
    state = run.state
    return isinstance(state, Ended) and (isinstance(state.end, Completed) or keeps_words(state.end))


def finish_of(end: Terminal | None, reason_name: str) -> dict[str, Any]:
    """Return why the model ended its answer, under that name, and whether it is incomplete; empty without a reason."""
    reason = finish_reason(end)
    return {} if reason is None else {reason_name: reason, "incomplete": is_incomplete(end)}


def camel_usage(end: Terminal | None) -> dict[str, int]:
    """Return the tokens of a run under the names that clients in JavaScript have for them; empty if none are known."""
    return {_USAGE[name]: count for name, count in usage_of(end).items() if name in _USAGE}  # type: ignore[misc]
