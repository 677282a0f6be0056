"""Orchestrations that use every feature of the SDK once, each with the answer it must give.

An activity that is to fail is told by its input which attempt may succeed; attempts are counted for the app, so that a
restart of the engine around the same app does not begin to count anew.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Generator
from datetime import timedelta
from typing import Any

import azure.durable_functions as df

Steps = Generator[Any, Any, Any]


def build_app() -> df.DFApp:
    """Return a fresh app, which counts attempts by their names."""
    app = df.DFApp()
    attempts = Counter[str]()

    @app.activity_trigger(input_name="x")
    def echo(x: Any) -> Any:
        return x

    @app.activity_trigger(input_name="x")
    async def aecho(x: Any) -> Any:
        return ["a", x]

    @app.activity_trigger(input_name="x")
    def flaky(x: list[Any]) -> str:
        name, succeeds_at = x
        attempts[name] += 1
        if attempts[name] < succeeds_at:
            raise ValueError(f"attempt {attempts[name]}")
        return "ok"

    @app.activity_trigger(input_name="x")
    def slow(x: float) -> str:
        time.sleep(x)
        return "slow"

    @app.entity_trigger(context_name="context", entity_name="Counter")
    def counter(context: df.DurableEntityContext) -> None:
        value = context.get_state(lambda: 0)
        if context.operation_name == "add":
            value += context.get_input()
            context.set_state(value)
        elif context.operation_name == "boom":
            raise ValueError("kaboom")
        elif context.operation_name == "delete":
            context.destruct_on_exit()
        context.set_result(value)

    def orchestrator(function: Any) -> Any:
        return app.orchestration_trigger(context_name="c")(function)

    @orchestrator
    def chain(c: df.DurableOrchestrationContext) -> Steps:
        first = yield c.call_activity("echo", 1)
        second = yield c.call_activity("AEcho", {"p": first})
        return [first, second, c.get_input()]

    @orchestrator
    def fan(c: df.DurableOrchestrationContext) -> Steps:
        return (yield c.task_all([c.call_activity("echo", number) for number in range(5)]))

    @orchestrator
    def retry_ok(c: df.DurableOrchestrationContext) -> Steps:
        return (yield c.call_activity_with_retry("flaky", df.RetryOptions(20, 5), [c.instance_id, 3]))

    @orchestrator
    def retry_out(c: df.DurableOrchestrationContext) -> Steps:
        try:
            yield c.call_activity_with_retry("flaky", df.RetryOptions(20, 2), [c.instance_id, 9**9])
        except Exception as error:
            return str(error).partition(" \n ")[0][:45]
        return "no error"

    @orchestrator
    def retry_among_others(c: df.DurableOrchestrationContext) -> Steps:
        soon = c.current_utc_datetime + timedelta(seconds=0.05)
        work = [
            c.call_activity_with_retry("flaky", df.RetryOptions(30, 6), [c.instance_id + "-1", 3]),
            c.create_timer(soon),
            c.call_activity_with_retry("flaky", df.RetryOptions(20, 6), [c.instance_id + "-2", 2]),
            c.call_activity("echo", 7),
        ]
        done = yield c.task_all(work)
        return [done, (yield c.call_activity("echo", "after"))]

    @orchestrator
    def approval(c: df.DurableOrchestrationContext) -> Steps:
        late = c.create_timer(c.current_utc_datetime + timedelta(seconds=300))
        go = c.wait_for_external_event("go")
        winner = yield c.task_any([late, go])
        if winner == go:
            late.cancel()
            return ["approved", (yield c.call_activity("echo", go.result))]
        return "timeout"

    @orchestrator
    def timeout(c: df.DurableOrchestrationContext) -> Steps:
        late = c.create_timer(c.current_utc_datetime + timedelta(seconds=0.05))
        winner = yield c.task_any([late, c.wait_for_external_event("go")])
        return "timeout" if winner == late else "event"

    @orchestrator
    def open_work(c: df.DurableOrchestrationContext) -> Steps:
        winner = yield c.task_any([c.call_activity("slow", 0.15), c.call_activity("echo", "quick")])
        return winner.result

    @orchestrator
    def child(c: df.DurableOrchestrationContext) -> Steps:
        given = c.get_input()
        if given == "bad":
            raise RuntimeError("child bad")
        return {"child": (yield c.call_activity("echo", given))}

    @orchestrator
    def parent(c: df.DurableOrchestrationContext) -> Steps:
        one = yield c.call_sub_orchestrator("child", {"v": 1})
        try:
            yield c.call_sub_orchestrator("child", "bad")
            failed = "no error"
        except Exception as error:
            failed = str(error).partition(" \n ")[0]
        kids = [c.call_sub_orchestrator("child", number, f"{c.instance_id}-{number}") for number in range(3)]
        return [one, failed, (yield c.task_all(kids))]

    @orchestrator
    def child_retry(c: df.DurableOrchestrationContext) -> Steps:
        try:
            yield c.call_sub_orchestrator_with_retry("child", df.RetryOptions(20, 2), "bad")
        except Exception as error:
            return "caught " + str(error).partition(" \n ")[0]
        return "no error"

    @orchestrator
    def eternal(c: df.DurableOrchestrationContext) -> Steps:
        turn = c.get_input() or 0
        yield c.call_activity("echo", turn)
        if turn < 3:
            c.continue_as_new(turn + 1)
        return turn

    @orchestrator
    def collector(c: df.DurableOrchestrationContext) -> Steps:
        seen = (c.get_input() or []) + [(yield c.wait_for_external_event("go"))]
        if len(seen) < 3:
            c.continue_as_new(seen)
        return seen

    @orchestrator
    def entities(c: df.DurableOrchestrationContext) -> Steps:
        entity = df.EntityId("Counter", c.instance_id)
        c.signal_entity(entity, "add", 5)
        added = yield c.call_entity(entity, "add", 2)
        read = yield c.call_entity(entity, "get")
        try:
            yield c.call_entity(entity, "boom")
            failed = "no error"
        except Exception as error:
            failed = str(error)
        others = [c.call_entity(df.EntityId("Counter", f"{c.instance_id}-{n}"), "add", n) for n in range(3)]
        return [added, read, failed, (yield c.task_all(others))]

    @orchestrator
    def fails(c: df.DurableOrchestrationContext) -> Steps:
        yield c.call_activity("echo", 1)
        raise ValueError("orchestrator bad")

    @orchestrator
    def missing_activity(c: df.DurableOrchestrationContext) -> Steps:
        return (yield c.call_activity("nobody"))

    @orchestrator
    def missing_entity(c: df.DurableOrchestrationContext) -> Steps:
        return (yield c.call_entity(df.EntityId("nobody", "k"), "get"))

    @orchestrator
    def missing_child(c: df.DurableOrchestrationContext) -> Steps:
        return (yield c.call_sub_orchestrator("nobody"))

    @orchestrator
    def http_caller(c: df.DurableOrchestrationContext) -> Steps:
        try:
            yield c.call_http("GET", "http://127.0.0.1:9/x")
        except Exception as error:
            return str(error).partition(" \n ")[0].partition("(")[2]
        return "no error"

    @orchestrator
    def two_events(c: df.DurableOrchestrationContext) -> Steps:
        first = yield c.wait_for_external_event("go")
        return [first, (yield c.wait_for_external_event("go"))]

    @orchestrator
    def new_ids(c: df.DurableOrchestrationContext) -> Steps:
        before = str(c.new_uuid())
        yield c.call_activity("echo", 1)
        after = str(c.new_uuid())
        yield c.call_activity("echo", [before, after])
        return before != after

    @orchestrator
    def custom_status(c: df.DurableOrchestrationContext) -> Steps:
        c.set_custom_status("one")
        yield c.wait_for_external_event("go")
        c.set_custom_status({"two": 2})
        yield c.call_activity("echo", 1)
        return "z"

    @orchestrator
    def shrinking_any(c: df.DurableOrchestrationContext) -> Steps:
        left = [c.call_activity("slow", seconds) for seconds in (0.03, 0.005, 0.015)]
        done = []
        while left:
            winner = yield c.task_any(left)
            left.remove(winner)
            done.append(winner.result)
        return done

    @orchestrator
    def nested(c: df.DurableOrchestrationContext) -> Steps:
        both = c.task_all([c.call_activity("echo", 1), c.call_activity("echo", 2)])
        late = c.create_timer(c.current_utc_datetime + timedelta(seconds=300))
        winner = yield c.task_any([both, late])
        late.cancel()
        return winner.result

    return app
