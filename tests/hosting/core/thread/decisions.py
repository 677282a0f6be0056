"""The real `decide` for a search: each decision is made once and kept, and heads are known by small numbers.

Two heads that differ only in what no decision looks at are one: positions are told by their order alone. Times are
constant, and no two appends have the same id: `silent` names the newest one, or one that is past.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from hosting.core.thread import commands, events, rows
from hosting.core.thread.commands import Change, ClaimTerms, Command, Outcome, Refused, Unchanged
from hosting.core.thread.decide import decide
from hosting.core.thread.draft import Draft
from hosting.core.thread.events import Claimed, Event, ToolResult
from hosting.core.thread.head import NEW, Head, decode, encode, fold
from hosting.core.thread.rows import ApprovalRow, KeyRow, RowChange, RunRow
from hosting.core.thread.run import end_by_joining, unanswered
from hosting.core.thread.run_request import Decision
from hosting.errors import RunCancelledError, RunRolledBackError
from hosting.names import Busy
from tests.support.threads import DEADLINE, NOW, accepted, completed, terms, tool_started

Decide = Callable[[Head, Command], Outcome]
Said = tuple[str, str, str]
"""An event: its kind, its run, and what else matters of it."""

NEWEST, PAST = "newest", "past"
ROWS = ("k", "a1", "a2", "r1", "r2", "r3", "r4")
"""The names of rows in the model: an idempotency key, approvals, runs."""


class Kept(NamedTuple):
    """A row: of which epoch, the run that it leads to, and whether an approval is decided."""

    epoch: int
    run: str = ""
    decided: bool = False


class Decided(NamedTuple):
    """What a decision came to: `kind` is that of the outcome, and `head` the number of the head behind it."""

    kind: type[Any]
    head: int
    events: tuple[Said, ...]
    rows: tuple[tuple[str, bool, Kept], ...]
    run: str
    signal: bool
    refusal: str


class Decisions:
    """Decides, for a search; `decide` is the real one unless a test shows what a weaker one would let happen."""

    def __init__(self, decide: Decide = decide) -> None:
        self._decide = decide
        self.heads = [NEW]
        self._numbers = {NEW.model_dump_json(): 0}
        self._known: dict[tuple[Any, ...], Decided] = {}

    def __call__(self, number: int, verb: str, *details: Any) -> Decided:
        """Return what is decided on that head."""
        requested = (number, verb, details)
        found = self._known.get(requested)
        if found is None:
            head = self.heads[number]
            outcome = self._decide(head, _COMMANDS[verb](head, *details))
            if self._decide is decide and isinstance(outcome, Change):
                _check(head, outcome)
            found = self._known[requested] = self._named(number, outcome)
        return found

    def _named(self, number: int, outcome: Outcome) -> Decided:
        refusal = type(outcome.error).__name__ if isinstance(outcome, Refused) else ""
        run = outcome.run_id if isinstance(outcome, Change | Unchanged) else ""
        signal = isinstance(outcome, Change | Unchanged | Refused) and outcome.signal
        if not isinstance(outcome, Change):
            return Decided(type(outcome), number, (), (), run, signal, refusal)
        head = _in_order(outcome.head)
        behind = self._numbers.setdefault(head.model_dump_json(), len(self.heads))
        if behind == len(self.heads):
            self.heads.append(head)
        written = tuple(_kept(change) for change in outcome.rows)
        return Decided(Change, behind, tuple(map(_text, outcome.events)), written, run, signal, refusal)

    def appended(self) -> set[str]:
        """Return the kinds of all events that were decided on."""
        return {kind for decided in self._known.values() for kind, _, _ in decided.events}


def _check(before: Head, change: Change) -> None:
    """The head is what the events make of the one before, but for a lease that is renewed, and both are read again."""
    folded = fold(before, change.events)
    assert change.head in (folded, Draft(folded).renew(0).head)
    assert decode(encode(change.head)) == change.head
    assert [events.decode(events.encode(event)) for event in change.events] == list(change.events)


def token(head: Head, owner: str, run_id: str) -> str:
    """Return the token under which `owner` would claim a run next: no two claims have the same."""
    run = head.run(run_id)
    return f"{owner}.{run_id}.{run.attempts + 1 if run else 1}"


def _terms(head: Head, owner: str, run_id: str) -> ClaimTerms:
    return terms(token(head, owner, run_id), "entity" if owner.startswith("E") else "caller")


def _read(head: Head, row: KeyRow | RunRow | ApprovalRow) -> Any:
    """Return a stored row as whoever takes that head reads it: one of another epoch is gone."""
    return rows.decode(type(row), rows.encode(row), head)


def _accept(  # noqa: PLR0917 - as the search names them
    head: Head,
    run: str,
    owner: str,
    known: Kept | None,
    key: tuple[str, Kept | None] | None = None,
    busy: Busy = "queue",
) -> Command:
    name, kept = key or (None, None)
    return commands.AcceptRun(
        accepted(run, key=name, steers=busy == "steer"),
        queue_limit=32,
        terms=_terms(head, owner, run) if owner else None,
        key=kept and _read(head, KeyRow(epoch=kept.epoch, run_id=kept.run or None, fingerprint="f")),
        known=known and _read(head, RunRow(epoch=known.epoch, first=1)),
        busy=busy,
    )


def _claim(head: Head, owner: str, silent: str | None, stood: bool) -> Command:
    turn, claim = head.next_run, head.claim
    began = 0 if claim is None else claim.position if stood else claim.position - 1
    return commands.ClaimRun(NOW, _terms(head, owner, turn.id if turn else ""), idle_append=silent, since=began)


def _end(
    head: Head, held: str, run: str, approvals: tuple[str, ...] | None, callers: tuple[tuple[str, str], ...]
) -> Command:
    """Return the command that ends a run with an answer; without even an empty tuple of approvals, as cancelled."""
    cancelled = unanswered(run, NOW, RunCancelledError(""))
    terminal = cancelled if approvals is None else completed(run, *approvals)
    return commands.EndRun(held, terminal, callers={run: _terms(head, owner, run) for owner, run in callers})


def _answer(head: Head, approval: str, kept: Kept, others: tuple[str, ...], must_continue: tuple[str, str]) -> Command:
    run, owner = must_continue
    decision = Decision(id=approval, approved=True)
    bring = (*(Decision(id=other, approved=True) for other in others), decision)
    decided = decision if kept.decided else None
    row = ApprovalRow(epoch=kept.epoch, asked_by="", decision=decided, resumed_by=kept.run or None)
    terms_of_it = _terms(head, owner, run) if owner else None
    return commands.AnswerApproval(NOW, decision, _read(head, row), accepted(run, decisions=bring), terms_of_it)


def _interrupted(run: str) -> ToolResult:
    return ToolResult(at=NOW, run_id=run, key="1.call", error="interrupted", interrupted=True)


def _called(run: str) -> ToolResult:
    return ToolResult(at=NOW, run_id=run, key="1.call", text="done")


_STEPS: dict[str, Callable[[str], Any]] = {"started": tool_started, "interrupted": _interrupted, "result": _called}

_COMMANDS: dict[str, Callable[..., Command]] = {
    "accept": _accept,
    "claim": _claim,
    "record": lambda head, held, run, step: commands.RecordSteps(held, (_STEPS[step](run),)),
    "renew": lambda head, held: commands.RecordSteps(held),
    "retry": lambda head, held, run: commands.RetryRun(NOW, held, token(head, held.split(".")[0], run), "agent_failed"),
    "join": lambda head, held, runs: commands.JoinRuns(
        held, tuple(end_by_joining(accepted(run), head.runs[0].id, 2, NOW) for run in runs)
    ),
    "release": lambda head, held, signalled: commands.ReleaseRun(NOW, held, signalled),
    "end": _end,
    "cancel": lambda head, run: commands.CancelRun(NOW, run),
    "pause": lambda head, run: commands.PauseRun(NOW, run),
    "resume": lambda head, run: commands.ResumeRun(NOW, run),
    "end its waiting": lambda head, run: commands.CancelRun(NOW, run, "queue_time"),
    "give up": lambda head, run, silent: commands.ExpireRun(DEADLINE + 1, run, silent),
    "signal failed": lambda head, run, held, key: commands.SignalFailed(NOW, run, held, key, "f"),
    "answer": _answer,
    "reset": lambda head: commands.ResetThread(NOW),
    "delete": lambda head: commands.DeleteThread(NOW),
    "bury": lambda head: commands.FinishDelete(NOW, {}),
    "settle": lambda head: commands.RecordInstances(NOW, 1, ()),
}


def _in_order(head: Head) -> Head:
    """Return the head with its positions numbered anew, in the same order."""
    claim, waiting = head.claim, head.waiting
    used = {0, head.reset_at, *(at for run in head.runs for at in (run.first, run.settled))}
    used |= {claim.position, claim.void_after} if claim else set()
    used |= {waiting.first} if waiting else set()
    at = {position: number for number, position in enumerate(sorted(used))}
    return head.model_copy(
        update={
            "append_id": NEWEST,
            "position": len(used),
            "trimmed": 0,
            "title": "",
            "titled": 0,
            "reset_at": at[head.reset_at],
            "runs": tuple(
                run.model_copy(update={"first": at[run.first], "settled": at[run.settled]}) for run in head.runs
            ),
            "claim": claim
            and claim.model_copy(update={"position": at[claim.position], "void_after": at[claim.void_after]}),
            "waiting": waiting and waiting.model_copy(update={"first": at[waiting.first]}),
        }
    )


_DETAIL: dict[str, Callable[[Any], str]] = {
    "cancel_requested": lambda event: "" if event.reason == "asked" else str(event.reason),
    "cancelled": lambda event: "rollback" if event.code == RunRolledBackError.code else "",
    "accepted": lambda event: "decides" if event.request.decisions else "",
    "claimed": lambda event: str(event.token),
    "retried": lambda event: str(event.token),
    "failed": lambda event: str(event.code),
    "joined": lambda event: str(event.into),
    "completed": lambda event: " ".join(approval.id for approval in event.approvals),
    "approval_answered": lambda event: str(event.decision.id),
}


def _text(event: Event) -> Said:
    kind = "retried" if isinstance(event, Claimed) and event.failed else event.kind
    return kind, getattr(event, "run_id", ""), _DETAIL.get(kind, lambda event: "")(event)


_NAMES = {name(short): short for short in ROWS for name in (KeyRow.name_of, ApprovalRow.name_of, RunRow.name_of)}


def _kept(change: RowChange) -> tuple[str, bool, Kept]:
    row = change.row
    if isinstance(row, KeyRow):
        kept = Kept(row.epoch, row.run_id or "")
    elif isinstance(row, ApprovalRow):
        kept = Kept(row.epoch, row.resumed_by or "", row.decision is not None)
    else:
        kept = Kept(row.epoch)
    return _NAMES[change.name], change.is_new, kept
