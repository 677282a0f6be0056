"""The host as a process: what it prints, how it stops, what it refuses, and what survives its death."""

from __future__ import annotations

import shutil
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.support.app_folder import make_app
from tests.support.running_host import APPS, GUARD_SECONDS, RunningHost, host_environment, run_command
from tests.support.warm_python import Begins

pytestmark = pytest.mark.slow

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM to send to a process")
APP = """
import asyncio
import logging
import sys
import time
import azure.functions as func
app = func.FunctionApp(http_auth_level=func.AuthLevel.ANONYMOUS)


@app.route(route="wait")
async def wait(req: func.HttpRequest) -> str:
    print("the request runs", flush=True)
    await asyncio.sleep(float(req.params["seconds"]))
    return "finished"


@app.route(route="never")
def never(req: func.HttpRequest) -> str:
    time.sleep(3600)
    return "late"


@app.route(route="loud")
def loud(req: func.HttpRequest) -> str:
    line = "x" * 9_999
    for _ in range(5_000):
        print(line)
        logging.info("%s", line)
    return "said"


@app.route(route="quiet")
async def quiet(req: func.HttpRequest) -> str:
    return "fine"


@app.route(route="exits")
def exits(req: func.HttpRequest) -> str:
    sys.exit(3)
"""


@pytest.mark.behaviour("devhost.start-prints")
def test_start_prints_address_functions_mcp_and_the_first_request(host: RunningHost) -> None:
    if "Try: curl" not in host.printed_so_far():
        host.wait_for("Try: curl")
    origin = host.origin.replace("127.0.0.1", "localhost")
    tools = "as_dict, broken, envelope, weather, whoami"
    assert {
        f"\techo: [GET,POST,PUT] {origin}/api/echo/{{name}}/{{id?}}",
        "\tstreamed: kafkaTrigger (not run here: this host has no kafkaTrigger)",
        f"MCP: {origin}/runtime/webhooks/mcp (tools: {tools}; resources: notes)",
        f"Try: curl {origin}/api/shadow/value",
    } <= set(host.printed)


@pytest.mark.behaviour("devhost.port-in-use")
def test_a_port_in_use_is_one_sentence_and_exit_code_two() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = run_command(APPS / "sent", "start", "--port", str(port), begins=Begins.WARM)
    assert (ended.returncode, ended.stderr) == (
        2,
        f"Error: Port {port} is in use. If this app runs already, stop it first. Else choose another port with "
        "--port.\n",
    )


@contextmanager
def at_work(folder: Path, seconds: float, *options: str) -> Iterator[tuple[RunningHost, Future[httpx.Response]]]:
    """Run a host within the block, with a request that takes so long and has begun."""
    with RunningHost(make_app(folder, APP), "--port", "0", *options) as host, ThreadPoolExecutor() as pool:
        request = pool.submit(httpx.get, f"{host.origin}/api/wait?seconds={seconds}", timeout=GUARD_SECONDS)
        host.wait_for("the request runs")
        yield host, request


@posix_only
@pytest.mark.behaviour("devhost.drains")
@pytest.mark.parametrize(("number", "options"), [(signal.SIGTERM, ()), (signal.SIGINT, ("--watch",))])
def test_the_first_signal_lets_running_requests_finish(
    tmp_path: Path, number: signal.Signals, options: tuple[str, ...]
) -> None:
    """Exit code 0. A watching host alone may get it, as from an editor's stop button or `kill -INT`."""
    with at_work(tmp_path, 0.3, *options) as (host, request):
        host.process.send_signal(number)
        assert request.result(GUARD_SECONDS).text == "finished"
        assert host.process.wait(GUARD_SECONDS) == 0


@posix_only
@pytest.mark.behaviour("devhost.drains")
def test_the_second_signal_stops_at_once(tmp_path: Path) -> None:
    with at_work(tmp_path, 60) as (host, request):
        host.process.send_signal(signal.SIGINT)
        host.wait_for("Stopping")
        host.process.send_signal(signal.SIGINT)
        assert host.process.wait(GUARD_SECONDS) == 130
        with pytest.raises(httpx.HTTPError):
            request.result(GUARD_SECONDS)


@posix_only
@pytest.mark.behaviour("devhost.watch")
def test_the_app_is_killed_with_the_process_that_watches_for_it(tmp_path: Path) -> None:
    with at_work(tmp_path, 60, "--watch") as (host, request):
        host.process.kill()
        with pytest.raises(httpx.RemoteProtocolError):
            request.result(GUARD_SECONDS)


@pytest.mark.behaviour("devhost.loud-functions")
@pytest.mark.behaviour("devhost.exiting-functions")
def test_functions_that_are_loud_or_exit_hold_up_nobody(tmp_path: Path) -> None:
    """A hundred megabytes of log, and an exit."""
    with RunningHost(make_app(tmp_path, APP)) as host:
        answers = [httpx.get(f"{host.origin}/api/{path}", timeout=60) for path in ("loud", "exits", "quiet")]

    assert [(answer.status_code, answer.text) for answer in answers] == [(200, "said"), (500, ""), (200, "fine")]


@pytest.mark.behaviour("devhost.function-timeout")
def test_a_function_that_never_returns_is_answered_for_in_time_and_holds_up_nobody(tmp_path: Path) -> None:
    """Its thread does not keep the host."""
    host_json = {"version": "2.0", "functionTimeout": "00:00:01"}
    with RunningHost(make_app(tmp_path, APP, host=host_json)) as host, ThreadPoolExecutor() as pool:
        get = httpx.Client(base_url=f"{host.origin}/api", timeout=60).get
        asked = pool.submit(get, "/never")
        meanwhile, never = get("/quiet"), asked.result(60)
        host.wait_for("Timeout value of 00:00:01 was exceeded by function: Functions.never")
        behind = get("/quiet")
        host.stop()

    assert (never.status_code, never.content) == (500, b"")
    assert (meanwhile.text, behind.text) == ("fine", "fine")


