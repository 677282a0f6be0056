"""App code that raises what no function should: its own call fails, and the host goes on."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable

import azure.durable_functions as df
import pytest

from devhost.converters import encode_result
from devhost.durable.records import EntityId
from devhost.ports import DurableFunctions, FunctionFailedError
from tests.devhost.durable.running_engine import running
from tests.devhost.indexing import activity, functions_of
from tests.support.running_host import GUARD_SECONDS


class LeavesError(BaseException):
    """An exception of the app's that is no `Exception`."""


ERRORS: list[tuple[Callable[[], BaseException], str]] = [
    (asyncio.CancelledError, "CancelledError: "),
    (KeyboardInterrupt, "KeyboardInterrupt: "),
    (GeneratorExit, "GeneratorExit: "),
    (lambda: SystemExit(3), "SystemExit: 3"),
    (lambda: LeavesError("away"), "LeavesError: away"),
    (lambda: BaseExceptionGroup("all", [KeyboardInterrupt()]), "BaseExceptionGroup: all (1 sub-exception)"),
]


async def failure_of(functions: DurableFunctions, name: str) -> str:
    with pytest.raises(FunctionFailedError) as failure:
        await asyncio.wait_for(functions.call("activity", name, "1"), GUARD_SECONDS)
    return failure.value.message


@pytest.mark.behaviour("devhost.isolated-functions")
@pytest.mark.behaviour("devhost.exiting-functions")
@pytest.mark.parametrize(("make_error", "message"), [*ERRORS, (StopIteration, "StopIteration: ")])
async def test_whatever_a_function_raises_fails_its_call(make_error: Callable[[], BaseException], message: str) -> None:
    """In a thread, and on the event loop, in the reach of the host's own tasks."""

    def threaded(value: object) -> None:
        raise make_error()

    async def raises(value: object) -> None:
        raise make_error()

    assert await failure_of(activity(threaded), "threaded") == message
    if make_error is not StopIteration:  # Python makes it a RuntimeError in a coroutine
        assert await failure_of(activity(raises), "raises") == message


@pytest.mark.behaviour("devhost.isolated-functions")
async def test_a_cancelled_host_waits_until_the_function_has_unwound() -> None:
    """A stop reaches the function's own clean-up, and goes on behind it."""
    began, unwinds, may_end = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def cleans_up(value: object) -> None:
        try:
            began.set()
            await asyncio.Event().wait()
        finally:
            unwinds.set()
            await may_end.wait()

    call = asyncio.create_task(activity(cleans_up).call("activity", "cleans_up", "1"))
    await asyncio.wait_for(began.wait(), GUARD_SECONDS)
    call.cancel()
    await asyncio.wait_for(unwinds.wait(), GUARD_SECONDS)
    assert not call.done()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(call, GUARD_SECONDS)


@pytest.mark.behaviour("devhost.function-timeout")
async def test_a_function_past_its_timeout_has_failed_whatever_it_makes_of_its_cancellation() -> None:
    """It swallows it and answers; the answer comes too late to count, and after it nothing of the call is left."""
    answered = threading.Event()
    app = df.DFApp()

    @app.activity_trigger(input_name="value")
    async def swallows(value):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
        answered.set()
        return "late"

    message = await failure_of(functions_of(app, timeout_seconds=0.01), "swallows")
    assert message == "FunctionTimeoutException: Timeout value of 00:00:00 was exceeded by function: Functions.swallows"
    assert answered.is_set()


def sync_entity(app: df.DFApp, make_error: Callable[[], BaseException]) -> None:
    """Declare a counter by the SDK's decorator, which calls it for each operation of a batch."""

    @app.entity_trigger(context_name="context")
    def counter(context):
        if context.operation_name == "fails":
            raise make_error()
        context.set_state(context.get_state(lambda: 0) + 1)


def async_entity(app: df.DFApp, make_error: Callable[[], BaseException]) -> None:
    """Declare a counter on a generic trigger, which gets the batch as it is."""

    @app.generic_trigger(arg_name="context", type="entityTrigger")
    async def counter(context):
        batch = json.loads(context.body)
        state, results = json.loads(batch["state"] or "0"), []
        for operation in batch["batch"]:
            if operation["name"] == "fails":
                raise make_error()
            state += 1
            results.append({"isError": False, "duration": 0, "result": "null"})
        return json.dumps({"entityExists": True, "entityState": json.dumps(state), "results": results, "signals": []})


@pytest.mark.behaviour("devhost.isolated-functions")
@pytest.mark.parametrize("declare", [sync_entity, async_entity])
@pytest.mark.parametrize(("make_error", "message"), ERRORS[:4])
async def test_an_operation_of_an_entity_that_raises_them_fails_alone(
    declare: Callable[..., None], make_error: Callable[[], BaseException], message: str
) -> None:
    """Those before and behind it count, in its batch and in others, and its caller hears of it."""
    app = df.DFApp()
    declare(app, make_error)

    @app.orchestration_trigger(context_name="context")
    def calls(context):
        try:
            yield context.call_entity(df.EntityId("counter", "k"), "fails")
        except Exception as error:
            return str(error)

    counter = EntityId.of("counter", "k")
    async with running(functions_of(app)) as engine:
        names = ("add", "add", "fails", "add", "fails")
        await asyncio.gather(*(engine.hub.signal(counter, name, None) for name in names))
        await engine.state_is(counter, "3")
        await engine.hub.start("calls", "calls", None)
        ended = await engine.store.until_ended("calls")
        await engine.hub.signal(counter, "add", None)
        await engine.state_is(counter, "4")

    assert json.loads(ended.output or "") == message


@pytest.mark.behaviour("devhost.durable-seam")
@pytest.mark.parametrize(
    ("payload", "answer"), [("hello", '"hello"'), ('"hello"', '"hello"'), ('{"a":1}', '{"a": 1}'), ("", '""')]
)
async def test_an_activity_gets_decoded_json_and_answers_json(payload: str, answer: str) -> None:
    """Text that is no JSON comes as it is."""

    def same(value: object) -> object:
        return value

    assert await activity(same).call("activity", "SAME", payload) == answer


@pytest.mark.behaviour("devhost.durable-seam")
@pytest.mark.behaviour("devhost.classic-returns-as-recorded")
async def test_a_failure_is_the_types_name_and_text_with_the_traceback() -> None:
    """An async entity that writes its own protocol may forget to answer; a function may return what none sends."""
    app = df.DFApp()

    async def fails(value: object) -> None:
        raise RuntimeError(f"no {value}")

    @app.generic_trigger(arg_name="context", type="entityTrigger", entityName="e")
    async def forgetful(context): ...

    with pytest.raises(FunctionFailedError) as failure:
        await activity(fails).call("activity", "fails", '"x"')
    with pytest.raises(FunctionFailedError) as forgotten:
        await functions_of(app).call("entity", "e", "{}")
    with pytest.raises(FunctionFailedError) as unsent:
        encode_result("http", None)

    assert failure.value.message == "RuntimeError: no x"
    assert 'raise RuntimeError(f"no {value}")' in failure.value.stack
    assert forgotten.value.message == "TypeError: the function 'forgetful' must answer a text, but answered NoneType"
    assert unsent.value.message == (
        'TypeError: unable to encode outgoing TypedData: unsupported type "http" for Python type "NoneType"'
    )
