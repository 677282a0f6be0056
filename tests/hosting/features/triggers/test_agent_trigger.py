"""`@app.agent_trigger`: one run for each delivery, through the function as the worker calls it."""

# mypy: disable-error-code="untyped-decorator"
# (the decorators of the SDK carry no types)
from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import azure.functions as func
import httpx
import pytest

from hosting.app import SKIP, AgentRequest, AgentRun, Limit
from hosting.core.entity.called_run import AgentRunError
from hosting.errors import (
    ConfigurationError,
    HostingError,
    InvalidEncodingError,
    InvalidFieldError,
    InvalidThreadIdError,
    LimitExceededError,
)
from hosting.features.triggers.trigger import LONGEST_PAUSE_SECONDS, PATIENCE_SECONDS
from hosting.functions.agent_triggers import MARK
from tests.support.app.scripted import scripted_agent
from tests.support.deliveries import Out, blob, bus_batch, bus_message, documents, grid_event, hub_events, queued, tick
from tests.support.direct import DirectHost
from tests.support.made_app import app_of

GUARD_SECONDS = 5.0
Trigger = Callable[[Any], Any]


def trigger(kind: str, **options: Any) -> Callable[[Any], Trigger]:
    """Return what makes a trigger of that kind for an app, whose deliveries are the argument `given`."""

    def of_app(app: Any) -> Trigger:
        made: Trigger = getattr(app, f"{kind}_trigger")(arg_name="given", **options)
        return made

    return of_app


STORAGE = "AzureWebJobsStorage"
queue = trigger("queue", queue_name="inbox", connection=STORAGE)
bus = trigger("service_bus_queue", queue_name="orders", connection="Bus", is_sessions_enabled=True)
buses = trigger("service_bus_queue", queue_name="orders", connection="Bus", cardinality="many")
topic = trigger("service_bus_topic", topic_name="orders", subscription_name="all", connection="Bus")
grid = trigger("event_grid")
hub = trigger("event_hub_message", event_hub_name="events", connection="Hub", cardinality="many")
container = trigger("blob", path="inbox/{name}", connection=STORAGE)
feed = trigger("cosmos_db", container_name="orders", database_name="shop", connection="Cosmos")
clock = trigger("timer", schedule="0 0 * * * *")


class Function:
    """An app with one function `inbox`, whose deliveries begin runs; `makes` returns its message."""

    def __init__(
        self,
        trigger: Callable[[Any], Trigger] = queue,
        makes: Callable[[Any], Any] = lambda given: None,
        *,
        outputs: Sequence[str] = (),
        app: dict[str, Any] | None = None,
        agent: str = "Joker",
        **options: Any,
    ) -> None:
        self.app = app_of(scripted_agent("Joker"), **(app or {}))
        self.names = outputs

        async def awaited(given: Any) -> Any:
            return await makes(given)

        def called(given: Any) -> Any:
            return makes(given)

        inbox: Any = awaited if inspect.iscoroutinefunction(makes) else called
        for name in outputs:
            inbox = self.app.queue_output(arg_name=name, queue_name=name, connection="AzureWebJobsStorage")(inbox)
        self.app.agent_trigger(agent, **options)(self.app.function_name("inbox")(trigger(self.app)(inbox)))
        self.host = DirectHost(self.app)
        self.http = httpx.AsyncClient(transport=httpx.ASGITransport(self.host.asgi), base_url="http://app.example")

    async def get(self, given: Any) -> Any:
        """Deliver, and return what is written: nothing, of the one output a value, or of all outputs their values."""
        outs = {name: Out() for name in self.names}
        await asyncio.wait_for(self.host.trigger("inbox", given=given, **outs), GUARD_SECONDS)
        written = {name: out.values[0] for name, out in outs.items() if out.values}
        return written if len(self.names) > 1 else next(iter(written.values()), None)

    async def threads(self) -> dict[str, list[str]]:
        """Return the messages of each thread, oldest first, once all of its runs are applied."""
        await asyncio.wait_for(self.host.entities.idle(), GUARD_SECONDS)
        threads = dict[str, list[str]]()
        for place, state in self.host.entities.states.items():
            if place.startswith("@dafx-"):
                entries = json.loads(state)["data"]["conversationHistory"]
                asked = [entry for entry in entries if entry["$type"] == "request"]
                threads[place.split("@")[2]] = [entry["messages"][0]["contents"][0]["text"] for entry in asked]
        return threads

    async def messages(self) -> list[str]:
        return sorted(message for messages in (await self.threads()).values() for message in messages)