# Root may write everywhere by two capabilities (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH); without them, as others do.
AS_OTHERS = """
import ctypes, os, sys
if sys.platform == "linux":
    for capability in (1, 2):
        ctypes.CDLL(None).prctl(24, capability)  # PR_CAPBSET_DROP
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a folder there has no such mode")
@pytest.mark.behaviour("devhost.read-only-folder")
def test_a_folder_that_cannot_be_written_is_refused_by_a_sentence(durable_folder: Path) -> None:
    durable_folder.chmod(0o500)
    command = [sys.executable, "-c", AS_OTHERS, "-m", "devhost", "start", "--port", "0"]
    ended = subprocess.run(
        command, cwd=durable_folder, env=host_environment(), capture_output=True, text=True, timeout=30, check=False
    )
    durable_folder.chmod(0o700)

    assert (ended.returncode, str(durable_folder) in ended.stderr, "Traceback" in ended.stderr) == (1, True, False)


@pytest.fixture
def durable_folder(tmp_path: Path) -> Path:
    """A copy, so that the engine's files stay out of the project."""
    return Path(shutil.copytree(APPS / "durable", tmp_path / "app", ignore=shutil.ignore_patterns(".devhost")))


def write(host: RunningHost, text: str) -> None:
    answer = httpx.post(f"{host.origin}/api/notes/n", content=text, timeout=GUARD_SECONDS)
    assert answer.status_code == 202


def read(host: RunningHost, count: int) -> list[str]:
    notes: list[str] = httpx.get(f"{host.origin}/api/notes/n?count={count}", timeout=GUARD_SECONDS).json()
    return notes


@posix_only
@pytest.mark.behaviour("devhost.durable-functions")
@pytest.mark.behaviour("devhost.drains")
@pytest.mark.behaviour("devhost.one-host-per-folder")
@pytest.mark.behaviour("devhost.reset")
def test_state_and_unfinished_work_outlive_each_process_until_a_reset(durable_folder: Path) -> None:
    """An operation that SIGKILL cuts off runs again; one that runs at a stop ends first, and does not.

    A second process on the folder is refused by one sentence, also one that watches for edits, which would not mend it.
    """
    start = "/runtime/webhooks/durabletask/orchestrators/greet_all?timeout=4&pollingInterval=0.1"
    with RunningHost(durable_folder) as host:
        greeted = httpx.post(f"{host.origin}{start}", json={"names": ["a", "b"]}, timeout=GUARD_SECONDS)
        assert (greeted.status_code, greeted.json()) == (200, ["hello a", "hello b"])
        write(host, "one")
        write(host, "slow")
        host.wait_for("writing slow")
        host.process.kill()
        host.process.wait(GUARD_SECONDS)
    with RunningHost(durable_folder) as host:
        assert read(host, 2) == ["one", "slow"]
        host.printed_so_far()
        write(host, "slow")
        host.wait_for("writing slow")
        host.process.send_signal(signal.SIGTERM)
        assert host.process.wait(GUARD_SECONDS) == 0
    with RunningHost(durable_folder) as host:
        for arguments in (("start", "--port", "0", "--watch"), ("reset",)):
            ended = run_command(durable_folder, *arguments, begins=Begins.WARM)
            assert (ended.returncode, "Another local host is using" in ended.stderr) == (1, True)
            assert (ended.stderr.count("Error: "), "Traceback" in ended.stderr) == (1, False)
        write(host, "last")
        assert read(host, 4) == ["one", "slow", "slow", "last"]
        assert "writing slow" not in host.printed_so_far()
        host.stop()
    ended = run_command(durable_folder, "reset", begins=Begins.WARM)
    assert (ended.returncode, ended.stderr) == (0, "")
    with RunningHost(durable_folder) as host:
        assert read(host, 0) == []


@pytest.fixture
def open_folder(tmp_path: Path) -> Path:
    """The app with keys, in which an older host, or a copy, has left files that others may read."""
    folder = shutil.copytree(APPS / "keyed", tmp_path / "app", ignore=shutil.ignore_patterns(".devhost"))
    (folder / ".devhost").mkdir(mode=0o755)
    (folder / ".devhost" / "durable.lock").touch(mode=0o644)
    return folder


@pytest.mark.skipif(sys.platform == "win32", reason="files there have no such modes")
@pytest.mark.behaviour("devhost.own-files")
def test_what_the_host_writes_is_closed_to_other_users(open_folder: Path) -> None:
    """The engine's file with what SQLite keeps beside it, locks, keys, and what is remembered of timers."""
    with RunningHost(open_folder, "--port", "0", "--auth") as host:
        httpx.get(f"{host.origin}/api/start", timeout=GUARD_SECONDS)
        written = open_folder / ".devhost"
        modes = {path: stat.S_IMODE(path.stat().st_mode) for path in (written, *written.rglob("*"))}

    names = {path.name for path in modes}
    assert names >= {"durable.db", "durable.db-wal", "durable.db-shm", "durable.lock", "hosts.lock", "keys.json"}
    assert any(path.parent.name == "timers" for path in modes)
    assert modes == {
        path: 0o700 if path.suffix == "" and path.name in (".devhost", "timers") else 0o600 for path in modes
    }
