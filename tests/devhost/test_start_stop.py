"""Starting and stopping the host as a process."""

from __future__ import annotations

import signal
import socket
import sys
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.support.app_folder import make_app
from tests.support.running_host import (
    APPS,
    GUARD_SECONDS,
    RunningHost,
    run_command,
)

pytestmark = pytest.mark.slow

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM to send to a process")

SLOW_APP = """
import asyncio
import azure.functions as func

app = func.FunctionApp()


@app.route(route="wait", auth_level="anonymous")
async def wait(req: func.HttpRequest) -> func.HttpResponse:
    print("the request runs", flush=True)
    await asyncio.sleep(float(req.params["seconds"]))
    return func.HttpResponse("finished")
"""


@pytest.mark.behaviour("devhost.start-prints")
def test_start_prints_address_functions_mcp_and_the_first_request(classic_host):
    """Port 0 prints the real port; what is not run says why."""
    classic_host.wait_for("Try: curl")
    origin = classic_host.origin.replace("127.0.0.1", "localhost")
    assert f"\techo: [GET,POST,PUT] {origin}/api/echo/{{name}}/{{id?}}" in classic_host.printed
    assert "\tstreamed: kafkaTrigger (not run here: this host has no kafkaTrigger)" in classic_host.printed
    mcp = f"MCP: {origin}/runtime/webhooks/mcp (tools: as_dict, broken, envelope, weather; resources: notes)"
    assert mcp in classic_host.printed
    assert classic_host.printed[-1] == f"Try: curl {origin}/api/shadow/value"


@pytest.mark.behaviour("devhost.start-prints")
def test_the_first_request_posts_where_only_post_is_taken(tmp_path):
    """A line that a POSIX shell and Windows' own both read."""
    source = "import azure.functions as func\napp = func.FunctionApp()\n"
    route = "@app.route(route='run/{name:alpha}', methods=['POST'])\ndef f(req): ...\n"
    with RunningHost(make_app(tmp_path, source + route)) as host:
        line = host.wait_for("Try: ")
    url = host.origin.replace("127.0.0.1", "localhost") + "/api/run/name"
    assert line == f'Try: curl -X POST {url} -H "Content-Type: application/json" -d "{{}}"'


INTRODUCED = """
import azure.functions as func

class App(func.FunctionApp):
    introduction = {"lines": ["Model: small"], "details": ["beside", "streamed"], "request": ("main", "Who are you?")}

app = App()

@app.route(route="a/beside", methods=["GET"])
def beside(req): ...

@app.route(route="main", methods=["POST"])
def main(req): ...

@app.generic_trigger(arg_name="msg", type="kafkaTrigger")
def streamed(msg): ...
"""


@pytest.mark.behaviour("devhost.start-introduces")
@pytest.mark.parametrize(
    ("verbose", "listed"), [((), "\t1 more with --verbose"), (("--verbose",), "\tbeside: [GET] {origin}/api/a/beside")]
)
def test_an_app_says_what_its_start_shows(tmp_path, verbose, listed):
    """What does not run is told whatever the app says."""
    with RunningHost(make_app(tmp_path, INTRODUCED), "--port", "0", *verbose) as host:
        line = host.wait_for("Try: ")
    origin = host.origin.replace("127.0.0.1", "localhost")
    assert line == f'Try: curl {origin}/api/main -d "Who are you?"'
    assert listed.format(origin=origin) in host.printed
    assert {"Model: small", f"\tmain: [POST] {origin}/api/main"} <= set(host.printed)
    assert any(printed.startswith("\tstreamed: kafkaTrigger (not run here") for printed in host.printed)


@pytest.mark.behaviour("devhost.port-in-use")
def test_a_port_in_use_is_one_sentence_and_exit_code_two():
    """The host that has the port goes on."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = run_command(APPS / "classic", "start", "--port", str(port))
    expected = (
        f"Error: Port {port} is in use. If this app runs already, stop it first. Else choose another port with "
        "--port.\n"
    )
    assert (ended.returncode, ended.stderr) == (2, expected)


@posix_only
@pytest.mark.behaviour("devhost.drains")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_lets_running_requests_finish(tmp_path, number):
    """Exit code 0."""
    with RunningHost(make_app(tmp_path, SLOW_APP)) as host, ThreadPoolExecutor() as pool:
        request = pool.submit(httpx.get, f"{host.origin}/api/wait?seconds=0.5", timeout=GUARD_SECONDS)
        host.wait_for("the request runs")
        host.process.send_signal(number)
        assert request.result(GUARD_SECONDS).text == "finished"
        assert host.process.wait(GUARD_SECONDS) == 0


@posix_only
@pytest.mark.behaviour("devhost.drains")
def test_the_second_signal_stops_at_once(tmp_path):
    """Whatever runs is left."""
    with RunningHost(make_app(tmp_path, SLOW_APP)) as host, ThreadPoolExecutor() as pool:
        request = pool.submit(httpx.get, f"{host.origin}/api/wait?seconds=60", timeout=GUARD_SECONDS)
        host.wait_for("the request runs")
        host.process.send_signal(signal.SIGINT)
        host.wait_for("Stopping")
        host.process.send_signal(signal.SIGINT)
        assert host.process.wait(GUARD_SECONDS) == 130
        with pytest.raises(httpx.HTTPError):
            request.result(GUARD_SECONDS)


@posix_only
@pytest.mark.behaviour("devhost.drains")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_watching_host_that_alone_gets_the_signal_lets_running_requests_finish(tmp_path, number):
    """As from an editor's stop button or `kill -INT`: no terminal sends the signal to the app's process too."""
    arguments = ("--port", "0", "--watch")
    with RunningHost(make_app(tmp_path, SLOW_APP), *arguments) as host, ThreadPoolExecutor() as pool:
        request = pool.submit(httpx.get, f"{host.origin}/api/wait?seconds=0.5", timeout=GUARD_SECONDS)
        host.wait_for("the request runs")
        host.process.send_signal(number)
        assert request.result(GUARD_SECONDS).text == "finished"
        assert host.process.wait(GUARD_SECONDS) == 0


@posix_only
@pytest.mark.behaviour("devhost.watch")
def test_the_app_is_killed_with_the_process_that_watches_for_it(tmp_path):
    """So that its port is free for the next start."""
    arguments = ("--port", "0", "--watch")
    with RunningHost(make_app(tmp_path, SLOW_APP), *arguments) as host, ThreadPoolExecutor() as pool:
        request = pool.submit(httpx.get, f"{host.origin}/api/wait?seconds=60", timeout=GUARD_SECONDS)
        host.wait_for("the request runs")
        host.process.kill()
        with pytest.raises(httpx.RemoteProtocolError):
            request.result(GUARD_SECONDS)
