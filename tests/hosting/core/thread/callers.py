"""What processes do for those who ask: decide, append, have a signal taken, and only then promise something.

Whoever waits is answered as soon as the log has what is waited for: the answer changes nothing for anybody else.
"""

from __future__ import annotations

from collections.abc import Iterator

from hosting.core.thread.commands import Change, Refused, Unchanged
from tests.hosting.core.thread.decisions import NEWEST, PAST, Decided
from tests.hosting.core.thread.world import DONE, NEW, Holder, Request, Signal, Stage, State, Step, World

PROMISES_NOTHING = ("give up", "end its waiting", "settle")
"""What a process asks by itself: it answers nobody, so it needs no signal."""


class Callers:
    """The steps of all requests, and the ends of the processes that serve them."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._processes = sorted({request.process for request in world.requests})

    def steps(self, state: State) -> Iterator[Step]:
        """Iterate over what may happen next to a request or a process."""
        for number, stage in enumerate(state.requests):
            request = self._world.requests[number]
            if stage == NEW:
                yield from self._begin(state, number, request)
            elif stage.name == "signal":
                yield from self._signal(state, number, request, stage)
            elif stage.name == "unsure":
                yield from self._made_sure(state, number, request, stage)
            elif stage.name == "failed":
                yield self._take_back(state, number, request, stage)
            elif stage.op == "run" and stage.run in state.history.paused and not state.history.token:
                yield f"{request} is answered: its run is paused", state.at(number, DONE), True, None
            elif stage.op == "run" and state.history.open[:1] == (stage.run,) and not state.history.token:
                yield from self._claim_turn(state, request, stage)
        if self._world.sweeps and not (state.signals or state.executions):
            yield from self._sweep(state)
        if state.faults.deaths:
            yield from self._deaths(state)

    def _sweep(self, state: State) -> Iterator[Step]:
        """Signal for the newest run of a thread that stands still, unless it is paused: a pause has left a mark."""
        head, requests = self._world.decide.heads[state.head], zip(state.requests, self._world.requests, strict=True)
        marked = [request.run for stage, request in requests if request.asks == "pause" and stage != NEW]
        if marked and not head.is_paused and head.state == "open":
            signal = Signal("run", head.runs[-1].id if head.runs else marked[0], head.epoch)
            yield f"a sweep signals for {signal.run}", state.signalling(signal), True, None

    def _begin(self, state: State, number: int, request: Request) -> Iterator[Step]:
        decided = self._decided(state, request)
        if decided is None:
            return
        if decided.kind is not Change:
            behind, row = self._behind(state, number, request, decided), state.row(request.key or "")
            is_known = row is not None and row.run and row.epoch == self._world.decide.heads[state.head].epoch
            broken = "a repeat of a key is refused" if decided.kind is Refused and is_known else None
            yield f"{request}: {decided.refusal or 'nothing to append'}", behind, False, broken
            return
        appended, broken = self._world.append(state, decided)
        if request.asks == "give up" and _is_alive(state):
            broken = broken or "a holder that works and has its lease loses its claim"
        behind = self._behind(appended, number, request, decided)
        kinds = " + ".join(kind for kind, _, _ in decided.events)
        owned = appended.history.token
        holder = Holder(request.process, decided.run, owned, signalled=False)
        is_claimed = owned != state.history.token and owned.startswith(f"{request.process}.")
        yield f"{request} appends {kinds}", behind.holding(holder) if is_claimed else behind, False, broken
        if state.faults.lost_answers and decided.signal:
            stage = behind.requests[number]._replace(name="unsure")
            unsure = holder._replace(at="unsure:go", lapsed=True)
            lost = (behind.holding(unsure) if is_claimed else behind).at(number, stage).suffering("lost_answers")
            yield f"{request} appends {kinds}, and the answer is lost", lost, False, broken

    def _decided(self, state: State, request: Request) -> Decided | None:
        """Return what is decided on a request, or None while there is nothing yet that it could be about."""
        decide, owner = self._world.decide, request.process if request.waits else ""
        if request.asks == "open":
            key = (request.key, state.row(request.key)) if request.key else None
            return decide(state.head, "accept", request.run, owner, state.row(request.run), key, request.busy)
        if request.asks == "answer":
            row = state.row(request.approval)
            others = tuple(name for name, kept in state.rows if kept.decided and name != request.approval)
            return row and decide(state.head, "answer", request.approval, row, others, (request.run, owner))
        if not state.history.begun or (request.run and request.run not in state.history.begun):
            return None
        if request.asks == "give up":
            return decide(state.head, "give up", request.run, PAST if _is_alive(state) else NEWEST)
        return decide(state.head, request.asks, *([request.run] if request.run else []))

    def _behind(self, state: State, number: int, request: Request, decided: Decided) -> State:
        """Return the state behind a decision: a signal comes first, where one is asked for."""
        is_own = decided.kind is Change and any(event[:2] == ("accepted", request.run) for event in decided.events)
        head = self._world.decide.heads[state.head]
        op, run = ("delete", "") if head.state == "deleting" else ("run", decided.run)
        runs = self._world.decide.heads[decided.head].runs
        if op == "run" and request.asks in ("cancel", "resume") and runs:
            run = runs[-1].id
        stage = Stage("signal", op, run, head.epoch, is_own)
        if decided.signal and request.asks not in PROMISES_NOTHING:
            return state.at(number, stage)
        has_ended = decided.kind is Unchanged and run and run not in state.history.open
        if decided.kind is Refused or (has_ended and op == "run"):
            return state.at(number, DONE)
        return self._promise(state, number, request, stage)

    def _signal(self, state: State, number: int, request: Request, stage: Stage) -> Iterator[Step]:
        signal = Signal(stage.op, stage.run, stage.epoch)
        taken = state.signalling(signal)
        holders = tuple(
            held._replace(signalled=True) if (held.owner, held.run) == (request.process, stage.run) else held
            for held in taken.holders
        )
        kept = self._promise(taken._replace(holders=tuple(sorted(holders))), number, request, stage)
        yield f"{request}: signal for {stage.op} {stage.run} taken", kept, True, None
        if state.faults.failed_signals:
            failed = stage._replace(name="failed") if stage.own else DONE
            yield f"{request}: signal fails", state.at(number, failed).suffering("failed_signals"), False, None
            unknown = taken.at(number, failed).suffering("failed_signals")
            yield f"{request}: signal taken, but seems to fail", unknown, False, None

    def _promise(self, state: State, number: int, request: Request, stage: Stage) -> State:
        """Return the state in which somebody is answered, or waits."""
        history = state.history
        if stage.op == "delete":
            # the next mark is the tombstone: whoever is told of a deletion may count on it
            deleting = state.promising(len(history.marks)) if history.life == "deleting" else state
            waits = request.asks == "delete" and history.life == "deleting"
            return deleting.at(number, Stage("waiting", "delete") if waits else DONE)
        if request.asks in ("delete", "pause", *PROMISES_NOTHING):
            return state.at(number, DONE)
        if request.asks == "reset":
            resets = [at for at, mark in enumerate(history.marks) if mark == "reset"]
            return state.promising(resets[-1]).at(number, DONE) if resets else state.at(number, DONE)
        waits = request.waits and stage.run in history.open
        if request.asks in ("cancel", "resume"):
            return state.promising(request.run).at(number, DONE)
        return state.promising(stage.run).at(number, Stage("waiting", "run", stage.run) if waits else DONE)

    def _claim_turn(self, state: State, request: Request, stage: Stage) -> Iterator[Step]:
        """Claim the run of a caller who waits, where its turn has come and nobody else has."""
        decided = self._world.decide(state.head, "claim", request.process, None, False)
        if decided.kind is Change:
            behind, broken = self._world.append(state, decided)
            holder = Holder(request.process, stage.run, behind.history.token)
            kinds = " + ".join(kind for kind, _, _ in decided.events)
            claimed = behind.holding(holder) if holder.token else behind
            yield f"{request} appends {kinds}, for its turn has come", claimed, True, broken

    def _made_sure(self, state: State, number: int, request: Request, stage: Stage) -> Iterator[Step]:
        """Append the same again, which tells that it counted, or behind an erasure nothing of it."""
        behind = state.at(number, stage._replace(name="signal"))
        for held in state.holders:
            if (held.owner, held.run, held.at) == (request.process, stage.run, "unsure:go") and stage.own:
                behind = behind.holding(held._replace(at="go"), instead=held)
        yield f"{request} appends the same again and is told that it counted", behind, True, None
        if self._world.decide.heads[state.head].epoch > stage.epoch:
            yield f"{request} finds its append erased, and decides again", state.at(number, NEW), False, None

    def _take_back(self, state: State, number: int, request: Request, stage: Stage) -> Step:
        own = f"{request.process}.{stage.run}.1" if request.waits else None
        for held in state.holders:
            if (held.owner, held.run) == (request.process, stage.run):
                state = state.letting_go(held)
        decided = self._world.decide(state.head, "signal failed", stage.run, own, request.key)
        behind, broken = self._world.append(state, decided) if decided.kind is Change else (state, None)
        kinds = " + ".join(kind for kind, _, _ in decided.events) or "nothing"
        if ("cancel_requested", stage.run, "") in decided.events and stage.run in state.promised:
            broken = "a run that somebody else was promised is cancelled by a failed signal"
        return f"{request} appends {kinds}, for its signal failed: 503", behind.at(number, DONE), True, broken

    def _deaths(self, state: State) -> Iterator[Step]:
        for process in self._processes:
            requests = tuple(
                stage if stage == NEW or request.process != process else DONE
                for request, stage in zip(self._world.requests, state.requests, strict=True)
            )
            holders = tuple(held for held in state.holders if held.owner != process)
            if requests != state.requests or holders != state.holders:
                died = state._replace(requests=requests, holders=holders).suffering("deaths")
                yield f"{process} dies", died, False, None


def _is_alive(state: State) -> bool:
    """Tell whether somebody holds the claim and has its lease."""
    return any(not held.lapsed and held.token == state.history.token for held in state.holders)
