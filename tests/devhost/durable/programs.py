"""Random orchestrator programs: their strategy, the app that plays them, and the end that each must have.

A program is a list of steps, each a JSON list that begins with its kind. Programs are made so that their end does not
depend on the order of events: what a `task_any` won and what an entity had counted is not looked at. Inside a compound
that is part of another one nothing fails, because the SDK completes such a compound twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

import azure.durable_functions as df
from hypothesis import strategies as st

from tests.devhost.durable.scenarios import Scenario

Step = list[Any]
Steps = Generator[Any, Any, Any]
_KEYS = st.sampled_from(["x", "y"])
_NUMBERS = st.integers(1, 9)


def _steps(*kinds: st.SearchStrategy[Step]) -> st.SearchStrategy[list[Step]]:
    return st.lists(st.one_of(*kinds), min_size=1, max_size=4)


_SAFE = (
    st.tuples(st.just("act"), _NUMBERS).map(list),
    st.tuples(st.just("timer"), st.integers(0, 40)).map(list),
    st.tuples(st.just("call"), _KEYS, _NUMBERS).map(list),
)
_FAILING = (
    st.just(["fail"]),
    # Attempts that are needed, attempts that are made; 0 needed means that none succeeds.
    st.sampled_from([["retry", 1, 3], ["retry", 3, 3], ["retry", 2, 4], ["retry", 0, 2]]),
)
_SIGNAL = st.tuples(st.just("signal"), _KEYS, _NUMBERS).map(list)
_EVENT = st.just(["event"])
_FLAT = st.tuples(st.sampled_from(["all", "any"]), _steps(*_SAFE, *_FAILING)).map(list)
_CHILD = st.tuples(st.just("child"), _steps(*_SAFE, *_FAILING, _SIGNAL, _FLAT)).map(list)
_NESTED = st.tuples(
    st.sampled_from(["all", "any"]),
    _steps(*_SAFE, _CHILD, st.tuples(st.sampled_from(["all", "any"]), _steps(*_SAFE, _CHILD)).map(list)),
).map(list)
PROGRAMS = _steps(*_SAFE, *_FAILING, _SIGNAL, _EVENT, _FLAT, _CHILD, _NESTED)


def build_app() -> df.DFApp:
    """Return a fresh app that plays programs."""
    app = df.DFApp()
    attempts: Counter[str] = Counter()

    @app.activity_trigger(input_name="x")
    async def act(x: int) -> int:
        return x

    @app.activity_trigger(input_name="x")
    async def fail(x: object) -> None:
        raise ValueError("on purpose")

    @app.activity_trigger(input_name="x")
    async def flaky(x: list[Any]) -> str:
        name, needed = x
        attempts[name] += 1
        if not needed or attempts[name] < needed:
            raise ValueError(f"attempt {attempts[name]}")
        return "ok"

    @app.entity_trigger(context_name="context", entity_name="counter")
    def add(context: df.DurableEntityContext) -> None:
        context.set_state(context.get_state(lambda: 0) + context.get_input())
        context.set_result(None)

    @app.orchestration_trigger(context_name="c")
    def play(c: df.DurableOrchestrationContext) -> Steps:
        results = []
        for number, step in enumerate(c.get_input()):
            results.append((yield from _play(c, step, f"{c.instance_id}-{number}")))
        return results

    return app


def _play(c: df.DurableOrchestrationContext, step: Step, path: str) -> Steps:
    if step[0] == "signal":
        c.signal_entity(df.EntityId("counter", step[1]), "add", step[2])
        return "signalled"
    try:
        result = yield _task(c, step, path)
    except Exception:
        return "failed"
    return _seen(step, result)


def _task(c: df.DurableOrchestrationContext, step: Step, path: str) -> Any:
    kind, *given = step
    if kind in ("all", "any"):
        tasks = [_task(c, child, f"{path}-{number}") for number, child in enumerate(given[0])]
        return c.task_all(tasks) if kind == "all" else c.task_any(tasks)
    return _TASKS[kind](c, path, *given)


_TASKS: Mapping[str, Callable[..., Any]] = {
    "act": lambda c, path, number: c.call_activity("act", number),
    "fail": lambda c, path: c.call_activity("fail"),
    "retry": lambda c, path, needed, most: c.call_activity_with_retry(
        "flaky", df.RetryOptions(10, most), [path, needed]
    ),
    "timer": lambda c, path, ms: c.create_timer(c.current_utc_datetime + timedelta(milliseconds=ms)),
    "call": lambda c, path, key, number: c.call_entity(df.EntityId("counter", key), "add", number),
    "event": lambda c, path: c.wait_for_external_event("go"),
    "child": lambda c, path, program: c.call_sub_orchestrator("play", program),
}


def _seen(step: Step, result: Any) -> Any:
    if step[0] == "all":
        return [_seen(child, value) for child, value in zip(step[1], result, strict=True)]
    return "one of them" if step[0] == "any" else result


def scenario_of(program: Sequence[Step]) -> Scenario:
    """Return the program as a scenario; it waits for events on its first level alone."""
    events = ["raised"] * sum(step[0] == "event" for step in program)
    return Scenario("play", expected(program), events, program, counted=expected_sums(program))


def expected(program: Sequence[Step]) -> list[Any]:
    """Return what the program must return."""
    return [_expected(step) for step in program]


def _expected(step: Step) -> Any:
    match step:
        case ["act", number]:
            return number
        case ["fail"] | ["retry", 0, _]:
            return "failed"
        case ["retry", _, _]:
            return "ok"
        case ["signal", _, _]:
            return "signalled"
        case ["event"]:
            return "raised"
        case ["child", program]:
            return expected(program)
        case ["all", children]:
            results = expected(children)
            return "failed" if any(_fails(child) for child in children) else results
        case ["any", _]:
            return "one of them"
    return None


def _fails(step: Step) -> bool:
    return step == ["fail"] or step[:2] == ["retry", 0]


def expected_sums(program: Sequence[Step]) -> dict[str, str]:
    """Return what each entity must have counted: every operation of the program once."""
    sums: Counter[str] = Counter()
    for step in _all_steps(program):
        if step[0] in ("call", "signal"):
            sums[step[1]] += step[2]
    return {key: str(total) for key, total in sums.items()}


def _all_steps(program: Sequence[Step]) -> Iterator[Step]:
    for step in program:
        yield step
        if step[0] in ("all", "any", "child"):
            yield from _all_steps(step[1])
