"""Response callbacks: who is told what, in which order, and that nobody waits for it."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from hosting.callback.notices import ENTITY, KEYS, notice
from hosting.errors import ConfigurationError
from tests.support.app.scripted import scripted_agent
from tests.support.carriers import GUARD_SECONDS
from tests.support.direct import DirectHost
from tests.support.made_app import app_of, ask, served

BRIEF = {"AGENT_RUN_LOG": "memory", "AGENT_CALLBACK_SECONDS": "0.2"}
Heard = tuple[str, Any, str]


class Listening:
    """A callback that keeps what it hears: the method, what was said, the run."""

    def __init__(self) -> None:
        self.heard: queue.Queue[Heard] = queue.Queue()
        self.contexts: list[Any] = []

    async def on_streaming_response_update(self, update: Any, context: Any) -> None:
        """Hear a piece."""
        self._hear("update", update.text, context)

    def on_agent_response(self, response: Any, context: Any) -> None:
        """Hear the answer, on a thread."""
        self._hear("response", response.text, context)

    async def on_agent_failure(self, error: Any, context: Any) -> None:
        """Hear of a failure."""
        self._hear("failure", error.code, context)

    async def next(self) -> Heard:
        """Return what is heard next, under the guard."""
        return await asyncio.to_thread(self.heard.get, timeout=GUARD_SECONDS)

    def _hear(self, method: str, said: Any, context: Any) -> None:
        self.contexts.append(context)
        self.heard.put((method, said, context.run_id))


class OnlyEnds(Listening):
    """A callback that does not listen to what is said meanwhile."""

    on_streaming_response_update = None  # type: ignore[assignment]


@pytest.mark.behaviour("callbacks.response")
async def test_a_callback_hears_the_answer_and_whose_it_is() -> None:
    """Under all names of the ids."""
    listening = OnlyEnds()
    async with served(app_of(scripted_agent("Joker"), default_callback=listening)) as (_, http):
        answer = (await ask(http, "say hello", thread_id="t")).json()
        heard = await listening.next()

    assert heard == ("response", "hello", answer["run_id"])
    (context,) = listening.contexts
    assert (context.agent_name, context.request_message) == ("Joker", "say hello")
    assert (context.correlation_id, context.thread_id, context.session_id) == (answer["run_id"], "t", "t")


@pytest.mark.behaviour("callbacks.response")
async def test_a_callback_hears_the_answer_to_a_call_of_the_entity() -> None:
    """As orchestrations and other packages make it."""
    listening = OnlyEnds()
    async with served(app_of(scripted_agent("Joker"), default_callback=listening)) as (host, _):
        order = {"message": "say hello", "correlationId": "their-id"}
        await host.entities.call("dafx-joker", "t", "run", order)

        assert await listening.next() == ("response", "hello", "their-id")


@pytest.mark.behaviour("callbacks.failure")
async def test_a_callback_hears_of_a_failure_in_our_words() -> None:
    """And of no answer, because there was none."""
    listening = OnlyEnds()
    async with served(app_of(scripted_agent("Joker"), default_callback=listening)) as (_, http):
        failed = (await ask(http, "fail please")).json()
        heard = await listening.next()
        await ask(http, "say next")
        after = await listening.next()

    assert heard == ("failure", "run_failed", failed["run_id"])
    assert after[:2] == ("response", "next")


@pytest.mark.behaviour("callbacks.failure")
async def test_a_run_that_was_cancelled_before_its_signal_came_is_told() -> None:
    """Its entity hears of it by the cancel."""
    listening = OnlyEnds()
    async with served(app_of(scripted_agent("Joker"), default_callback=listening)) as (host, http):
        host.entities.refuse_signals = True
        lost = await ask(http, "say hello", wait_for_response=False)
        host.entities.refuse_signals = False
        await http.post(lost.headers["location"] + "/cancel")

        assert await listening.next() == ("failure", "run_cancelled", lost.json()["run_id"])


@pytest.mark.behaviour("callbacks.updates")
async def test_a_callback_hears_each_piece_in_order_and_then_the_whole() -> None:
    """Nobody asked for a stream, so the run's log has no words before its end."""
    listening = Listening()
    async with served(app_of(scripted_agent("Joker"), default_callback=listening)) as (_, http):
        answer = await ask(http, "say one two three", thread_id="t")
        heard = [await listening.next()]
        while heard[-1][0] == "update":
            heard.append(await listening.next())
        run = f"/api/agents/Joker/threads/t/runs/{answer.json()['run_id']}"
        events = (await http.get(f"{run}/events", params={"offset": "-1"})).json()

    assert "".join(said for _, said, _ in heard[:-1]) == heard[-1][1] == "one two three"
    assert len(heard) > 3
    assert [event["event"] for event in events] == ["accepted", "started", "completed"]


@pytest.mark.behaviour("callbacks.updates")
async def test_who_listens_slowly_hears_every_piece_before_the_whole() -> None:
    """The run is long answered by then."""

    class Slow(Listening):
        async def on_streaming_response_update(self, update: Any, context: Any) -> None:
            await asyncio.sleep(0.02)
            self._hear("update", update.text, context)

    listening = Slow()
    async with served(app_of(scripted_agent("Joker"), default_callback=listening)) as (_, http):
        await ask(http, "say one two three four five")
        heard = [await listening.next() for _ in range(7)]

    assert "".join(said for _, said, _ in heard[:-1]) == heard[-1][1]
    assert heard[-1][0] == "response"