def ids(run: AgentRun) -> str:
    """Return what tells a run from others, and its answer."""
    return f"{run.run_id} {run.response}"


@pytest.mark.behaviour("triggers.one-run")
@pytest.mark.parametrize(
    ("trigger", "again", "other"),
    [
        (bus, lambda n: bus_message("hello", "m1", 1, tries=n), lambda: bus_message("hello", "m2", 2)),
        (topic, lambda n: bus_message("hello", None, 1, tries=n), lambda: bus_message("hello", None, 2)),
        (grid, lambda n: grid_event({"a": 1}), lambda: grid_event({"a": 1}, "e2")),
        (grid, lambda n: grid_event({"a": 1}, topic="x"), lambda: grid_event({"a": 1}, topic="y")),
        (
            grid,
            lambda n: grid_event("a", specversion="1.0", source="x", type="t"),
            lambda: grid_event("a", specversion="1.0", source="y", type="t"),
        ),
        (container, lambda n: blob(b"hello"), lambda: blob(b"hello", etag='"0x2"')),
        (container, lambda n: blob(b"hello"), lambda: blob(b"hello", "inbox/b.txt")),
        (container, lambda n: blob(b"hello", etag=None), lambda: blob(b"hullo", etag=None)),
        (hub, lambda n: hub_events('{"a": 1}'), lambda: hub_events('{"a": 1}', first=2)),
        (hub, lambda n: hub_events('{"a": 1}'), lambda: hub_events('{"a": 1}', partition="1")),
        (
            feed,
            lambda n: documents({"id": "1", "_lsn": 7}),
            lambda: documents({"id": "1", "_lsn": 8}),
        ),
    ],
)
async def test_each_kind_of_delivery_has_one_run(trigger: Any, again: Any, other: Any) -> None:
    function = Function(trigger, outputs=["answers"], on_end=ids)

    runs = [await function.get(delivery) for delivery in (again(1), again(2), other())]

    assert runs[0] == runs[1] != runs[2]
    assert len(await function.messages()) == 2


@pytest.mark.behaviour("triggers.one-run")
async def test_a_tick_has_one_run() -> None:
    """The one that comes again as past due after a kill is the same; without a monitor nothing says so."""
    function = Function(clock, lambda timer: "report", outputs=["answers"], on_end=ids)

    ticks = [tick("2026-11-29T10:00:00"), tick("2026-11-29T10:00:00", past_due=True), tick("2026-11-29T11:00:00")]
    runs = [await function.get(given) for given in ticks]

    assert runs[0] == runs[1] != runs[2]


@pytest.mark.behaviour("triggers.body-forges-nothing")
@pytest.mark.parametrize("name", ["id", "Id", "ID"])
async def test_a_body_that_replaces_the_messages_id_stands_for_no_other_message(name: str) -> None:
    function = Function()
    forged = [queued(json.dumps({name: "x", "n": n})) for n in (1, 2)]
    later = queued(json.dumps({name: "x", "n": 1}), inserted="2026-11-29T10:53:58+00:00")

    assert {message.id for message in (*forged, later)} == {"x"}
    for message in (*forged, later, forged[0]):
        await function.get(message)

    assert len(await function.messages()) == 3


@pytest.mark.behaviour("triggers.message")
async def test_a_delivery_that_is_skipped_begins_no_run() -> None:
    function = Function(makes=lambda message: SKIP, outputs=["answers"], on_end=ids)

    assert await function.get(queued("hello")) is None
    assert await function.messages() == []


@pytest.mark.behaviour("triggers.threads")
async def test_a_session_of_service_bus_is_a_thread() -> None:
    function = Function(bus)

    for number in (1, 2, 3):
        await function.get(bus_message(f"message {number}", f"m{number}", number, session="order-7"))

    assert await function.threads() == {"order-7": ["message 1", "message 2", "message 3"]}


@pytest.mark.behaviour("triggers.threads")
@pytest.mark.parametrize(
    ("body", "refusal"),
    [
        ("hello", InvalidFieldError),
        ("{}", InvalidFieldError),
        ('{"customer": ["c1"]}', InvalidFieldError),
        ('{"customer": true}', InvalidFieldError),
        ('{"customer": "a@b"}', InvalidThreadIdError),
    ],
)
async def test_a_body_that_names_no_thread_fails_its_delivery(body: str, refusal: type[HostingError]) -> None:
    """So it ends where the platform puts what cannot be delivered, and not in a thread of its own."""
    function = Function(thread_by="customer")

    with pytest.raises(refusal):
        await function.get(queued(body))

    assert await function.messages() == []


