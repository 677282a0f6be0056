"""What the thread's entity does: one operation at a time, which finishes runs and commits the document.

The engine delivers an operation again whose execution died, or whose document it refused because another one was
committed meanwhile. Once it can believe that an execution is gone that is not: then two overlap.
"""

from __future__ import annotations

from collections.abc import Iterator

from hosting.core.thread.commands import Change, Refused
from tests.hosting.core.thread.decisions import NEWEST, PAST, Decided
from tests.hosting.core.thread.history import TOMBSTONE
from tests.hosting.core.thread.world import Document, Execution, Holder, Signal, State, Step, World, kept

SILENT = (None, NEWEST, PAST)


class Entity:
    """The steps of the entity's operations and of the engine that delivers them."""

    def __init__(self, world: World) -> None:
        self._world = world

    def steps(self, state: State) -> Iterator[Step]:
        """Iterate over what may happen next to an operation."""
        working = [execution for execution in state.executions if not execution.orphan]
        if not working:
            yield from self._deliver(state)
        elif state.faults.overlaps and len(state.executions) == 1:
            yield self._overlap(state, working[0])
        if state.faults.repeats:
            for signal in sorted(set(state.signals)):
                yield f"{signal} is repeated", state.signalling(signal).suffering("repeats"), False, None
        for execution in state.executions:
            if state.faults.entity_deaths:
                died = self._over(state, execution, again=not execution.orphan).suffering("entity_deaths")
                yield f"{execution.name} dies", died, False, None
            if all(held.owner != execution.name for held in state.holders):
                yield from self._go_on(state, execution)

    def _deliver(self, state: State) -> Iterator[Step]:
        for at, signal in enumerate(state.signals):
            if signal in state.signals[:at]:
                continue
            delivered = state._replace(signals=(*state.signals[:at], *state.signals[at + 1 :]))
            yield f"the entity begins {_name(signal)}", self._begun(delivered, signal), True, None

    def _begun(self, state: State, signal: Signal) -> State:
        name = "E2" if any(execution.name == "E1" for execution in state.executions) else "E1"
        execution = Execution(name, signal, signal.epoch, bool(state.history.token), state.document)
        return state._replace(executions=tuple(sorted((*state.executions, execution))))

    def _overlap(self, state: State, execution: Execution) -> Step:
        orphaned = _replaced(state, execution, execution._replace(orphan=True)).suffering("overlaps")
        label = f"the engine begins {_name(execution.signal)} again beside {execution.name}"
        return label, self._begun(orphaned, execution.signal), False, None

    def _over(self, state: State, execution: Execution, *, again: bool = False) -> State:
        executions = tuple(other for other in state.executions if other != execution)
        holders = tuple(held for held in state.holders if held.owner != execution.name)
        over = state._replace(executions=executions, holders=holders)
        return over.signalling(execution.signal) if again else over

    def _go_on(self, state: State, execution: Execution) -> Iterator[Step]:
        head, signal = self._world.decide.heads[state.head], execution.signal
        if execution.through >= 0:
            yield self._commit(state, execution)
        elif signal.op == "delete":
            yield from self._delete(state, execution)
        elif execution.epoch < 0:
            yield self._call(state, execution)
        elif head.epoch > execution.epoch:
            yield f"{execution.name}: of an older epoch, nothing", self._over(state, execution), True, None
        elif signal.run not in state.history.open:
            known = execution._replace(through=len(state.history.marks))
            yield f"{execution.name} takes what has ended", _replaced(state, execution, known), True, None
        else:
            yield from self._watch(state, execution)

    def _call(self, state: State, execution: Execution) -> Step:
        """Accept the run that the operation brought, or find it by its row."""
        run = execution.signal.run
        decided = self._world.decide(state.head, "accept", run, "", state.row(run))
        if decided.kind is Refused:
            refused = self._over(state, execution)
            epoch = self._world.decide.heads[state.head].epoch
            requested = refused.signalling(Signal("delete", "", epoch)) if decided.signal else refused
            return f"{execution.name} refuses the call: {decided.refusal}", requested, True, None
        behind, broken = self._world.append(state, decided) if decided.kind is Change else (state, None)
        kinds = " + ".join(kind for kind, _, _ in decided.events) or "nothing"
        found = next(other for other in behind.executions if other.name == execution.name)
        behind = _replaced(behind, found, found._replace(epoch=self._world.decide.heads[behind.head].epoch))
        promised = behind if execution.orphan or run not in behind.history.open else behind.promising(run)
        return f"{execution.name} appends {kinds} for the call", promised, True, broken

    def _watch(self, state: State, execution: Execution) -> Iterator[Step]:
        """Claim what is unclaimed or lost, else wait until the lease of the claim is over."""
        name, held = execution.name, state.history.token
        if self._world.decide.heads[state.head].is_paused and execution.signal.op == "run":
            known = execution._replace(through=len(state.history.marks))
            yield f"{name} leaves the thread, which is paused", _replaced(state, execution, known), True, None
            return
        decided = self._world.decide(state.head, "claim", name, SILENT[execution.silence], execution.stood)
        if decided.kind is Change:
            yield from self._claim(state, execution, decided)
        elif execution.silence == 2:
            yield f"{name} sees an append", _replaced(state, execution, execution._replace(silence=0)), True, None
        elif execution.silence == 0 and held and not _is_alive(state, held):
            waited = _replaced(state, execution, execution._replace(silence=1))
            yield f"{name} sees no append for longer than a lease", waited, True, None
        if state.faults.returns:
            returned = self._over(state, execution, again=not execution.orphan).suffering("returns")
            yield f"{name} returns and leaves a signal", returned, False, None

    def _claim(self, state: State, execution: Execution, decided: Decided) -> Iterator[Step]:
        """Claim the run whose turn it is; a holder that works may lose it only to the engine's own mistake."""
        name, held = execution.name, state.history.token
        behind, broken = self._world.append(state, decided)
        if held and _is_alive(state, held):
            broken = "a holder that works and has its lease loses its claim"
        kinds = " + ".join(kind for kind, _, _ in decided.events)
        token = behind.history.token
        if not token:
            yield f"{name} appends {kinds}", behind, True, broken
            return
        holder = Holder(name, behind.history.open[0], token)
        yield f"{name} appends {kinds}", behind.holding(holder), True, broken
        if state.faults.lost_answers:
            unsure = behind.holding(holder._replace(at="unsure:go", lapsed=True)).suffering("lost_answers")
            yield f"{name} appends {kinds}, and the answer is lost", unsure, False, broken

    def _delete(self, state: State, execution: Execution) -> Iterator[Step]:
        head = self._world.decide.heads[state.head]
        if head.epoch > execution.epoch:
            tombstones = [at for at, mark in enumerate(state.history.marks) if mark == TOMBSTONE]
            known = execution._replace(through=tombstones[execution.epoch // 2] + 1, epoch=execution.epoch + 1)
            yield (
                f"{execution.name} erases what is older than the tombstone",
                _replaced(state, execution, known),
                True,
                None,
            )
            return
        decided = self._world.decide(state.head, "bury")
        if decided.kind is not Change:
            yield f"{execution.name}: nothing is being deleted", self._over(state, execution), True, None
            return
        behind, broken = self._world.append(state, decided)
        yield f"{execution.name} appends the tombstone", behind, True, broken

    def _commit(self, state: State, execution: Execution) -> Step:
        """Commit the document; the engine refuses one that another was committed beside."""
        given, broken = execution.given, None
        if given != state.document:
            again = self._over(state, execution, again=not execution.orphan)
            return f"{execution.name}: its document is refused", again, True, None
        document = given
        if (given.epoch, given.through) < (execution.epoch, execution.through):
            runs = state.history.conversation(given.runs, given.through, execution.through)
            document = Document(execution.epoch, execution.through, runs)
            broken = "a run is in the document twice" if len(set(runs)) < len(runs) else None
        if document[:2] < state.document[:2]:
            broken = "an older document takes the place of a newer one"
        committed = kept(self._over(state._replace(document=document), execution))
        return f"{execution.name} commits {' '.join(document.runs) or 'an empty document'}", committed, True, broken


def _is_alive(state: State, token: str) -> bool:
    """Tell whether a token's holder works within its lease, and the engine has not given its operation away."""
    orphans = {execution.name for execution in state.executions if execution.orphan}
    return any(held.token == token and not held.lapsed and held.owner not in orphans for held in state.holders)


def _name(signal: Signal) -> str:
    return " ".join(filter(None, [signal.op, signal.run, f"of epoch {signal.epoch}"]))


def _replaced(state: State, execution: Execution, by: Execution) -> State:
    executions = tuple(by if other == execution else other for other in state.executions)
    return state._replace(executions=tuple(sorted(executions)))
