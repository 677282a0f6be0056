"""The end of the process: new runs are refused, those that run end, what agents hold open is closed."""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hosting.functions.shutdown import Shutdown, StoppingError
from tests.support.app.scripted import scripted_agent
from tests.support.carriers import APP, GUARD_SECONDS, Api, socket_api
from tests.support.made_app import app_of, ask, served
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
