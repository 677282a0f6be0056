"""Response callbacks: which are called, with what and in which order, and that no run waits for them."""

from __future__ import annotations

import asyncio
import gc
import queue
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from hosting.core.hooks import ENTITY
from hosting.errors import ConfigurationError
from hosting.features.callbacks.callbacks import Listener
from hosting.features.callbacks.feature import callback_signal
from hosting.names import Address
from tests.support.app.scripted import scripted_agent
from tests.support.carriers import GUARD_SECONDS
from tests.support.direct import DirectHost
from tests.support.made_app import app_of, ask, served

BRIEF = {"AGENT_LOG": "memory", "AGENT_CALLBACK_SECONDS": "0.2"}
Call = tuple[str, Any, str]


class Listening:
    """A callback that keeps its calls: the method, the value, the run."""

    def __init__(self) -> None:
        self.calls: queue.Queue[Call] = queue.Queue()
        self.contexts: list[Any] = []

    async def on_streaming_response_update(self, update: Any, context: Any) -> None:
        self._note("update", update.text, context)

    def on_agent_response(self, response: Any, context: Any) -> None:
        self._note("response", response.text, context)

    async def on_agent_failure(self, error: Any, context: Any) -> None:
        self._note("failure", error.code, context)

    async def next(self) -> Call:
        return await asyncio.to_thread(self.calls.get, timeout=GUARD_SECONDS)

    def _note(self, method: str, value: Any, context: Any) -> None:
        self.contexts.append(context)
        self.calls.put((method, value, context.run_id))


class OnlyEnds(Listening):
    """A callback without updates."""

    on_streaming_response_update = None  # type: ignore[assignment]


@pytest.mark.behaviour("callbacks.response")
async def test_a_callback_gets_the_answer_and_whose_it_is() -> None:
    listening = OnlyEnds()
    async with served(app_of(scripted_agent("Joker"), default_callback=listening)) as (_, http):
        answer = (await ask(http, "say hello", thread_id="t")).json()
        calls = await listening.next()

    assert calls == ("response", "hello", answer["run_id"])
    (context,) = listening.contexts
    assert (context.agent_name, context.request_message) == ("Joker", "say hello")
    assert (context.correlation_id, context.thread_id, context.session_id) == (answer["run_id"], "t", "t")


@pytest.mark.behaviour("callbacks.failure")
async def test_a_callback_gets_a_failure_in_our_words() -> None:
    listening = OnlyEnds()
    async with served(app_of(scripted_agent("Joker"), default_callback=listening)) as (_, http):
        failed = (await ask(http, "fail please")).json()
        calls = await listening.next()
        await ask(http, "say next")
        after = await listening.next()

    assert calls == ("failure", "run_failed", failed["run_id"])
    assert after[:2] == ("response", "next")


@pytest.mark.behaviour("callbacks.updates")
async def test_a_callback_gets_each_update_in_order_and_then_the_answer() -> None:
    """The request wants no stream, so the run's log has no deltas before its end."""
    listening = Listening()
    async with served(app_of(scripted_agent("Joker"), default_callback=listening)) as (_, http):
        answer = await ask(http, "say one two three", thread_id="t")
        calls = [await listening.next()]
        while calls[-1][0] == "update":
            calls.append(await listening.next())
        run = f"/api/agents/Joker/threads/t/runs/{answer.json()['run_id']}"
        events = (await http.get(f"{run}/events", params={"offset": "-1"})).json()

    assert "".join(value for _, value, _ in calls[:-1]) == calls[-1][1] == "one two three"
    assert len(calls) > 3
    assert [event["event"] for event in events] == ["accepted", "started", "completed"]


@pytest.mark.behaviour("callbacks.updates")
async def test_a_callback_that_fails_at_an_update_gets_no_more_of_them_and_the_answer() -> None:
    class Failing(Listening):
        async def on_streaming_response_update(self, update: Any, context: Any) -> None:
            self._note("update", update.text, context)
            raise ValueError("this callback is broken")

    listening = Failing()
    async with served(app_of(scripted_agent("Joker"), default_callback=listening)) as (_, http):
        streamed = await ask(http, "say one two three", stream=True)
        calls = [await listening.next(), await listening.next()]

    assert [method for method, _, _ in calls] == ["update", "response"]
    assert '"response": "one two three"' in streamed.text


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """What hanging callbacks wait for: the end of their test."""
    event = threading.Event()
    yield event
    event.set()