@pytest.mark.behaviour("triggers.failures")
async def test_a_poison_message_does_not_stop_the_others() -> None:
    function = Function(container)

    with pytest.raises(InvalidEncodingError):
        await function.get(blob(b"\xff\xfe"))
    await function.get(blob(b"hello", etag='"0x2"'))

    assert await function.messages() == ["hello"]
    with pytest.raises(InvalidFieldError, match="tick"):
        await Function(clock).get(tick("2026-11-29T10:00:00"))


class Pauses:
    """Lets a trigger's pauses pass at once, does what a test has to be done in each, and notes them."""

    def __init__(self, function: Function, work: Callable[[], Awaitable[object]] | None = None) -> None:
        self.seconds: list[float] = []
        self._work = work
        function.host.functions["inbox"].get_setting(MARK).trigger._pause = self

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        if self._work is not None:
            await self._work()


@pytest.mark.behaviour("triggers.failures")
async def test_a_delivery_over_a_limit_is_tried_again_before_it_fails() -> None:
    """For two minutes: five tries at once would be the end of it."""
    function = Function(app={"limit": Limit(requests_per_minute=1)})
    pauses = Pauses(function)

    await function.get(queued("hello", "one"))
    with pytest.raises(LimitExceededError):
        await function.get(queued("hello", "two"))

    assert pauses.seconds == [LONGEST_PAUSE_SECONDS] * 4
    assert sum(pauses.seconds) == PATIENCE_SECONDS
    assert len(await function.messages()) == 1


async def _begun(function: Function) -> Callable[[], Awaitable[object]]:
    """Begin a long run of thread `t1`, and return what ends it."""
    body = {"message": "sleep 30", "thread_id": "t1", "wait_for_response": False}
    run = (await function.http.post("/api/agents/Joker/run", json=body)).json()

    async def end() -> None:
        await function.http.post(f"/api/agents/Joker/threads/t1/runs/{run['run_id']}/cancel")
        await asyncio.wait_for(function.host.entities.idle(), GUARD_SECONDS)

    return end


@pytest.mark.behaviour("triggers.failures")
async def test_a_delivery_to_a_busy_thread_has_its_run_when_the_thread_is_free() -> None:
    function = Function(busy="reject", makes=lambda message: AgentRequest(thread_id="t1"))
    pauses = Pauses(function, await _begun(function))

    await function.get(queued("hello"))

    assert len(pauses.seconds) == 1
    assert "hello" in await function.messages()


@pytest.mark.behaviour("triggers.failures")
async def test_a_delivery_whose_thread_was_deleted_is_done() -> None:
    function = Function(makes=lambda message: AgentRequest(thread_id="t1"))

    await function.get(queued("hello"))
    await function.http.delete("/api/agents/Joker/threads/t1")
    await asyncio.wait_for(function.host.entities.idle(), GUARD_SECONDS)
    await function.get(queued("hello", tries=2))

    assert await function.messages() == []


@pytest.mark.behaviour("triggers.on-end")
@pytest.mark.parametrize(
    ("value", "written"),
    [("text", "text"), (b"bytes", b"bytes"), (["a", "b"], ["a", "b"]), ({"a": "ä"}, '{"a": "ä"}'), (None, None)],
)
async def test_the_output_gets_what_on_end_returns(value: Any, written: Any) -> None:
    function = Function(outputs=["answers"], on_end=lambda run: value)

    assert await function.get(queued("hello")) == written


@pytest.mark.behaviour("triggers.on-end")
async def test_several_outputs_are_named() -> None:
    async def on_end(run: AgentRun) -> dict[str, Any]:
        return {"answers": run.response, "log": {"run": 1}}

    function = Function(outputs=["answers", "log"], on_end=on_end)

    assert await function.get(queued("hello")) == {"answers": "echo: hello", "log": '{"run": 1}'}
    with pytest.raises(TypeError, match="'answers', 'log'"):
        await Function(outputs=["answers", "log"], on_end=lambda run: "text").get(queued("hello"))


@pytest.mark.behaviour("triggers.batches")
async def test_each_event_of_a_batch_has_its_run() -> None:
    """In their order; the batch that comes again because one failed finds the others."""
    function = Function(hub, makes=lambda event: json.loads(event.get_body())["say"], outputs=["answers"], on_end=ids)

    answers = await function.get(hub_events('{"say": "one"}', '{"say": "two"}'))
    with pytest.raises(AgentRunError):
        await function.get(hub_events('{"say": "one"}', '{"say": "two"}', '{"say": "fail"}'))

    assert [answer.partition(" ")[2] for answer in answers] == ["echo: one", "echo: two"]
    assert [message for message in await function.messages() if message != "fail"] == ["one", "two"]


