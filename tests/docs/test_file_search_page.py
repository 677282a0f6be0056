"""docs/guides/file-search.md: its example searches and cites as it says, by the real client of embeddings."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.support.carriers import GUARD_SECONDS
from tests.support.engine_app import engine_app
from tests.support.hashed_words import HashedWords
from tests.support.inner_pytest import run_pytest
from tests.support.pages import code, page

pytest_plugins = ["pytester"]

FILE_SEARCH = page("docs/guides/file-search.md")
TEXT = "# Drinks\n\nOolong costs four crowns a cup.\n"


class _Embeddings(BaseHTTPRequestHandler):
    """Answers as OpenAI does, with vectors that count words."""

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        words = asyncio.run(HashedWords().get_embeddings(request["input"]))
        listed = [{"object": "embedding", "index": at, "embedding": one.vector} for at, one in enumerate(words)]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        answer = {"object": "list", "data": listed, "model": request["model"], "usage": usage}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A service of embeddings on this machine, which the example's client calls."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Embeddings)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "unused")
    monkeypatch.setenv("AGENT_LOG", "memory")
    yield
    server.shutdown()
    thread.join()


@pytest.mark.behaviour("docs.examples-run")
async def test_its_example_finds_and_cites_what_was_uploaded(service: None) -> None:
    """The citation has the members that the page shows, of the file's first chunk."""
    [shown] = [json.loads(block)["citations"][0] for block in code(FILE_SEARCH, "json")]
    names: dict[str, Any] = {}
    exec(compile(code(FILE_SEARCH, "python")[0], "file-search.md", "exec"), names)
    async with engine_app(names["app"]) as running, asyncio.timeout(GUARD_SECONDS):
        headers = {"content-type": "text/markdown"}
        created = await running.http.post("/api/files?name=prices.md", content=TEXT.encode(), headers=headers)
        url = f"/api/files/{created.json()['file_id']}"
        while (file := (await running.http.get(url)).json())["index"]["status"] != "ready":
            assert file["index"]["status"] != "failed", file
            await asyncio.sleep(0.05)
        message = 'Call file_search with {"query": "What does oolong cost?"}'
        answer = await running.http.post("/api/agents/librarian/run", json={"message": message})

    [citation] = answer.json()["citations"]
    assert citation["mark"] in answer.json()["response"]
    made = {"file_id": file["file_id"], "mark": citation["mark"]}
    assert citation == {**shown, **made}


@pytest.mark.behaviour("file-index.given")
def test_its_index_of_one_s_own_passes_the_suite_that_the_library_hands_out(pytester: pytest.Pytester) -> None:
    """As the page shows both; one that finds a removed file does not."""
    index, suite = code(FILE_SEARCH, "python")[1:3]
    pytester.makepyfile(f"{index}\n\n{suite}")
    passed = run_pytest(pytester, "-q")
    removes = "return sum(len(self.files.pop(key)) for key in self.keys(space) if key[1] == file_id)"
    assert removes in index
    pytester.makepyfile(f"{index.replace(removes, 'return 0')}\n\n{suite}")
    failed = run_pytest(pytester, "-q")

    tests = sum(passed.parseoutcomes().values())
    assert passed.parseoutcomes() == {"passed": tests}
    assert tests > 15
    assert failed.parseoutcomes().get("failed", 0) >= 2
