"""What is secret in a request stands in no line of a deployed app: a word is looked for in all that a host prints."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpx
import pytest

from tests.support.app_folder import make_app
from tests.support.receiver import SECRET
from tests.support.running_host import GUARD_SECONDS, RunningHost

CANARY = "canary"
APP = """
import os

import httpx
from agent_framework import Agent

from hosting.app import AgentFunctionApp
from tests.support.app.scripted import ScriptedClient


def look_up() -> str:
    return httpx.get(os.environ["OUTSIDE"]).text


agent = Agent(ScriptedClient(), "Do as told.", name="Joker", tools=[look_up])
app = AgentFunctionApp(
    [agent], wires=("a2a", "ag-ui", "responses"), enable_mcp_tool_trigger=True, webhook=os.environ["OUTSIDE"]
)
"""
QUERY = f"code={CANARY}-1&search={CANARY}+illness&sig={CANARY}-2"
HEADERS = {
    "x-functions-key": f"{CANARY}-3",
    "authorization": f"Bearer {CANARY}-4",
    "cookie": f"session={CANARY}-5",
    "x-ms-client-principal": f"{CANARY}-6",
}
RUN = {"message": "tool look_up", "thread_id": "t"}
REQUESTS = [
    ("POST", "/api/agents/Joker/run", RUN, 200),
    ("POST", "/api/agents/Joker/run", {"message": "fail", "thread_id": "u"}, 500),
    ("POST", "/api/agents/Joker/run", {"message": "hello", "stream": True}, 200),
    ("POST", "/api/agents/Joker/run", {"message": "hello", "wait_for_response": False}, 202),
    ("POST", "/api/agents/Joker/run", {"unknown": 1}, 400),
    ("POST", "/api/agents/Nobody/run", RUN, 404),
    ("GET", "/api/agents/Joker/run", None, 405),
    ("GET", "/api/agents/Joker/threads", None, 400),
    ("GET", "/api/agents/Joker/threads/t/messages", None, 200),
    ("GET", "/api/agents/Joker/threads/t/webhooks", None, 200),
    ("DELETE", "/api/agents/Joker/threads/u", None, 204),
    ("GET", "/api/health/ready", None, 200),
    ("GET", "/api/ui/", None, 200),
    ("GET", "/api/nothing", None, 404),
    ("POST", "/api/openai/v1/responses", {"model": "Joker", "input": "hello"}, 200),
    ("POST", "/runtime/webhooks/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, 200),
]


class Outside(BaseHTTPRequestHandler):
    """Takes what a tool asks for and refuses webhooks."""

    def do_GET(self) -> None:
        self._answer(200)

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self._answer(410)

    def _answer(self, status: int) -> None:
        self.server.asked.append(self.command)  # type: ignore[attr-defined]
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def outside() -> Iterator[HTTPServer]:
    """Serve for as long as the block runs; `asked` are the verbs of the requests that came."""
    server = HTTPServer(("127.0.0.1", 0), Outside)
    server.asked = []  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.slow
@pytest.mark.behaviour("hosting.no-keys-in-logs")
def test_no_line_has_a_key_or_a_search_of_a_request_or_of_an_address_that_is_asked(tmp_path: Path) -> None:
    """All that the host and the app print, where the host prints what the real one's worker does."""
    with outside() as server:
        address = f"http://127.0.0.1:{server.server_port}/{CANARY}-7?token={CANARY}-8"
        environ = {"OUTSIDE": address, "AGENT_WEBHOOK_SECRET": SECRET, "AGENT_WEBHOOK_HOSTS": "127.0.0.1"}
        with RunningHost(make_app(tmp_path, APP), environ=environ) as host:
            for verb, path, body, status in REQUESTS:
                answer = httpx.request(
                    verb, f"{host.origin}{path}?{QUERY}", json=body, headers=HEADERS, timeout=4 * GUARD_SECONDS
                )
                assert answer.status_code == status, path
            host.stop()
        assert {"GET", "POST"} <= set(server.asked)  # type: ignore[attr-defined]

    assert [line for line in host.printed if CANARY in line] == []
    assert any("completed; attempts 1" in line for line in host.printed)
