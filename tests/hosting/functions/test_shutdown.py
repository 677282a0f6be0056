"""The end of the process: new runs are refused, those that run end, what agents hold open is closed."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from agent_framework import AgentResponse, Message

from hosting.functions.shutdown import Shutdown, StoppingError
from tests.support.app.scripted import scripted_agent
from tests.support.carriers import APP, GUARD_SECONDS, Api, socket_api
from tests.support.desk import Desk
from tests.support.made_app import MEMORY, app_of, ask, served
from tests.support.running_host import RunningHost, host_environment
from tests.support.tool_server import ToolServer

TOOL_APP = """
import os
from agent_framework import Agent, MCPStreamableHTTPTool
from scripted import ScriptedClient
from hosting.app import AgentFunctionApp

class Told(Agent):
    def run(self, *given, **options):
        print("The agent begins.", flush=True)
        return super().run(*given, **options)

    async def __aexit__(self, *error):
        await super().__aexit__(*error)
        print("The tools are left.", flush=True)

cities = MCPStreamableHTTPTool("cities", os.environ["TOOLS"])
app = AgentFunctionApp(agents=[Told(ScriptedClient(), "Do as told.", name="Joker", tools=[cities])])
"""
ALONE = """
import asyncio, sys, time
from hosting.functions.shutdown import Shutdown

shutdown = Shutdown(lambda: print("closed", flush=True), grace_seconds=float(sys.argv[1]))

async def main():
    with shutdown.turn():
        print("running", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        print("ended", flush=True)
    await asyncio.sleep(60)

asyncio.run(main())
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The app under test with an agent whose tools are a server's."""
    folder = shutil.copytree(APP, tmp_path / "app")
    (folder / "function_app.py").write_text(TOOL_APP, encoding="utf-8")
    return folder


@pytest.mark.behaviour("service.leave")
@pytest.mark.parametrize("path", ["agents/Joker/threads", "openai/v1/models"])
async def test_a_process_that_has_begun_no_run_hears_that_it_is_to_end(path: str) -> None:
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        app = app_of(scripted_agent("Joker"), wires=["responses"])
        async with served(app) as (_, http):
            await http.get(f"/api/{path}")
            signal.raise_signal(signal.SIGTERM)
            await asyncio.wait_for(app._services.holders.draining.wait(), GUARD_SECONDS)
            refused = await ask(http, "hi")
    finally:
        signal.signal(signal.SIGTERM, before)

    assert (refused.status_code, refused.json()["code"]) == (503, "shutting_down")


def api_of(host: RunningHost, folder: Path) -> Api:
    """Return the app on a running host."""
    return socket_api(host.origin, folder / ".agents" / "log.sqlite")


@pytest.mark.slow
@pytest.mark.behaviour("hosting.drains")
async def test_a_host_that_is_asked_to_end_ends_its_runs_and_leaves_the_tool_server(folder: Path) -> None:
    """The run that was under way is answered, and the connection that all runs shared is closed by us."""
    with ToolServer() as server, RunningHost(folder, environ={"TOOLS": server.url}) as host:
        api = api_of(host, folder)
        for _ in range(2):
            await api.ask("tool city_of")
            await asyncio.to_thread(host.wait_for, "The agent begins.")
        running = asyncio.create_task(api.ask("sleep 1", thread_id="slow"))
        await asyncio.to_thread(host.wait_for, "The agent begins.")

        host.process.terminate()
        answer = await asyncio.wait_for(running, 2 * GUARD_SECONDS)
        await asyncio.to_thread(host.wait_for, "The tools are left.")
        await asyncio.to_thread(server.wait_for_end, "subscriptions/listen")
        code = await asyncio.to_thread(host.process.wait, 4 * GUARD_SECONDS)
        await api.http.aclose()

    assert (answer.status_code, answer.json()["response"], code) == (200, "echo: sleep 1", 0)
    assert server.began.count("server/discover") == 1


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signal that a process can take before it ends")
@pytest.mark.behaviour("hosting.drains")
def test_a_worker_that_had_no_handler_ends_by_the_signal_once_its_turn_has_ended() -> None:
    """As the platform's worker: the exit status is the signal's, and nothing is cut off."""
    worker = worker_in_a_turn(grace_seconds=10)

    worker.send_signal(signal.SIGTERM)
    output, _ = worker.communicate("go on\n", 4 * GUARD_SECONDS)

    assert (output, worker.returncode) == ("ended\nclosed\n", -signal.SIGTERM)


def worker_in_a_turn(grace_seconds: float) -> subprocess.Popen[str]:
    """Return a process without a handler of its own, in a turn that ends with a line on its standard input."""
    worker = subprocess.Popen(
        [sys.executable, "-c", ALONE, str(grace_seconds)],
        env=host_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert worker.stdout is not None
    assert worker.stdout.readline() == "running\n"
    return worker


@pytest.fixture
def ending() -> Shutdown:
    """A process that is to end, whose host had taken the signal before."""
    shutdown = Shutdown(lambda: None)
    shutdown.is_ending = True
    return shutdown


@pytest.mark.behaviour("hosting.drains")
def test_a_delivery_that_comes_too_late_is_given_back(ending: Shutdown) -> None:
    """The host delivers it again, to another process or the next."""
    with pytest.raises(StoppingError), ending.turn():
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot send itself SIGTERM there and live")
@pytest.mark.behaviour("hosting.drains")
def test_the_host_s_own_handler_gets_the_signal_and_has_the_second_to_itself() -> None:
    """Whoever drains by itself does so as if we were not there."""
    received: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: received.append(number))
    try:
        shutdown = Shutdown(lambda: None)
        shutdown.admit()
        ours = signal.getsignal(signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGTERM)
        is_ending, restored = shutdown.is_ending, signal.getsignal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)

    assert (received, is_ending, restored is ours) == ([signal.SIGTERM], True, False)


