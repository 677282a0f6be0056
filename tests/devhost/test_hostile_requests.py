"""Requests made to hurt: bodies without end, nesting without end, bytes that are no text, clients that leave."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import httpx
import pytest

from devhost.http import app
from tests.support.app_folder import make_app
from tests.support.running_host import GUARD_SECONDS, RunningHost

pytestmark = pytest.mark.slow

APP = """
import asyncio
import azure.durable_functions as df
import azure.functions as func
from azurefunctions.extensions.http.fastapi import Request, StreamingResponse

app = df.DFApp(http_auth_level=func.AuthLevel.ANONYMOUS)


@app.route(route="classic", methods=["POST"])
def classic(req: func.HttpRequest) -> str:
    return str(len(req.get_body()))


@app.route(route="streaming", methods=["POST"])
async def streaming(req: Request) -> StreamingResponse:
    length = len(await req.body())

    async def words():
        while True:
            yield f"{length} "
            await asyncio.sleep(0)

    return StreamingResponse(words())


@app.route(route="says", methods=["POST"])
def says(req: func.HttpRequest) -> str:
    print("said")
    return "said"


@app.route(route="length", methods=["POST"])
async def length(req: Request) -> int:
    return len(await req.body())


@app.mcp_tool_trigger(arg_name="context", tool_name="echo", description="Echoes", tool_properties="[]")
def echo(context: str) -> str:
    return "echoed"


@app.orchestration_trigger(context_name="context")
def hello(context):
    return 1
    yield
