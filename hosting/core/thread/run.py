"""One run: the fold of its events, for answers about it and for later attempts.

Beside it: how a run ends without an answer, and what the conversation keeps of an end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from hosting import errors
from hosting.amounts import BudgetState, Used
from hosting.core.thread import events, thread_events
from hosting.core.thread.run_request import PendingApproval, Superstep
from hosting.core.thread.usage import UNUSED, RunUsage, entry_usage
from hosting.names import Address, thread_key
from hosting.ports import iso
from state.codec import read_entry
from state.convert import stored_failure, stored_words
from state.errors import MalformedError
from state.models import Entry

LONGEST_KEPT = 32_768
"""Characters of an interrupted run's text that a conversation keeps: its beginning."""


class Open(Struct, frozen=True):
    """The run waits for its turn, or is at work."""


class Cancelling(Struct, frozen=True):
    """The run is to end for that reason. A run that was never claimed gets a certain `end` in its turn."""

    reason: events.CancelReason
    end: events.NoAnswer | None


class Ended(Struct, frozen=True):
    """The run's `end` is recorded at that position: only answers to its approvals may follow."""

    position: int
    end: events.Terminal


class Gone(Struct, frozen=True):
    """The run's thread was deleted, at that position, before the run had an end."""

    position: int


Over = Ended | Gone
RunState = Open | Cancelling | Over
AttemptCause = Literal["first", "failure", "handed_on", "taken_over"]
"""Why an attempt is made: it is the first, one before it failed, its holder released the run, or was lost."""


class Run(Struct, frozen=True):
    """One run of the thread at `address`, in that `epoch` of it, at a moment.

    `first` and `last` are the positions of its first event and of its newest. `cause` is that of
    its newest attempt, and `is_released` whether that attempt's holder released it. `failures` counts the attempts that
    failed and were made again. `paused`: a person paused it; it is `pausing` while its holder is at a step still.
    `text` is the agent's text so far; as much of it as `stable` characters is known to every later attempt. `joined`
    are runs whose messages it took.
    """

    address: Address
    accepted: events.Accepted
    first: int
    last: int
    claim: events.Claimed | None = None
    is_released: bool = False
    cause: AttemptCause = "first"
    failures: int = 0
    state: RunState = Open()
    paused: Literal["", "pausing", "paused"] = ""
    progress: events.Progressed | None = None
    text: str = ""
    stable: int = 0
    steps: tuple[events.ModelResult | events.ToolStarted | events.ToolResult, ...] = ()
    usage: RunUsage = UNUSED
    answers: tuple[events.ApprovalAnswered, ...] = ()
    checkpoint: events.Checkpointed | None = None
    yielded: tuple[dict[str, Any], ...] = ()
    values: tuple[Any, ...] = ()
    epoch: int = 0
    joined: tuple[events.Joined, ...] = ()

    @property
    def thread_key(self) -> str:
        """The key of its thread, in this life of it, for data kept elsewhere: see `names.thread_key`."""
        return thread_key(self.address, self.epoch)

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.accepted.run_id

    @property
    def begun(self) -> Run:
        """The run as its first event alone has it, for folds that begin there."""
        return Run(self.address, self.accepted, self.first, self.first, epoch=self.epoch)

    @property
    def attempts(self) -> int:
        """How many claims there were."""
        return self.claim.attempt if self.claim else 0

    @property
    def end(self) -> events.Terminal | None:
        """Its end, also an end that is certain and not yet recorded."""
        return self.state.end if isinstance(self.state, Ended | Cancelling) else None

    @property
    def end_position(self) -> int:
        """The position at which it was over, 0 before: answers to its approvals may stand after."""
        return self.state.position if isinstance(self.state, Over) else 0

    @property
    def streamed_through(self) -> int:
        """The position up to which its stream goes: that of its end, or of its newest event while it has none."""
        return self.end_position or self.last

    @property
    def used(self) -> Used:
        """Its usage so far, or in all once it has ended."""
        return self.usage.in_all(self.end).used

    @property
    def requested_approvals(self) -> tuple[PendingApproval, ...]:
        """The approvals that it requested, decided or not; nothing for a run that has not completed."""
        return self.end.approvals if isinstance(self.end, events.Completed) else ()

    @property
    def undecided(self) -> tuple[PendingApproval, ...]:
        """Its undecided approvals."""
        decided = {answer.decision.id for answer in self.answers}
        return tuple(approval for approval in self.requested_approvals if approval.id not in decided)

    def after(self, position: int, event: events.Event) -> Run:
        """Return the run after another event of the thread; an event of another run changes nothing."""
        if isinstance(event, thread_events.Deleting) and not isinstance(self.state, Over):
            return replace(self, last=position, state=Gone(position))
        if isinstance(event, events.Joined) and event.into == self.run_id:
            return replace(self, last=position, joined=(*self.joined, event))
        if not isinstance(event, events.RunEvent) or event.run_id != self.run_id:
            return self
        changes: dict[str, Any] = {"last": position}
        match event:
            case events.Delta():
                changes["text"] = with_delta(self.text, event.offset, event.text)
            case events.Claimed():
                is_ending = isinstance(self.state, Cancelling)  # interrupted, and claimed to be ended with its text
                changes |= {"claim": event, "text": self.text if is_ending else self.text[: self.stable]}
                changes |= {"failures": self.failures + (event.failed is not None), "usage": self.usage.after(event)}
                changes |= {"cause": self._cause_of(event), "is_released": False}
            case events.Released() | events.Paused() | events.Resumed() | events.Progressed():
                changes |= self._standing_after(event)
            case events.ModelResult():
                changes |= {"steps": (*self.steps, event), "usage": self.usage.after(event)}
                changes["stable"] = self.stable if event.within else len(self.text)
            case events.Checkpointed():
                yielded, values = (*self.yielded, *event.updates), (*self.values, *event.values)
                changes |= {"checkpoint": event, "yielded": yielded, "values": values, "stable": len(self.text)}
            case events.ToolStarted() | events.ToolResult():
                changes["steps"] = (*self.steps, event)
            case events.CancelRequested(at=at, reason=reason) if isinstance(self.state, Open):
                end = None if self.claim else unanswered(self.run_id, at, cancellation(reason))
                changes |= {"state": Cancelling(reason, end), "paused": ""}
            case events.Completed() | events.Failed() | events.TimedOut() | events.Cancelled() | events.Joined():
                changes["state"] = Ended(position, event)
            case events.ApprovalAnswered():
                changes["answers"] = (*self.answers, event)
        return replace(self, **changes)

    def _standing_after(self, event: events.Event) -> dict[str, Any]:
        """Return what changes by an event that says how far the run is, or whether it goes on."""
        if isinstance(event, events.Progressed):
            return {"progress": event}
        if isinstance(event, events.Paused):
            return {"paused": "pausing" if event.at_work else "paused"}
        if isinstance(event, events.Resumed):
            return {"paused": ""}
        paused = "paused" if self.paused else ""
        return {"usage": self.usage.after(event), "paused": paused, "is_released": True}

    def _cause_of(self, claim: events.Claimed) -> AttemptCause:
        if self.claim is None:
            return "first"
        if claim.failed is not None:
            return "failure"
        return "handed_on" if self.is_released else "taken_over"


