"""What whoever holds a run does, in whatever process: one tool that may be called once, then the run's end."""

from __future__ import annotations

from collections.abc import Iterator

from hosting.core.thread.commands import Change
from tests.hosting.core.thread.decisions import Decided
from tests.hosting.core.thread.world import STALE, Holder, State, Step, World


class Holders:
    """The steps of everybody who holds a run, or believes so."""

    def __init__(self, world: World) -> None:
        self._world = world

    def steps(self, state: State) -> Iterator[Step]:
        """Iterate over what a holder may do next, and what may befall it."""
        for held in state.holders:
            name = f"{held.owner} with {held.run}"
            if held.at == "call":
                broken = "a tool that may be called once is called twice" if held.run in state.called else None
                called = state._replace(called=state.called | {held.run})
                yield f"{name} calls the tool", called.holding(held._replace(at="called"), instead=held), True, broken
            elif held.at == "called":
                yield from self._record(state, held, "result", "go")
            elif held.at == "go":
                yield from self._go_on(state, held)
            elif held.at != "unsure:go" or held.signalled:
                sure = held._replace(at=held.at.removeprefix("unsure:"))
                yield f"{name} is told that its append counted", state.holding(sure, instead=held), True, None
            if state.faults.sleeps and not held.lapsed and held.token != STALE:
                asleep = state.holding(held._replace(lapsed=True), instead=held).suffering("sleeps")
                yield f"{name} sleeps past its lease", asleep, False, None

    def _go_on(self, state: State, held: Holder) -> Iterator[Step]:
        history = state.history
        if state.faults.stops:  # its process drains, or the attempt's time is up: of the entity's holder too
            decided = self._world.decide(state.head, "release", held.token, held.signalled)
            yield from self._append(state.suffering("stops"), held, decided, None, is_fair=False)
        if held.lapsed:
            renewed = self._world.decide(state.head, "renew", held.token)
            yield from self._append(state, held, renewed, "go")
        if state.faults.failures and held.signalled and held.token != STALE:
            tried = self._world.decide(state.head, "retry", held.token, held.run)
            yield from self._append(state.suffering("failures"), held, tried, "go", is_fair=False)
        if held.run in history.paused and held.signalled:
            decided = self._world.decide(state.head, "release", held.token, True)
            yield from self._append(state, held, decided, None)
        if held.run in history.cancelled:
            yield from self._end(state, held, None)
        elif not held.signalled:
            return
        elif held.run not in self._world.tools or held.run in history.resulted:
            if held.run in history.resulted and (waiting := self._steering(state)):
                joined = self._world.decide(state.head, "join", held.token, waiting)
                if joined.kind is Change:
                    yield from self._append(state, held, joined, "go")
            yield from self._end(state, held, self._world.approvals.get(held.run, ()))
        elif held.run in history.started:
            yield from self._record(state, held, "interrupted", "go")
        else:
            yield from self._record(state, held, "started", "call")

    def _steering(self, state: State) -> tuple[str, ...]:
        """Return the runs that were to join whichever run is at work, also those that are to end by now."""
        head = self._world.decide.heads[state.head]
        return tuple(run.id for run in head.runs[1:] if run.steers)

    def _record(self, state: State, held: Holder, step: str, then: str) -> Iterator[Step]:
        decided = self._world.decide(state.head, "record", held.token, held.run, step)
        yield from self._append(state, held, decided, then)

    def _end(self, state: State, held: Holder, approvals: tuple[str, ...] | None) -> Iterator[Step]:
        runs = sorted(run for run, _ in self._callers(state, held.owner))
        callers = tuple((held.owner, run) for run in runs)
        decided = self._world.decide(state.head, "end", held.token, held.run, approvals, callers)
        yield from self._append(state, held, decided, None)

    def _callers(self, state: State, process: str) -> set[tuple[str, bool]]:
        """Return the runs whose callers wait in a process, and whether their signals were taken."""
        return {
            (stage.run, stage.name == "waiting")
            for request, stage in zip(self._world.requests, state.requests, strict=True)
            if request.process == process
            and request.waits
            and (stage.name == "waiting" or (stage.name == "signal" and stage.own))
        }

    def _append(
        self, state: State, held: Holder, decided: Decided, then: str | None, *, is_fair: bool = True
    ) -> Iterator[Step]:
        """Append, and go on `then`, or no more; whose token is stale lets go."""
        name, stopped = f"{held.owner} with {held.run}", state.letting_go(held)
        if decided.kind is not Change:
            yield f"{name} lets go: its claim is no more", stopped, is_fair, None
            return
        kinds = " + ".join(kind for kind, _, _ in decided.events) or "nothing, which renews its lease"
        behind, broken = self._world.append(stopped, decided, held.token)
        if then is not None and behind.history.token:
            following = held._replace(token=behind.history.token, at=then, lapsed=False)
        elif behind.history.token:
            run = behind.history.open[0]
            following = Holder(
                held.owner, run, behind.history.token, signalled=(run, True) in self._callers(state, held.owner)
            )
        else:
            yield f"{name} appends {kinds}", behind, is_fair, broken
            return
        yield f"{name} appends {kinds}", behind.holding(following), is_fair, broken
        if state.faults.lost_answers and decided.events:
            unsure = following._replace(at=f"unsure:{following.at}", lapsed=True)
            lost = behind.holding(unsure).suffering("lost_answers")
            yield f"{name} appends {kinds}, and the answer is lost", lost, False, broken