def hanging(kind: str, release: threading.Event) -> Any:
    """Return a callback that answers nothing in the first run that it is called for, in one of the ways to hang."""

    class Hanging(OnlyEnds):
        def on_agent_response(self, response: Any, context: Any) -> Any:
            self._note("response", response.text, context)
            if response.text != "first":
                return None
            if kind == "fails":
                raise SystemExit("a callback that ends the process")
            if kind == "never answers":
                return asyncio.Event().wait()
            return release.wait()

    class Blocking(Hanging):
        async def on_agent_response(self, response: Any, context: Any) -> Any:  # type: ignore[override]
            super().on_agent_response(response, context)

    return Blocking() if kind == "blocks its loop" else Hanging()


@pytest.mark.behaviour("callbacks.harmless")
@pytest.mark.parametrize("kind", ["fails", "never answers", "holds its thread"])
async def test_a_callback_that_does_not_end_well_changes_nothing_for_runs(kind: str, release: threading.Event) -> None:
    listening = hanging(kind, release)
    async with served(app_of(scripted_agent("Joker"), default_callback=listening, environ=BRIEF)) as (_, http):
        first = await asyncio.wait_for(ask(http, "say first", thread_id="t"), GUARD_SECONDS)
        assert (await listening.next())[1] == "first"
        second = await asyncio.wait_for(ask(http, "say second", thread_id="t"), GUARD_SECONDS)

        assert (first.json()["response"], second.json()["response"]) == ("first", "second")
        assert (await listening.next())[1] == "second"


@pytest.mark.slow
@pytest.mark.behaviour("callbacks.harmless")
async def test_a_callback_that_blocks_its_loop_delays_no_run(release: threading.Event) -> None:
    listening = hanging("blocks its loop", release)
    async with served(app_of(scripted_agent("Joker"), default_callback=listening, environ=BRIEF)) as (host, http):
        await ask(http, "say first", thread_id="t")
        assert (await listening.next())[1] == "first"
        second = await asyncio.wait_for(ask(http, "say second", thread_id="t"), GUARD_SECONDS)
        with pytest.raises(Exception, match="No callback can be started"):
            await deliver_again(host, second.json()["run_id"])
        release.set()

        await deliver_again(host, second.json()["run_id"])
        assert (await listening.next())[1] == "second"


@pytest.mark.behaviour("callbacks.at-least-once")
async def test_a_notice_that_is_delivered_again_calls_again_for_the_same_run() -> None:
    listening = OnlyEnds()
    async with served(app_of(scripted_agent("Joker"), default_callback=listening)) as (host, http):
        run_id = (await ask(http, "say hello", thread_id="t")).json()["run_id"]
        first = await listening.next()
        await deliver_again(host, run_id)

        assert await listening.next() == first == ("response", "hello", run_id)


@pytest.mark.behaviour("callbacks.deleted")
async def test_no_callback_is_called_for_a_deleted_run() -> None:
    listening = OnlyEnds()
    async with served(app_of(scripted_agent("Joker"), default_callback=listening)) as (host, http):
        run_id = (await ask(http, "say hello", thread_id="t")).json()["run_id"]
        await listening.next()
        assert (await http.delete("/api/agents/Joker/threads/t")).status_code == 204
        result = await deliver_again(host, run_id)

    assert not result["isError"]
    assert listening.calls.empty()


@pytest.mark.parametrize("value", [{}, "run", {"run_id": 7}, {"run_id": "a/b"}])
async def test_a_notice_that_names_no_run_is_refused(value: object) -> None:
    async with served(app_of(scripted_agent("Joker"), default_callback=OnlyEnds())) as (host, _):
        result = await host.entities.call(ENTITY, "0", "call", value)

    assert result["isError"]


@pytest.mark.behaviour("callbacks.choice")
@pytest.mark.parametrize("callback", [print, OnlyEnds, "callback"])
def test_what_is_no_callback_is_refused(callback: Any) -> None:
    with pytest.raises(ConfigurationError, match="is not a callback"):
        app_of(scripted_agent("Joker"), default_callback=callback)


async def deliver_again(host: DirectHost, run_id: str, thread_id: str = "t") -> dict[str, Any]:
    again = callback_signal(Address.of("Joker", thread_id), run_id)
    return await host.entities.call(again.entity, again.key, again.operation, again.value, is_signal=True)


@pytest.mark.slow
@pytest.mark.behaviour("callbacks.updates")
async def test_no_listener_outlives_its_attempt() -> None:
    """Whether it was answered or cancelled: 100 runs that ended in another process once left 100."""
    listening = Listening()
    async with served(app_of(scripted_agent("Joker"), default_callback=listening)) as (_, http):
        for _ in range(5):
            await ask(http, "say one two three", stream=True)
            waiting = await ask(http, "sleep 60", wait_for_response=False)
            await http.post(waiting.headers["location"] + "/cancel")
        ends = 0
        while ends < 10:
            ends += (await listening.next())[0] != "update"
        gc.collect()

        assert [thing for thing in gc.get_objects() if isinstance(thing, Listener)] == []