def with_delta(text: str, offset: int, delta: str) -> str:
    """Return a text with a delta at its offset, which makes void what stood after it."""
    return text[:offset] + delta


def difference(text: str, offset: int, delta: str) -> tuple[int, str] | None:
    """Return a delta without what the text has of it already, at its offset then; None if it would change nothing."""
    if offset == len(text):
        return (offset, delta) if delta else None
    same = common_length(text[offset:], delta)
    return None if same == len(delta) and (delta or offset > len(text)) else (offset + same, delta[same:])


def common_length(first: str, second: str) -> int:
    """Return how many characters the two begin with alike."""
    shorter, longer = sorted((first, second), key=len)
    if longer.startswith(shorter):
        return len(shorter)
    return next(index for index in range(len(shorter)) if first[index] != second[index])


def fold_run(address: Address, run_id: str, numbered: Iterable[tuple[int, events.Event]], epoch: int = 0) -> Run | None:
    """Return the run as a fold of its events, from its `accepted` on; None when that is not among them.

    `epoch` is that of the thread in which they were appended.
    """
    run: Run | None = None
    for position, event in numbered:
        if run is not None:
            run = run.after(position, event)
        elif isinstance(event, events.Accepted) and event.run_id == run_id:
            run = Run(address, event, position, position, epoch=epoch)
    return run


_KINDS: dict[str, tuple[type[events.Failed | events.TimedOut | events.Cancelled], str]] = {
    errors.RunTimedOutError.code: (events.TimedOut, "timed_out"),
    errors.RunCancelledError.code: (events.Cancelled, "cancelled"),
    errors.RunRolledBackError.code: (events.Cancelled, "cancelled"),
}


def cancellation(reason: events.CancelReason) -> errors.HostingError:
    """Return the end of a run that was cancelled before a claim."""
    if reason == "queue_time":
        return errors.RunLostError("The run waited longer for its turn than allowed.")
    if reason == "interrupt":
        return errors.RunSupersededError("A later request interrupted the run. The thread keeps the text up to then.")
    if reason == "rollback":
        return errors.RunRolledBackError("A later request replaced the run. The thread keeps nothing of it.")
    return errors.RunCancelledError("The run was cancelled.")


_NOT_KEPT = frozenset(
    error.code
    for error in (
        errors.ThreadFullError,
        errors.UnreadableStateError,
        errors.ApprovalsPendingError,
        errors.ApprovalsVoidError,
        errors.RunRolledBackError,
        errors.RunJoinedError,
    )
)


