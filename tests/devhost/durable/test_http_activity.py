"""`call_http`: one request of the engine's own, answered as recorded."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from devhost.durable.activities import HttpFailedError, call_http

pytestmark = pytest.mark.behaviour("engine.call-http")


class _Echo(BaseHTTPRequestHandler):
    """Answers what it was asked; `/202` and `/404` with those statuses, `/moved` with another place."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        text = (
            f"{self.command} {self.path} {self.headers.get('Content-Type')} {self.headers.get('X-A')} {body.decode()}"
        )
        self.send_response({"/202": 202, "/404": 404, "/moved": 302}.get(self.path, 200))
        for name, value in (("Location", "/there"), ("X-B", "1"), ("X-B", "2"), ("Content-Type", "text/plain")):
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    do_GET = do_POST
    do_PUT = do_POST

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def origin() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Echo)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)  # it looks that often for its end
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


async def _call(**request: Any) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(await call_http(json.dumps(request)))
    return answer


async def test_an_answer_has_status_headers_and_content_in_the_recorded_shape(origin: str) -> None:
    """Content headers are left out, a header that came twice is a list."""
    answer = await _call(method="GET", uri=f"{origin}/x", content=None, headers={"X-A": "é"})
    assert list(answer) == ["statusCode", "headers", "content"]
    assert (answer["statusCode"], answer["content"]) == (200, "GET /x None é ")
    assert answer["headers"] == {
        "Server": answer["headers"]["Server"],
        "Date": answer["headers"]["Date"],
        "Location": "/there",
        "X-B": ["1", "2"],
    }


@pytest.mark.parametrize(
    ("given", "sent"), [(None, "text/plain"), ({"content-type": "application/json"}, "application/json")]
)
async def test_content_is_plain_text_unless_its_type_is_given(origin: str, given: object, sent: str) -> None:
    """As the .NET client sends it."""
    answer = await _call(method="put", uri=f"{origin}/x", content='{"é": 1}', headers=given)
    assert answer["content"] == f'PUT /x {sent} None {{"é": 1}}'


@pytest.mark.parametrize("status", [202, 404])
async def test_any_answer_is_a_result_and_a_202_is_not_polled(origin: str, status: int) -> None:
    """Polling would take ids that the SDK does not know."""
    answer = await _call(method="GET", uri=f"{origin}/{status}")
    assert (answer["statusCode"], answer["headers"]["Location"]) == (status, "/there")


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"method": "GET", "uri": "file:///etc/hosts"}, "Only 'http' and 'https' schemes are allowed"),
        (
            {"method": "POST", "uri": "http://h/", "headers": {"Content-Type": "multipart/form-data"}},
            "Multipart content",
        ),
        ({"method": "GET", "uri": "http://h/", "tokenSource": {"resource": "r"}}, "has no managed identity"),
        ({"method": "GET", "uri": "http://127.0.0.1:1/"}, r"\(127.0.0.1:1\)"),
    ],
)
async def test_a_request_that_gets_no_answer_fails_by_name(wanted: dict[str, Any], message: str) -> None:
    with pytest.raises(HttpFailedError, match=message):
        await _call(**wanted)