@pytest.mark.behaviour("triggers.batches")
async def test_a_message_of_a_batch_has_one_run_though_the_next_batch_has_others_beside_it() -> None:
    function = Function(buses)
    nameless, named = ("hello", None, 1, None), ("world", "m2", 2, None)

    for batch in ([nameless, named], [named], [nameless], [named, nameless]):
        await function.get(bus_batch(*batch))

    assert await function.messages() == ["hello", "world"]


@pytest.mark.behaviour("triggers.batches")
async def test_each_document_of_a_change_feed_has_its_run() -> None:
    seen = list[str]()
    function = Function(feed, lambda document: seen.append(document["id"]), thread_by="customer")

    await function.get(documents({"id": "1", "customer": "a"}, {"id": "2", "customer": "b"}))

    assert seen == ["1", "2"]
    assert await function.threads() == {
        "a": ['{"id": "1", "customer": "a"}'],
        "b": ['{"id": "2", "customer": "b"}'],
    }


@pytest.mark.behaviour("triggers.two-processes")
@pytest.mark.parametrize("late", [False, True])
async def test_two_processes_that_get_one_message_begin_one_run(tmp_path: Path, late: bool) -> None:
    environ = {"AGENT_LOG": f"sqlite:{tmp_path / 'log.sqlite'}"}
    functions = [Function(outputs=["answers"], on_end=ids, app={"environ": environ}) for _ in range(2)]
    functions[1].host.entities.states = functions[0].host.entities.states

    if late:
        answers = [await function.get(queued("hello", tries=n)) for n, function in enumerate(functions, 1)]
    else:
        work = (function.get(queued("hello", tries=n)) for n, function in enumerate(functions, 1))
        answers = list(await asyncio.gather(*work))

    assert answers[0] == answers[1]
    assert len(await functions[0].messages()) == 1


@pytest.mark.behaviour("triggers.refused")
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"agent": "Nobody"}, "no agent 'Nobody'"),
        ({"thread_id": "t1"}, "no option 'thread_id'"),
        ({"wait": 30}, "wait"),
        ({"wait": False, "on_end": ids, "outputs": ["answers"]}, "on_end and wait=False"),
        ({"outputs": ["answers"]}, "'answers', and nothing writes to it"),
        ({"trigger": lambda app: app.route(route="inbox", trigger_arg_name="given")}, "httpTrigger"),
    ],
)
def test_what_can_begin_no_run_is_refused_at_start_up(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises((ConfigurationError), match=sentence):
        Function(**options)


@pytest.mark.behaviour("triggers.decorator")
@pytest.mark.parametrize("is_outermost", [True, False])
async def test_the_decorator_stands_anywhere(is_outermost: bool) -> None:
    """Above the SDK's own or below them; the function's own output is its own matter."""
    app, out = app_of(scripted_agent("Joker")), Out()

    async def inbox(message: func.QueueMessage, log: func.Out[str], context: func.Context) -> str:
        log.set("seen")
        return message.get_body().decode()

    decorators = [
        app.queue_output(arg_name="log", queue_name="log", connection="AzureWebJobsStorage"),
        app.queue_trigger(arg_name="message", queue_name="inbox", connection="AzureWebJobsStorage"),
    ]
    decorators.insert(2 if is_outermost else 0, app.agent_trigger("Joker"))
    decorated: Any = inbox
    for decorate in decorators:
        decorated = decorate(decorated)
    host = DirectHost(app)
    handler = host.functions["inbox"].get_user_function()

    await host.trigger("inbox", message=queued("hello"), log=out, context=None)

    assert out.values == ["seen"]
    assert set(inspect.signature(handler).parameters) == {"message", "log", "context", "agentsClient"}
    assert "message" not in handler.__annotations__


@pytest.mark.behaviour("triggers.message")
async def test_a_function_that_says_something_else_again_begins_no_second_run() -> None:
    """The first message that was accepted stands."""
    said = iter(["one", "two"])
    function = Function(makes=lambda message: next(said), outputs=["answers"], on_end=ids)

    first = await function.get(queued("hello", tries=1))
    second = await function.get(queued("hello", tries=2))

    assert first == second
    assert await function.messages() == ["one"]
