"""Requests made to hurt: bodies without end, nesting without end, bytes that are no text, clients that leave."""

from __future__ import annotations

import socket
from http.client import HTTPConnection

import httpx
import pytest

from devhost.http import app
from tests.support.mcp_exchange import HEADERS, PATH
from tests.support.running_host import GUARD_SECONDS, RunningHost

pytestmark = pytest.mark.slow

BODY_LIMIT = 1_000_000  # as the fixture's host is told
DURABLE = "/runtime/webhooks/durabletask"
DOORS = ["/api/length", "/api/streaming/echo/x", f"{DURABLE}/orchestrators/hello", "/durabletask/orchestrators/hello"]
CHUNK = b"4000\r\n" + b"x" * 0x4000 + b"\r\n"
DEEP = "[" * 100_000 + "]" * 100_000


def printed_until_now(host: RunningHost) -> str:
    """Return what the host has printed once it has answered one more request, which writes a line."""
    httpx.post(f"{host.origin}/api/length", timeout=GUARD_SECONDS)
    host.wait_for("taken")
    return host.printed_so_far()


def connected(host: RunningHost, path: str, *headers: str) -> socket.socket:
    """Return a connection on which the head of a request was sent."""
    address, port = host.origin.removeprefix("http://").split(":")
    line = socket.create_connection((address, int(port)), timeout=GUARD_SECONDS)
    given = [f"{name}: {value}" for name, value in HEADERS.items()]
    line.sendall("\r\n".join([f"POST {path} HTTP/1.1", "Host: localhost", *given, *headers, "", ""]).encode())
    return line


@pytest.mark.behaviour("devhost.body-limit")
@pytest.mark.parametrize("path", [*DOORS, PATH])
@pytest.mark.parametrize("header", [f"Content-Length: {BODY_LIMIT + 1}", "Transfer-Encoding: chunked"])
def test_a_body_over_the_limit_is_refused_and_read_no_further(host: RunningHost, path: str, header: str) -> None:
    """Unread where its length is declared."""
    with connected(host, path, header) as line:
        for _ in range(BODY_LIMIT // 0x4000 + 1 if "chunked" in header else 0):
            line.sendall(CHUNK)
        answer = line.recv(65536).decode().lower()
        line.shutdown(socket.SHUT_WR)
        assert (answer.split()[1], "connection: close" in answer, line.recv(1)) == ("413", True, b"")


@pytest.mark.behaviour("devhost.body-limit")
@pytest.mark.parametrize("is_chunked", [False, True], ids=["declared", "chunked"])
def test_a_client_that_writes_its_whole_body_first_reads_the_refusal(host: RunningHost, is_chunked: bool) -> None:
    """No reset comes before it, though nobody keeps what it writes."""
    connection = HTTPConnection(host.origin.removeprefix("http://"), timeout=GUARD_SECONDS)
    parts = [b"x" * 0x4000] * 1000
    connection.request("POST", PATH, iter(parts) if is_chunked else b"".join(parts), HEADERS)
    answer = connection.getresponse()
    connection.close()

    assert (answer.status, answer.getheader("connection")) == (413, "close")


@pytest.mark.behaviour("devhost.hostile-requests")
@pytest.mark.parametrize(
    ("path", "content", "status"),
    [
        (PATH, f'{{"jsonrpc":"2.0","id":1,"method":"ping","params":{DEEP}}}', 400),
        (PATH, f'{{"jsonrpc":"2.0","id":1,"method":"ping","params":{"[" * 200 + "]" * 200}}}', 400),
        (PATH, '{"a":' * 10_000 + "1" + "}" * 10_000, 400),
        (PATH, b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', 500),
        (f"{DURABLE}/orchestrators/hello", "[" * 50_000 + "]" * 50_000, 400),
        (f"{DURABLE}/orchestrators/hello", b"\xff", 400),
        (f"{DURABLE}/instances/x/raiseEvent/y", b'"\xff"', 400),
        (f"{DURABLE}/orchestrators/hello?timeout={'[' * 5000}", "1", 202),
    ],
)
def test_what_cannot_be_read_is_refused_without_a_traceback(
    host: RunningHost, path: str, content: str | bytes, status: int
) -> None:
    before = len(printed_until_now(host))
    answer = httpx.post(f"{host.origin}{path}", content=content, headers=HEADERS, timeout=GUARD_SECONDS)
    assert (answer.status_code, "Traceback" in printed_until_now(host)[before:]) == (status, False)


@pytest.mark.behaviour("devhost.hostile-requests")
@pytest.mark.parametrize("path", [DOORS[0], DOORS[2], PATH, "/api/streaming/endless"])
@pytest.mark.parametrize(
    ("header", "half"), [("Content-Length: 1000", b"x" * 500), ("Transfer-Encoding: chunked", b"3e8\r\nxxx")]
)
def test_a_client_that_leaves_in_its_request_is_one_debug_line(
    host: RunningHost, path: str, header: str, half: bytes
) -> None:
    before = len(printed_until_now(host))
    with connected(host, path, header) as line:
        line.sendall(half)
    told = host.wait_for("A client left in its request")
    printed = printed_until_now(host)[before:]

    assert told.endswith(f"DEBUG {app.__name__}: A client left in its request: POST {path}")
    assert (printed.count("left"), "Traceback" in printed, " ERROR " in printed) == (1, False, False)


@pytest.mark.behaviour("devhost.hostile-requests")
def test_a_client_that_leaves_a_stream_ends_it_without_a_traceback(host: RunningHost) -> None:
    before = len(printed_until_now(host))
    with connected(host, "/api/streaming/endless", "Content-Length: 0") as line:
        assert line.recv(100)
    assert "Traceback" not in printed_until_now(host)[before:]
