"""One attempt: the agent with its thread, within its time, whatever it is made of and whatever it raises."""

import asyncio
import ctypes
import logging
import os
import queue
import re
import socket
import threading
import time
from typing import Any

import httpx
import pytest
from agent_framework import Agent, AgentResponse, AgentSession, ContextProvider, Message
from agent_framework.exceptions import ChatClientException

from hosting import __name__ as HOSTING
from hosting.core.agent.agent_loop import AgentLoop
from hosting.core.agent.agent_runner import AgentAnswer, AgentFailure
from tests.hosting.core.agent.attempts import attempt, outcome_of
from tests.support.app.scripted import ScriptedClient
from tests.support.cluster.cluster import Cluster, EchoAgent

GUARD_SECONDS = 5.0


class Raising(EchoAgent):
    """An agent whose run raises what it was made with."""

    def __init__(self, raised: BaseException) -> None:
        super().__init__()
        self.raised = raised

    async def run(self, messages: Any, **options: Any) -> AgentResponse[Any]:
        raise self.raised


@pytest.mark.behaviour("hosting.foreign-text-stays")
@pytest.mark.parametrize(
    "raised",
    [
        ValueError("a secret"),
        asyncio.CancelledError("a secret"),
        SystemExit("a secret"),
        KeyboardInterrupt(),
        BaseException("a secret"),
    ],
)
async def test_an_agent_that_raises_breaks_its_run_and_nothing_else(
    loop: AgentLoop, raised: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    """The caller gets our sentence, the log has the cause, and the loop serves the next run."""
    outcome = await outcome_of(Raising(raised), loop, attempt())
    after = await outcome_of(EchoAgent(), loop, attempt())

    assert isinstance(outcome, AgentFailure)
    assert (outcome.error.code, outcome.error.detail) == (
        "run_failed",
        "Agent 'Joker' failed; the log has the cause at run r-1.",
    )
    assert type(raised).__name__ in caplog.text
    assert isinstance(after, AgentAnswer)


class Calling(EchoAgent):
    """An agent whose model is called over HTTP at an address with a key in it."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self.address = f"http://user:secret@127.0.0.1:{port}/v1/chat?key=secret"

    async def run(self, messages: Any, **options: Any) -> AgentResponse[Any]:
        try:
            async with httpx.AsyncClient() as client:
                await client.get(self.address)
        except httpx.HTTPError as error:  # as the framework's clients do
            raise ChatClientException("the service failed") from error
        raise AssertionError("nobody listens there")


@pytest.mark.behaviour("hosting.unreached-model-named")
@pytest.mark.parametrize(
    ("proxy", "passed_by", "sentence"),
    [
        (False, "", "http://127.0.0.1:{port}/v1/chat cannot be reached: "),
        (True, "127.0.0.1", "http://127.0.0.1:{port}/v1/chat cannot be reached: "),
        (True, "", "through the proxy 127.0.0.1:{port}"),
    ],
)
async def test_a_model_that_cannot_be_reached_is_one_line_with_its_address(
    loop: AgentLoop,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    *,
    proxy: bool,
    passed_by: str,
    sentence: str,
) -> None:
    """Or with that of the proxy that was asked for it. No traceback through the client's own code, and no key."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port = bound.getsockname()[1]
    for name in ("HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy"):
        value = passed_by if name.lower() == "no_proxy" else f"http://me:secret@127.0.0.1:{port}" * proxy
        monkeypatch.setenv(name, value)
    outcome = await outcome_of(Calling(port), loop, attempt())

    assert isinstance(outcome, AgentFailure)
    records = [one for one in caplog.records if one.levelno == logging.ERROR and one.name.startswith(f"{HOSTING}.")]
    assert [record.exc_info for record in records] == [None]
    said = records[0].getMessage()
    assert said.startswith("Run r-1 of agent Joker failed: ")
    assert sentence.format(port=port) in said
    assert ("Set NO_PROXY=127.0.0.1 to connect" in said) == (proxy and not passed_by)
    assert "secret" not in said


class Remembering(ContextProvider):
    """A context provider that counts the runs of a thread, and breaks one."""

    async def before_run(self, *, agent: Any, session: AgentSession, context: Any, state: dict[str, Any]) -> None:
        """Count, and say the count to the model."""
        state["runs"] = state.get("runs", 0) + 1
        context.extend_messages(self, [Message("user", [f"visit {state['runs']}"])])


@pytest.mark.moved_time
@pytest.mark.behaviour("turn.session-state")
async def test_what_a_context_provider_keeps_survives_turns_and_restarts_but_not_a_failed_run() -> None:
    """It is stored with the conversation; a failed run leaves no trace in it."""
    providers = [Remembering("remembering")]
    cluster = Cluster(lambda: Agent(ScriptedClient(), name="Joker", context_providers=providers))
    kinds = []
    for message in ("recall", "fail", "recall"):
        process = cluster.process()
        kinds.append((await process.terminal(await process.run(message))).kind)

    assert kinds == ["completed", "failed", "completed"]
    assert "visit 2" in process.entries()[-1]["messages"][0]["contents"][0]["text"]
    assert "visit 3" not in str(cluster.engine.documents)


class Unkeepable(ContextProvider):
    """A context provider that keeps what is not JSON."""

    async def before_run(self, *, agent: Any, session: AgentSession, context: Any, state: dict[str, Any]) -> None:
        state["lock"] = threading.Lock()


@pytest.mark.behaviour("hosting.session-types")
@pytest.mark.filterwarnings("ignore:AgentSession state value:RuntimeWarning")
async def test_a_session_that_cannot_be_kept_breaks_the_run_by_a_sentence(loop: AgentLoop) -> None:
    """It names the type and says what to do, and the foreign text stays in the log."""
    agent = Agent(ScriptedClient(), "Do as told.", name="Joker", context_providers=[Unkeepable("unkeepable")])

    outcome = await outcome_of(agent, loop, attempt())

    assert isinstance(outcome, AgentFailure)
    assert outcome.error.code == "unstorable_answer"
    assert "has a lock, which is not JSON" in outcome.error.detail
    assert "register_state_type" in outcome.error.detail


class StoringClient(ScriptedClient):
    """A client that would keep the conversation at its provider; it notes the option that keeps it from that."""

    STORES_BY_DEFAULT = True

    def _inner_get_response(self, *, options: Any, **kwargs: Any) -> Any:
        self.store = options.get("store")
        return super()._inner_get_response(options=options, **kwargs)


@pytest.mark.parametrize(("chosen", "store"), [({}, False), ({"store": True}, True)])
async def test_a_client_that_stores_by_default_is_told_not_to_unless_its_author_chose(
    loop: AgentLoop, chosen: dict[str, Any], store: bool
) -> None:
    client = StoringClient()

    await outcome_of(Agent(client, "Do as told.", name="Joker", default_options=chosen), loop, attempt())

    assert client.store is store


@pytest.mark.slow
@pytest.mark.behaviour("hosting.names-who-blocked")
async def test_an_agent_that_blocks_the_loop_is_named_in_the_log(loop: AgentLoop) -> None:
    reported: queue.Queue[str] = queue.Queue()

    class Reporting(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            reported.put(record.getMessage())

    class Blocking(EchoAgent):
        async def run(self, messages: Any, **options: Any) -> AgentResponse[Any]:
            time.sleep(1.2)  # noqa: ASYNC251 - blocking the loop is the point
            return await super().run(messages, **options)

    logging.getLogger("hosting.core.agent.agent_loop").addHandler(handler := Reporting())
    await outcome_of(Blocking(), loop, attempt())
    line = await asyncio.to_thread(reported.get, timeout=GUARD_SECONDS)
    logging.getLogger("hosting.core.agent.agent_loop").removeHandler(handler)

    assert re.search(r"The agent loop was blocked for \d\.\d s by \S+test_runner.py:\d+ in run\. Make it", line)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="usleep is POSIX's")
@pytest.mark.behaviour("hosting.names-who-blocked")
async def test_a_loop_that_only_waits_is_not_named_as_blocked(caplog: pytest.LogCaptureFixture) -> None:
    """While another thread keeps the interpreter to itself, no line of the agents is at fault."""
    caplog.set_level(logging.INFO, "hosting.core.agent.agent_loop")
    loop = AgentLoop(tool_threads=1, name="waiting-loop")
    await outcome_of(EchoAgent(), loop, attempt())
    keep_interpreter = ctypes.PyDLL(None).usleep

    def told() -> list[str]:
        return [line for line in caplog.messages if line.startswith("The waiting loop")]

    while not any("waited" in line for line in told()):
        keep_interpreter(700_000)
        await asyncio.to_thread(told)
    loop.close()

    assert [line for line in told() if "blocked" in line] == []