def text_so_far(run: Run) -> str:
    """Return the run's text: the streamed text, else that of its model's answers so far.

    A workflow's is what its executors yielded. Of the answers of agents that are tools there is nothing in it.
    """
    answers = (step for step in run.steps if isinstance(step, events.ModelResult) and not step.within)
    messages = [message for answer in answers for message in answer.response.get("messages", ())]
    texts: dict[Any, str] = {}
    for number, message in enumerate((*messages, *run.yielded)):
        name = message.get("message_id") or number
        texts[name] = texts.get(name, "") + contents_text(message.get("contents") or ())
    return run.text or "\n\n".join(filter(None, texts.values()))


def contents_text(contents: Iterable[Mapping[str, Any]]) -> str:
    """Return the text among contents in the framework's own form."""
    return "".join(content.get("text") or "" for content in contents if content.get("type") == "text")


def superseded(run_id: str, moment: float, words: str = "") -> events.Cancelled:
    """Return the end of a run that a later request interrupted, with its text, which the conversation keeps."""
    error = cancellation("interrupt")
    entry = stored_words(run_id=run_id, created_at=iso(moment), text=words[:LONGEST_KEPT])
    return events.Cancelled(at=moment, run_id=run_id, code=error.code, detail=error.detail, entry=entry)


def is_of(event: events.Event, run_id: str) -> bool:
    """Return whether it is an event of that run: of the one that ended by it, or of the one that took a message."""
    is_own = isinstance(event, events.RunEvent) and event.run_id == run_id
    return is_own or (isinstance(event, events.Joined) and event.into == run_id)


def end_by_joining(run: events.Accepted, into: str, number: int, moment: float) -> events.Joined:
    """Return the end of a run whose messages the run `into` takes before its model call of that number."""
    error = errors.RunJoinedError(f"The message joined run {into}, which was at work and answers it.")
    status = {"run_id": run.run_id, "created_at": iso(moment), "status": "cancelled"}
    entry = stored_failure(**status, code=error.code, message=error.detail)
    return events.Joined(
        at=moment,
        run_id=run.run_id,
        into=into,
        number=number,
        messages=run.request.messages,
        code=error.code,
        detail=error.detail,
        entry=entry,
    )


def instead_of(answer: events.Terminal, ended: events.NoAnswer, usage: dict[str, int]) -> events.NoAnswer:
    """Return the end that replaces that answer, with the usage of the answer."""
    entry = {**ended.entry, "usage": entry_usage(usage)} if usage else ended.entry
    return ended.model_copy(update={"entry": entry, "cost": answer.cost, "model": answer.model})


def out_of_budget(run_id: str, moment: float, error: errors.BudgetExceededError, words: str) -> events.Failed:
    """Return the end of a run that used up its budget, with its text, which the conversation keeps."""
    entry = stored_words(run_id=run_id, created_at=iso(moment), text=words[:LONGEST_KEPT])
    return events.Failed(
        v=6,
        at=moment,
        run_id=run_id,
        code=error.code,
        detail=error.detail,
        budget=cast(BudgetState, error.budget),
        entry=entry,
    )


def keeps_words(terminal: events.Terminal) -> bool:
    """Return whether the run was interrupted or used up its budget, so that the conversation keeps its text."""
    if isinstance(terminal, events.Cancelled):
        return terminal.code == errors.RunSupersededError.code
    return isinstance(terminal, events.Failed) and terminal.budget is not None


def under_way(run: Run, superstep: Superstep | None) -> Superstep | None:
    """Return the current superstep of a run, if the run's newest checkpoint is of an earlier one."""
    ended = 0 if run.checkpoint is None else run.checkpoint.superstep
    return superstep if superstep is not None and superstep.number > ended and run.end is None else None


def unanswered(run_id: str, moment: float, error: errors.HostingError) -> events.NoAnswer:
    """Return the end of a run for the reason of `error`, one of `errors.RUN_ERRORS`."""
    if isinstance(error, errors.RunSupersededError):
        return superseded(run_id, moment)
    kind, status = _KINDS.get(error.code, (events.Failed, "failed"))
    entry = stored_failure(run_id=run_id, created_at=iso(moment), status=status, code=error.code, message=error.detail)
    return kind(at=moment, run_id=run_id, code=error.code, detail=error.detail, entry=entry)


def stored_entry(terminal: events.Terminal) -> Entry | None:
    """Return the conversation's entry of a run: its response, or an error instead of a response that is too large.

    None for a run that was refused on account of the document as it stands: it stays so.
    """
    if not isinstance(terminal, events.Completed) and terminal.code in _NOT_KEPT:
        return None
    try:
        if not isinstance(terminal, events.Completed) or terminal.kept:
            return terminal.response
    except MalformedError:
        return _failed(terminal, errors.UnreadableStateError.code, "The run's stored response cannot be read.")
    message = f"The answer is larger than a conversation may be. Only the log of run {terminal.run_id} has it."
    return _failed(terminal, errors.AnswerTooLargeError.code, message)


def _failed(terminal: events.Terminal, code: str, message: str) -> Entry:
    created_at = iso(terminal.at)
    return read_entry(
        stored_failure(run_id=terminal.run_id, created_at=created_at, status="failed", code=code, message=message)
    )