"""
LIMIT = 1_000_000
MCP = "/runtime/webhooks/mcp"
DURABLE = "/runtime/webhooks/durabletask"
MCP_HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
DOORS = ["/api/classic", "/api/length", f"{DURABLE}/orchestrators/hello", "/durabletask/orchestrators/hello", MCP]
CHUNK = b"4000\r\n" + b"x" * 0x4000 + b"\r\n"
DEEP = "[" * 100_000 + "]" * 100_000


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    folder: Path = make_app(tmp_path_factory.mktemp("app"), APP)
    environ = {"FUNCTIONS_REQUEST_BODY_SIZE_LIMIT": str(LIMIT)}
    with RunningHost(folder, environ=environ) as host:
        yield host


def printed_until_now(host: RunningHost) -> str:
    """Return what the host has printed once it has answered one more request, which writes a line."""
    httpx.post(f"{host.origin}/api/says", timeout=GUARD_SECONDS)
    host.wait_for("said")
    return host.printed_so_far()


def connected(host: RunningHost, path: str, *headers: str) -> socket.socket:
    """Return a connection on which the head of a request was sent."""
    address, port = host.origin.removeprefix("http://").split(":")
    line = socket.create_connection((address, int(port)), timeout=GUARD_SECONDS)
    given = [f"{name}: {value}" for name, value in MCP_HEADERS.items()]
    line.sendall("\r\n".join([f"POST {path} HTTP/1.1", "Host: localhost", *given, *headers, "", ""]).encode())
    return line


def refused(line: socket.socket) -> tuple[str, bool]:
    """Return the status of the answer, and whether it ends the connection, which the client has sent enough on."""
    answer = line.recv(65536).decode().lower()
    line.shutdown(socket.SHUT_WR)
    return answer.split()[1], "connection: close" in answer and line.recv(1) == b""


@pytest.mark.behaviour("devhost.body-limit")
@pytest.mark.parametrize("path", DOORS)
def test_a_declared_length_over_the_limit_is_refused_unread(host: RunningHost, path: str) -> None:
    with connected(host, path, f"Content-Length: {LIMIT + 1}") as line:
        assert refused(line) == ("413", True)


@pytest.mark.behaviour("devhost.body-limit")
@pytest.mark.parametrize("path", DOORS)
def test_a_chunked_body_is_read_up_to_the_limit_only(host: RunningHost, path: str) -> None:
    taken = 0
    with connected(host, path, "Transfer-Encoding: chunked") as line:
        while taken < LIMIT:
            line.sendall(CHUNK)
            taken += 0x4000
        assert refused(line) == ("413", True)


@pytest.mark.behaviour("devhost.body-limit")
@pytest.mark.parametrize("is_chunked", [False, True], ids=["declared", "chunked"])
@pytest.mark.parametrize("path", [DOORS[0], MCP])
def test_a_client_that_writes_its_whole_body_first_reads_the_refusal(
    host: RunningHost, path: str, is_chunked: bool
) -> None:
    """No reset comes before it, though nobody keeps what it writes."""
    connection = HTTPConnection(host.origin.removeprefix("http://"), timeout=GUARD_SECONDS)
    parts = [b"x" * 0x4000] * 1000
    connection.request("POST", path, iter(parts) if is_chunked else b"".join(parts), MCP_HEADERS)
    answer = connection.getresponse()
    connection.close()

    assert (answer.status, answer.getheader("connection")) == (413, "close")


@pytest.mark.behaviour("devhost.hostile-requests")
@pytest.mark.parametrize(
    ("path", "content", "headers", "status"),
    [
        (MCP, f'{{"jsonrpc":"2.0","id":1,"method":"ping","params":{DEEP}}}', MCP_HEADERS, 400),
        (MCP, f'{{"jsonrpc":"2.0","id":1,"method":"ping","params":{"[" * 200 + "]" * 200}}}', MCP_HEADERS, 400),
        (MCP, "[" * 500_000, MCP_HEADERS, 400),
        (MCP, '{"a":' * 10_000 + "1" + "}" * 10_000, MCP_HEADERS, 400),
        (MCP, b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', MCP_HEADERS, 500),
        (f"{DURABLE}/orchestrators/hello", "[" * 50_000 + "]" * 50_000, {}, 400),
        (f"{DURABLE}/orchestrators/hello", b"\xff", {}, 400),
        (f"{DURABLE}/instances/x/raiseEvent/y", b'"\xff"', {"content-type": "application/json"}, 400),
        (f"{DURABLE}/orchestrators/hello?timeout={'[' * 5000}", "1", {}, 202),
    ],
)
def test_what_cannot_be_read_is_refused_without_a_traceback(
    host: RunningHost, path: str, content: str | bytes, headers: dict[str, str], status: int
) -> None:
    answer = httpx.post(f"{host.origin}{path}", content=content, headers=headers, timeout=GUARD_SECONDS)
    assert (answer.status_code, "Traceback" in printed_until_now(host)) == (status, False)


@pytest.fixture(scope="module")
def telling_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    host_json = {"version": "2.0", "logging": {"logLevel": {"default": "Debug"}}}
    with RunningHost(make_app(tmp_path_factory.mktemp("telling"), APP, host=host_json)) as host:
        yield host


@pytest.mark.behaviour("devhost.hostile-requests")
@pytest.mark.parametrize("path", [DOORS[0], DOORS[2], MCP, "/api/streaming"])
@pytest.mark.parametrize(
    ("header", "half"), [("Content-Length: 1000", b"x" * 500), ("Transfer-Encoding: chunked", b"3e8\r\nxxx")]
)
def test_a_client_that_leaves_in_its_request_is_one_debug_line(
    telling_host: RunningHost, path: str, header: str, half: bytes
) -> None:
    before = len(printed_until_now(telling_host))
    with connected(telling_host, path, header) as line:
        line.sendall(half)
    told = telling_host.wait_for("A client left in its request")
    printed = printed_until_now(telling_host)[before:]

    assert told.endswith(f"DEBUG {app.__name__}: A client left in its request: POST {path}")
    assert (printed.count("left"), "Traceback" in printed, " ERROR " in printed) == (1, False, False)


@pytest.mark.behaviour("devhost.hostile-requests")
def test_a_client_that_leaves_a_stream_ends_it_without_a_traceback(host: RunningHost) -> None:
    with connected(host, "/api/streaming", "Content-Length: 0") as line:
        assert line.recv(100)
    assert "Traceback" not in printed_until_now(host)