@pytest.mark.behaviour("service.leave")
async def test_requests_that_wait_when_the_process_ends_are_answered() -> None:
    """202 with the run's address, and a last event of a stream; the run has not ended, and continues elsewhere."""
    app = app_of(scripted_agent("Joker"))
    async with served(app) as (_, http):
        asked = [
            asyncio.ensure_future(ask(http, "sleep 30", thread_id=thread, stream=thread == "streamed"))
            for thread in ("waited", "streamed")
        ]
        holders = app._services.holders
        while len(holders.held) < 2:  # noqa: ASYNC110 - a process tells what it holds by this alone
            await asyncio.sleep(0.01)
        await holders.drain(0.0)
        waited, streamed = await asyncio.wait_for(asyncio.gather(*asked), GUARD_SECONDS)
        run = await http.get(waited.headers["location"])

    assert (waited.status_code, waited.json()["status"], run.json()["status"]) == (202, "running", "running")
    last = streamed.text.strip().split("\n\n")[-1]
    assert last.startswith("event: unavailable\n")
    assert json.loads(last.partition("data: ")[2])["code"] == "shutting_down"


RUN = "a" * 32
BRIEF = {**MEMORY, "AGENT_BLOCKED_SECONDS": "0.1"}
LOGGER = logging.getLogger("hosting.core.agent.agent_loop")
LINE = r"\S+test_shutdown.py:\d+ in run"


class Blocking:
    """An agent that blocks its loop, told to `block`, until it is let go."""

    name = "Joker"

    def __init__(self) -> None:
        self.let_go: queue.SimpleQueue[None] = queue.SimpleQueue()

    async def run(self, messages: Any, **options: Any) -> Any:
        if messages[-1].text == "block":
            self.let_go.get()
        return AgentResponse(messages=[Message("assistant", [f"echo: {messages[-1].text}"])])


