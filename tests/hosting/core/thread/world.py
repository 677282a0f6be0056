"""The world around one thread's log, as small values: requests, holders of runs, the entity, its document and signals.

An append is one step: whoever decides takes the head, and what it appends counts only on that head. Everything else is
a step of its own, so anything else may happen between any two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from hosting.names import Busy
from tests.hosting.core.thread.decisions import Decided, Decisions, Kept
from tests.hosting.core.thread.history import History, Told, after


@dataclass(frozen=True)
class Request:
    """What somebody asks of a process. With `waits` its caller waits, else the answer is a 202.

    `asks`: for a run to be opened (`open`, with `key` under an idempotency key, and `busy` if another one has not
    ended), cancelled (`cancel`) or, once its
    time is up, ended (`give up`, or `end its waiting` in the queue); for a deletion's receipt to be settled (`settle`);
    for an `answer` to an approval, from which `run` would go on; for a `reset` or a
    `delete`.
    """

    process: str
    asks: str
    run: str = ""
    waits: bool = False
    key: str | None = None
    approval: str = ""
    busy: Busy = "queue"

    def __str__(self) -> str:
        """Return it as a trace names it."""
        asks = self.asks if self.busy == "queue" else self.busy
        return " ".join(filter(None, [self.process, asks, self.approval, self.run, "and waits" * self.waits]))


class Faults(NamedTuple):
    """How often each fault may still happen.

    `deaths` of processes, `entity_deaths` of its operations, `sleeps` of holders past their leases, `overlaps` of two
    executions of one operation, `repeats` of a signal, `failed_signals`, `lost_answers` to appends that counted,
    `stops` of holders that let go, `returns` of an operation that goes on in another one, `failures` of
    an attempt that is followed by another.
    """

    deaths: int = 0
    entity_deaths: int = 0
    sleeps: int = 0
    overlaps: int = 0
    repeats: int = 0
    failed_signals: int = 0
    lost_answers: int = 0
    stops: int = 0
    returns: int = 0
    failures: int = 0


class Stage(NamedTuple):
    """How far a request is: `new`, `unsure` whether its append counted, to `signal`, `failed` to, `waiting`, `done`.

    The signal is for the operation `op` of that epoch; `own`: the run was accepted by this very request.
    """

    name: str = "new"
    op: str = ""
    run: str = ""
    epoch: int = 0
    own: bool = False


NEW, DONE = Stage(), Stage("done")
STALE = "stale"
"""The token of whoever holds its run no more: which it was does not matter."""


class Holder(NamedTuple):
    """Somebody who runs the agent: a process, or an execution of the entity's operation.

    `at`: about to `go` on, to `call` the tool that may be called once, behind the call (`called`), or `unsure` whether
    its last append counted, behind which comes what follows the colon. `lapsed`: it slept past its lease.
    """

    owner: str
    run: str
    token: str
    at: str = "go"
    signalled: bool = True
    lapsed: bool = False


class Signal(NamedTuple):
    """An operation that the engine has taken: `run` (of a run, or of none), `delete`, or a `call` that opens one."""

    op: str
    run: str
    epoch: int


class Document(NamedTuple):
    """The stored conversation: the epoch and the position that it names, and the runs that it holds."""

    epoch: int = 0
    through: int = 0
    runs: tuple[str, ...] = ()


class Execution(NamedTuple):
    """An execution of an operation. `stood`: the claim of now stood in the log when the operation began.

    `silence`: 1 once the lease of the claim was waited out, 2 when an append came after that. `given`: the
    document that it was handed. `orphan`: the engine has given the operation to another execution.
    `through`: the mark up to which it will commit the document, -1 before it knows.
    """

    name: str
    signal: Signal
    epoch: int
    stood: bool
    given: Document
    silence: int = 0
    orphan: bool = False
    through: int = -1


class State(NamedTuple):
    """Everything at one moment.

    `promised` are runs that somebody counts on, and positions that the document has to reach.
    """

    head: int
    history: History
    rows: tuple[tuple[str, Kept], ...]
    document: Document
    requests: tuple[Stage, ...]
    holders: tuple[Holder, ...]
    signals: tuple[Signal, ...]
    executions: tuple[Execution, ...]
    called: frozenset[str]
    promised: frozenset[str | int]
    faults: Faults

    def row(self, name: str) -> Kept | None:
        """Return a row, or None."""
        return next((kept for known, kept in self.rows if known == name), None)

    def signalling(self, signal: Signal) -> State:
        """Return the state in which the engine has taken a signal too."""
        return self._replace(signals=tuple(sorted((*self.signals, signal))))

    def holding(self, holder: Holder, *, instead: Holder | None = None) -> State:
        """Return the state with that holder too, instead of another one."""
        return self._replace(holders=tuple(sorted((*(held for held in self.holders if held != instead), holder))))

    def letting_go(self, holder: Holder) -> State:
        """Return the state in which a holder has stopped."""
        return self._replace(holders=tuple(held for held in self.holders if held != holder))

    def at(self, number: int, stage: Stage) -> State:
        """Return the state with a request at that stage."""
        return self._replace(requests=(*self.requests[:number], stage, *self.requests[number + 1 :]))

    def promising(self, *promised: str | int) -> State:
        """Return the state in which that is promised too."""
        return kept(self._replace(promised=self.promised.union(promised)))

    def suffering(self, fault: str) -> State:
        """Return the state in which that fault has happened."""
        return self._replace(faults=self.faults._replace(**{fault: getattr(self.faults, fault) - 1}))


Step = tuple[str, State, bool, str | None]


@dataclass(frozen=True)
class World:
    """What a search begins with, and how an append changes it.

    `tools`: the runs that call a tool which may be called once. `approvals`: those that a run ends with. `calls`:
    the runs that operations of other packages bring to the entity. `sweeps`: a run that was paused has a mark, so a
    sweep signals for its thread where that stands still.
    """

    requests: tuple[Request, ...]
    faults: Faults
    tools: frozenset[str] = frozenset()
    approvals: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    calls: tuple[str, ...] = ()
    sweeps: bool = False
    decide: Decisions = field(default_factory=Decisions)
    _told: dict[tuple[History, tuple[tuple[str, str, str], ...]], Told] = field(default_factory=dict)

    def first(self) -> State:
        """Return the state before anything happened."""
        return State(
            head=0,
            history=History(),
            rows=(),
            document=Document(),
            requests=(NEW,) * len(self.requests),
            holders=(),
            signals=tuple(Signal("call", run, -1) for run in self.calls),
            executions=(),
            called=frozenset(),
            promised=frozenset(),
            faults=self.faults,
        )

    def append(self, state: State, decided: Decided, held: str = "") -> tuple[State, str | None]:
        """Return the state behind an append, made under the token `held` if any, and the promise that it breaks."""
        requested = (state.history, decided.events)
        received = self._told.get(requested)
        if received is None:
            received = self._told[requested] = after(*requested)
        history, broken = received
        if held and held != state.history.token:
            broken = "a stale token appends"
        rows = dict(state.rows)
        for name, is_new, row in decided.rows:
            before = rows.get(name)
            if is_new and before is not None:
                broken = f"a row that is to be new is there: {name}"
            elif name == "k" and before is not None and before.run and row.run and before.epoch == row.epoch:
                broken = "a key begins two runs"
            rows[name] = row
        moved = history.token != state.history.token
        executions = tuple(
            execution._replace(silence=2 if execution.silence else 0, stood=execution.stood and not moved)
            for execution in state.executions
        )
        behind = state._replace(
            head=decided.head,
            history=history,
            rows=tuple(sorted(rows.items())),
            executions=executions,
            holders=tuple(sorted({_aged(held, history.token) for held in state.holders})),
            requests=tuple(
                DONE if stage.name == "waiting" and _has_come(history, stage) else stage for stage in state.requests
            ),
        )
        return kept(behind), broken

    def is_over_now(self, state: State) -> bool:
        """Tell whether all is quiet, and all that was promised has come about, or waits for the end of a pause."""
        is_paused, requests = self.decide.heads[state.head].is_paused, state.requests
        is_quiet = not state.signals and all(stage in (NEW, DONE) for stage in requests)
        return is_quiet and (is_paused or not (state.executions or state.promised))


def kept(state: State) -> State:
    """Return the state without the promises that were kept."""
    history, document = state.history, state.document
    if not state.promised:
        return state
    rest = history.conversation(document.runs, document.through, len(history.marks))
    open_promises = frozenset(
        promised
        for promised in state.promised
        if (
            document.through <= promised
            if isinstance(promised, int)
            else promised in history.open or (promised in rest and promised not in document.runs)
        )
    )
    return state if open_promises == state.promised else state._replace(promised=open_promises)


def _aged(held: Holder, token: str) -> Holder:
    """Return a holder as it is under that claim; of a stale one it matters only what it is about to do."""
    if held.token == token:
        return held
    return Holder(held.owner, held.run, STALE, held.at.removeprefix("unsure:"))


def _has_come(history: History, stage: Stage) -> bool:
    """Tell whether what a request waits for is in the log: the tombstone, or its run's end."""
    return history.life != "deleting" if stage.op == "delete" else stage.run not in history.open
