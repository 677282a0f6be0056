"""What a log's events say, told once more and apart from the head, and which promise an event breaks.

It knows no rule of how things are decided, only what must never be seen in a log.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from tests.hosting.core.thread.decisions import Said

TOMBSTONE, RESET = "deleted", "reset"
MOST_LOST = 3


class History(NamedTuple):
    """A log so far. `marks` are what a document is made of, in order: runs that ended, resets, tombstones.

    Of the open runs it says which were accepted before a reset (`void`), which are to be cancelled, whose holders were
    lost since their tool's result, whose tool was started or has a result; `token` is of the claim, `undecided` are
    approvals. Of those that were `claimed` some are `interrupted`: what they said is kept. Of those that are
    `forgotten`, rolled back, nothing is.
    A person has those stand still that are `paused`.
    """

    life: str = "open"
    open: tuple[str, ...] = ()
    begun: frozenset[str] = frozenset()
    token: str = ""
    marks: tuple[str, ...] = ()
    void: frozenset[str] = frozenset()
    cancelled: frozenset[str] = frozenset()
    claimed: frozenset[str] = frozenset()
    interrupted: frozenset[str] = frozenset()
    forgotten: frozenset[str] = frozenset()
    lost: tuple[str, ...] = ()
    started: frozenset[str] = frozenset()
    resulted: frozenset[str] = frozenset()
    undecided: frozenset[str] | None = None
    deciding: frozenset[str] = frozenset()
    paused: frozenset[str] = frozenset()

    def conversation(self, runs: tuple[str, ...], since: int, through: int) -> tuple[str, ...]:
        """Return the runs of a document with those marks applied."""
        for mark in self.marks[since:through]:
            runs = () if mark in (TOMBSTONE, RESET) else (*runs, mark)
        return runs


Told = tuple[History, str | None]


def after(history: History, events: Iterable[Said]) -> Told:
    """Return the history behind these events, and the first promise that they break."""
    broken: str | None = None
    for kind, run, detail in events:
        history, new = EVENTS[kind](history, run, detail)
        broken = broken or new
    return history, broken


def _accepted(history: History, run: str, detail: str) -> Told:
    broken = None
    if history.life == "deleting":
        broken = "a run is accepted while its thread is being deleted"
    elif run in history.begun:
        broken = "a run is accepted twice"
    elif detail and history.undecided is None:
        broken = "a run that goes on begins although no approvals wait"
    elif detail and history.undecided:
        broken = "a run goes on before all approvals are decided"
    elif not detail and history.undecided is not None:
        broken = "a message is accepted while approvals wait"
    begun = history._replace(life="open", open=(*history.open, run), begun=history.begun | {run}, undecided=None)
    return begun._replace(deciding=history.deciding | {run}) if detail else begun, broken


def _claimed(history: History, run: str, token: str) -> Told:
    broken = None
    if not history.open or history.open[0] != run:
        broken = "a run is claimed out of its turn"
    elif run in history.cancelled and not (run in history.interrupted and run in history.claimed):
        broken = "a run is claimed that is to be cancelled"
    elif history.undecided is not None and run not in history.deciding:
        broken = "a run is claimed while approvals wait"
    elif run in history.paused and not history.token:
        broken = "a run is claimed that is paused"
    lost = tuple(sorted((*history.lost, run))) if history.token else history.lost
    return history._replace(token=token, lost=lost, claimed=history.claimed | {run}), broken


def _retried(history: History, run: str, token: str) -> Told:
    claimed, broken = _claimed(history._replace(token=""), run, token)
    return claimed, broken or (None if history.token else "a run is tried again that nobody holds")


def _released(history: History, run: str, detail: str) -> Told:
    return history._replace(token=""), None if history.token else "a claim is released that nobody has"


def _ended(history: History, run: str, detail: str) -> Told:
    broken = None
    if run not in history.open:
        broken = "a run ends that is not open: it has two ends"
    elif history.open[0] != run:
        broken = "a run ends before one that was accepted earlier"
    elif detail == "RunCrashed" and history.lost.count(run) + 1 < MOST_LOST:
        broken = f"run_crashed, though {history.lost.count(run) + 1} of its holders were lost"
    elif run in history.forgotten and detail != "rollback":
        broken = "a run that was rolled back leaves something"
    elif not history.token and run in history.interrupted and run in history.claimed:
        broken = "a run that was begun and interrupted ends without what it said"
    mark = () if run in history.void or detail == "rollback" else (run,)
    ended = history._replace(
        open=tuple(other for other in history.open if other != run),
        token="",
        marks=history.marks + mark,
        void=history.void - {run},
        cancelled=history.cancelled - {run},
        claimed=history.claimed - {run},
        interrupted=history.interrupted - {run},
        forgotten=history.forgotten - {run},
        lost=tuple(other for other in history.lost if other != run),
        started=history.started - {run},
        resulted=history.resulted - {run},
        deciding=history.deciding - {run},
        paused=history.paused - {run},
    )
    return ended, broken


def _joined(history: History, run: str, into: str) -> Told:
    """End a run that leaves no mark of its own: the one that took its message has it."""
    broken = None
    if run not in history.open:
        broken = "a run joins another that is not open: it has two ends"
    elif not history.token or history.open[0] != into or run == into:
        broken = "a run joins one that is not at work"
    elif run in history.cancelled:
        broken = "a run joins another that is to be cancelled"
    elif into in history.cancelled or into in history.void:
        broken = "a message joins a run that leaves nothing"
    others = tuple(other for other in history.open if other != run)
    return history._replace(open=others, void=history.void - {run}, cancelled=history.cancelled - {run}), broken


def _failed(history: History, run: str, code: str) -> Told:
    return _ended(history, run, "RunCrashed" if code == "run_crashed" else "")


def _completed(history: History, run: str, approvals: str) -> Told:
    ended, broken = _ended(history, run, "")
    waits = frozenset(approvals.split()) if approvals and run not in history.void else None
    return ended._replace(undecided=waits), broken


def _tool_started(history: History, run: str, detail: str) -> Told:
    return history._replace(started=history.started | {run}), None


def _tool_result(history: History, run: str, detail: str) -> Told:
    broken = "a tool has two results" if run in history.resulted else None
    lost = tuple(other for other in history.lost if other != run)
    return history._replace(resulted=history.resulted | {run}, lost=lost), broken


def _cancel_requested(history: History, run: str, reason: str) -> Told:
    is_held = bool(history.token) and history.open[:1] == (run,)
    broken = "a run that somebody holds is ended for its waiting" if reason == "queue_time" and is_held else None
    if reason == "interrupt" and run not in history.cancelled:
        history = history._replace(interrupted=history.interrupted | {run})
    if reason == "rollback" and run not in history.cancelled:
        history = history._replace(forgotten=history.forgotten | {run})
    return history._replace(cancelled=history.cancelled | {run}, paused=history.paused - {run}), broken


def _paused(history: History, run: str, detail: str) -> Told:
    broken = "a run is paused that is to be cancelled" if run in history.cancelled else None
    return history._replace(paused=history.paused | {run}), broken


def _resumed(history: History, run: str, detail: str) -> Told:
    broken = None if run in history.paused else "a run is resumed that is not paused"
    return history._replace(paused=history.paused - {run}), broken


def _approval_answered(history: History, run: str, approval: str) -> Told:
    broken = None
    if history.undecided is None or approval not in history.undecided:
        broken = "an approval is decided twice, or while none waits"
    return history._replace(undecided=(history.undecided or frozenset()) - {approval}), broken


def _reset(history: History, run: str, detail: str) -> Told:
    void = history.void | set(history.open)
    return history._replace(marks=(*history.marks, RESET), void=void, undecided=None), None


def _deleting(history: History, run: str, detail: str) -> Told:
    broken = None if history.life == "open" else "a thread is deleted that is not open"
    return History("deleting", begun=history.begun, marks=history.marks), broken


def _deleted(history: History, run: str, detail: str) -> Told:
    broken = None if history.life == "deleting" else "a tombstone for a thread that is not being deleted"
    return History("deleted", begun=history.begun, marks=(*history.marks, TOMBSTONE)), broken


def _settled(history: History, run: str, detail: str) -> Told:
    is_behind = history.life == "deleted" and history.marks.count(TOMBSTONE) == 1
    return history, None if is_behind else "the receipt of another life of the thread is settled"


def _same(history: History, run: str, detail: str) -> Told:
    return history, None


EVENTS: dict[str, Callable[[History, str, str], Told]] = {
    "accepted": _accepted,
    "attached": _same,
    "claimed": _claimed,
    "retried": _retried,
    "released": _released,
    "tool_started": _tool_started,
    "tool_result": _tool_result,
    "completed": _completed,
    "failed": _failed,
    "cancelled": _ended,
    "joined": _joined,
    "cancel_requested": _cancel_requested,
    "paused": _paused,
    "resumed": _resumed,
    "approval_answered": _approval_answered,
    "reset": _reset,
    "deleting": _deleting,
    "deleted": _deleted,
    "settled": _settled,
}