class Lines(logging.Handler):
    """What is logged, one line after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0
        self._told: queue.SimpleQueue[str] = queue.SimpleQueue()

    def emit(self, record: logging.LogRecord) -> None:
        self.count += 1
        self._told.put(record.getMessage())

    async def next(self) -> str:
        """Return the next line."""
        return await asyncio.to_thread(self._told.get, True, GUARD_SECONDS)

    async def of(self, part: str) -> str:
        """Return the next line with that part: on a busy machine there may be others before it."""
        while part not in (line := await self.next()):
            pass
        return line


@pytest.fixture
def lines() -> Iterator[Lines]:
    """What the agents' loop logs."""
    handler = Lines()
    LOGGER.addHandler(handler)
    yield handler
    LOGGER.removeHandler(handler)


@pytest.mark.slow
@pytest.mark.behaviour("hosting.refuses-while-blocked")
@pytest.mark.behaviour("http.readiness")
async def test_a_process_whose_agents_are_blocked_takes_no_new_run_until_they_go_on(lines: Lines) -> None:
    """Whoever blocks them is named in the log, and to the developer in the answer."""
    agent = Blocking()
    async with served(app_of(agent, environ=BRIEF)) as (_, http):
        blocked = asyncio.ensure_future(ask(http, "block"))
        told = await lines.of("and still is")
        refused, ready = await ask(http, "hi"), await http.get("/api/health/ready")
        agent.let_go.put(None)
        ended, gone_on = await blocked, await lines.of("was blocked")
        after = [(await http.get("/api/health/ready")).status_code, (await ask(http, "hi")).status_code]

    assert re.fullmatch(
        rf"The agent loop has been blocked for \d\.\d s by {LINE} and still is. The app takes no new runs until "
        "then.",
        told,
    )
    assert [(one.status_code, one.json()["code"], "retry-after" in one.headers) for one in (refused, ready)] == [
        (503, "agents_blocked", True)
    ] * 2
    assert re.search(rf"blocked for \d+ s by {LINE}, and no new runs start", refused.json()["detail"])
    assert (ended.status_code, after) == (200, [200, 200])
    assert gone_on.startswith("The agent loop was blocked for ")
    assert lines.count < 10  # each after twice the time of the last


@pytest.mark.slow
@pytest.mark.behaviour("hosting.refuses-while-blocked")
async def test_a_run_that_a_signal_brings_waits_while_the_agents_are_blocked(lines: Lines) -> None:
    """Its entity leaves it to another process, and claims it here once they go on."""
    agent = Blocking()
    async with served(app_of(agent, environ=BRIEF)) as (host, http):
        blocked = asyncio.ensure_future(ask(http, "block"))
        await lines.of("and still is")
        host.entities.deliver("dafx-joker", "other", "run", {"message": "hi", "run_id": RUN})
        while (run := await http.get(f"/api/agents/Joker/threads/other/runs/{RUN}")).status_code == 404:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        began, freed = run.json()["status"], datetime.now(UTC)
        agent.let_go.put(None)
        await asyncio.wait_for(host.entities.idle(), GUARD_SECONDS)
        await blocked
        stream = (await http.get(f"/api/agents/Joker/threads/other/runs/{RUN}/events")).text

    (started,) = re.findall(r'event: started\ndata: .*"at": "([^"]+)"', stream)
    assert began == "accepted"
    assert datetime.fromisoformat(started) > freed


@pytest.mark.behaviour("hosting.refuses-while-blocked")
async def test_an_answer_to_an_approval_is_refused_while_the_agents_are_blocked(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may begin a run, as a message does; nothing is decided by it, and it can be sent again."""
    (approval,) = await desk.approvals_of("call refund 5")
    loop = desk.app._loop
    monkeypatch.setattr(loop, "_most_blocked_seconds", 0.0)
    monkeypatch.setattr(loop, "_blocked_since", 0.0)
    refused = await desk.answer(approval)
    waiting = await desk.waiting()
    monkeypatch.undo()
    answered = await desk.answer(approval)

    assert (refused.status_code, refused.json()["code"], waiting) == (503, "agents_blocked", [approval])
    assert (answered.status_code, answered.json()["response"]) == (200, "told: refunded 5")