@pytest.mark.behaviour("callbacks.updates")
async def test_who_fails_at_one_piece_hears_no_more_of_them_and_the_whole() -> None:
    """The run's words come all the same to who streams it."""

    class Failing(Listening):
        async def on_streaming_response_update(self, update: Any, context: Any) -> None:
            self._hear("update", update.text, context)
            raise ValueError("this callback is broken")

    listening = Failing()
    async with served(app_of(scripted_agent("Joker"), default_callback=listening)) as (_, http):
        streamed = await ask(http, "say one two three", stream=True)
        heard = [await listening.next(), await listening.next()]

    assert [method for method, _, _ in heard] == ["update", "response"]
    assert '"response": "one two three"' in streamed.text


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """What hanging callbacks wait for: the end of their test."""
    event = threading.Event()
    yield event
    event.set()


def hanging(kind: str, release: threading.Event) -> Any:
    """Return a callback that answers nothing in the first run that it hears of, in one of the ways to hang."""

    class Hanging(OnlyEnds):
        def on_agent_response(self, response: Any, context: Any) -> Any:
            self._hear("response", response.text, context)
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
    """The thread goes on at once, and the next run is told."""
    listening = hanging(kind, release)
    async with served(app_of(scripted_agent("Joker"), default_callback=listening, environ=BRIEF)) as (_, http):
        first = await asyncio.wait_for(ask(http, "say first", thread_id="t"), GUARD_SECONDS)
        assert (await listening.next())[1] == "first"
        second = await asyncio.wait_for(ask(http, "say second", thread_id="t"), GUARD_SECONDS)

        assert (first.json()["response"], second.json()["response"]) == ("first", "second")
        assert (await listening.next())[1] == "second"


@pytest.mark.behaviour("callbacks.harmless")
async def test_a_callback_that_blocks_its_loop_delays_no_run(release: threading.Event) -> None:
    """What cannot be told meanwhile is delivered again."""
    listening = hanging("blocks its loop", release)
    async with served(app_of(scripted_agent("Joker"), default_callback=listening, environ=BRIEF)) as (host, http):
        await ask(http, "say first", thread_id="t")
        assert (await listening.next())[1] == "first"
        second = await asyncio.wait_for(ask(http, "say second", thread_id="t"), GUARD_SECONDS)
        with pytest.raises(Exception, match="No callback can be begun"):
            await told_again(host, second.json()["run_id"])
        release.set()

        await told_again(host, second.json()["run_id"])
        assert (await listening.next())[1] == "second"


@pytest.mark.behaviour("callbacks.at-least-once")
async def test_a_notice_that_is_delivered_again_is_told_again_under_the_same_run() -> None:
    """A callback tells repeats by it."""
    listening = OnlyEnds()
    async with served(app_of(scripted_agent("Joker"), default_callback=listening)) as (host, http):
        run_id = (await ask(http, "say hello")).json()["run_id"]
        first = await listening.next()
        await told_again(host, run_id)

        assert await listening.next() == first == ("response", "hello", run_id)


@pytest.mark.behaviour("callbacks.deleted")
async def test_of_a_deleted_run_nothing_is_told() -> None:
    """Its notice may come late."""
    listening = OnlyEnds()
    async with served(app_of(scripted_agent("Joker"), default_callback=listening)) as (host, http):
        run_id = (await ask(http, "say hello", thread_id="t")).json()["run_id"]
        await listening.next()
        assert (await http.delete("/api/agents/Joker/threads/t")).status_code == 204
        result = await told_again(host, run_id)

    assert not result["isError"]
    assert listening.heard.empty()


@pytest.mark.parametrize("value", [{}, "run", {"run_id": 7}, {"run_id": "a/b"}])
async def test_a_notice_that_names_no_run_is_refused(value: object) -> None:
    """By a sentence: it is not delivered again."""
    async with served(app_of(scripted_agent("Joker"), default_callback=OnlyEnds())) as (host, _):
        result = await host.entities.call(ENTITY, "0", "call", value)

    assert result["isError"]


@pytest.mark.behaviour("callbacks.choice")
async def test_an_agents_own_callback_goes_before_the_apps() -> None:
    """The other one hears nothing of its runs."""
    apps, own = OnlyEnds(), OnlyEnds()
    app = app_of(scripted_agent("Joker"), default_callback=apps)
    app.add_agent(scripted_agent("Poet"), callback=own)
    async with served(app) as (_, http):
        await http.post("/api/agents/Poet/run", json={"message": "say a poem"})
        await ask(http, "say a joke")
        heard = [(await own.next())[1], (await apps.next())[1]]

    assert heard == ["a poem", "a joke"]
    assert own.heard.empty()
    assert apps.heard.empty()


@pytest.mark.behaviour("callbacks.choice")
@pytest.mark.parametrize("callback", [print, OnlyEnds, "callback"])
def test_what_is_no_callback_is_refused(callback: Any) -> None:
    """A class, too: an instance is wanted."""
    with pytest.raises(ConfigurationError, match="is no callback"):
        app_of(scripted_agent("Joker"), default_callback=callback)


def test_without_callbacks_there_is_no_entity_for_them() -> None:
    """And nothing to pay for."""
    names = [function.get_function_name() for function in app_of(scripted_agent("Joker")).get_functions()]

    assert ENTITY not in names


def test_notices_have_few_keys() -> None:
    """So callbacks that hang hold few of the host's places."""
    keys = {notice(f"run-{number}").key for number in range(2000)}

    assert keys == {str(key) for key in range(KEYS)}


async def told_again(host: DirectHost, run_id: str) -> dict[str, Any]:
    """Deliver the notice of a run once more."""
    again = notice(run_id)
    return await host.entities.call(again.entity, again.key, again.operation, again.value, is_signal=True)
