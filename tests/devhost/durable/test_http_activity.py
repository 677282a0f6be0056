"""`call_http`: one request of the engine's own, answered as recorded."""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from devhost.durable.activities import HttpFailedError, call_http

pytestmark = pytest.mark.behaviour("engine.call-http")


class _Echo(BaseHTTPRequestHandler):
    """Answers what it was asked: `/202` and `/404` with those statuses, `/moved` elsewhere, `/cut` without an end.

    At `/reset` the connection breaks in the middle of the answer.
    """

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        text = f"{self.command} {self.path} {self.headers.get('Content-Type')} {self.headers.get('X-A')} {body}"
        self.send_response({"/202": 202, "/404": 404, "/moved": 302}.get(self.path, 200))
        for name, value in (("Location", "/there"), ("X-B", "1"), ("X-B", "2"), ("Content-Type", "text/plain")):
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        if self.path in ("/cut", "/reset"):
            self.close_connection = True
            if self.path == "/reset":
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.rfile.close()
                self.connection.close()  # here, for the server would end its half in order first
            return
        self.wfile.write(text.encode())

    do_GET = do_POST
    do_PUT = do_POST

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Echo)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)  # it looks that often for its end
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("request_of", "status", "content"),
    [
        ({"method": "GET", "uri": "/x", "content": None, "headers": {"X-A": "é"}}, 200, "GET /x None é "),
        ({"method": "put", "uri": "/x", "content": '{"é": 1}'}, 200, 'PUT /x text/plain None {"é": 1}'),
        ({"method": "PUT", "uri": "/x", "content": "1", "headers": {"content-type": "a/b"}}, 200, "PUT /x a/b None 1"),
        ({"method": "GET", "uri": "/202"}, 202, "GET /202 None None "),
        ({"method": "GET", "uri": "/404"}, 404, "GET /404 None None "),
        ({"method": "GET", "uri": "/moved"}, 200, "GET /there None None "),
    ],
)
async def test_any_answer_is_a_result_in_the_recorded_shape(
    origin: str, request_of: dict[str, Any], status: int, content: str
) -> None:
    """Content headers are left out, a header that came twice is a list. Redirects are followed.

    A 202 is not polled: polling would take ids that the SDK does not know.
    """
    answer = json.loads(await call_http(json.dumps({**request_of, "uri": origin + request_of["uri"]})))
    assert list(answer) == ["statusCode", "headers", "content"]
    assert (answer["statusCode"], answer["content"]) == (status, content)
    assert answer["headers"] == {
        "Server": answer["headers"]["Server"],
        "Date": answer["headers"]["Date"],
        "Location": "/there",
        "X-B": ["1", "2"],
    }


MULTIPART = {"Content-Type": "multipart/form-data"}


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"method": "GET", "uri": "file:///etc/hosts"}, "Only 'http' and 'https' schemes are allowed"),
        ({"method": "POST", "uri": "http://h/", "headers": MULTIPART}, "Multipart content"),
        ({"method": "GET", "uri": "http://h/", "tokenSource": {"resource": "r"}}, "has no managed identity"),
        ({"method": "GET", "uri": "http://127.0.0.1:1/"}, r"\(127.0.0.1:1\)"),
        ({"method": "GET", "uri": "{origin}/cut"}, "An error occurred while sending the request: "),
        (
            {"method": "GET", "uri": "{origin}/reset"},
            "An error occurred while sending the request: Connection reset by peer",
        ),
    ],
)
async def test_a_request_that_gets_no_answer_fails_by_name(origin: str, wanted: dict[str, Any], message: str) -> None:
    """The orchestrator can catch it; a file is not read."""
    with pytest.raises(HttpFailedError, match=message):
        await call_http(json.dumps({**wanted, "uri": wanted["uri"].format(origin=origin)}))
