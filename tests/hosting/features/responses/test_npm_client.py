"""OpenAI's client for JavaScript, over a socket to a real host."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.client_tables import table_of
from tests.support.npm_client import printed_by, with_packages
from tests.support.running_host import RunningHost

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("responses.npm-client")]

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def script(pytestconfig: pytest.Config) -> Path:
    """Our script with what it imports; the test is skipped without npm's registry."""
    return with_packages(HERE / "client.mjs", Path(pytestconfig.cache.mkdir("openai-node")))


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    with RunningHost(shutil.copytree(HERE / "app", tmp_path_factory.mktemp("responses") / "app")) as running:
        yield running


async def test_the_client_does_all_that_the_wire_serves(host: RunningHost, script: Path) -> None:
    """Chats, streams, resumes, cancels, shows a picture, approves, keeps a conversation, and gets an error."""
    got = await printed_by(script, f"{host.origin}/api/openai/v1")
    said, methods = got["deltas"], got.pop("methods")

    assert said.startswith("tool said agent-tool")
    assert got == {
        "models": ["Joker", "Clerk"],
        "turns": ["echo: my name is Ada", "my name is Ada | recall"],
        "deltas": said,
        "streamed": {"text": said, "kinds": ["mcp_call", "message"]},
        "exact": True,
        "resumed": said[-5:],
        "again": True,
        "cancelled": "cancelled",
        "picture": "user text:see data:data:image/png;base64,iVBORw0KGgo=",
        "approved": "told: refunded 7",
        "items": ["message", "message"],
        "deleted": True,
        "parsed": {"n": 1},
        "ignored": "truncation",
        "inputs": ["message"],
        "metadata": {"mine": "y"},
        "item": "message",
        "added": "a note",
        "model": "Joker",
        "told": "told: here",
        "error": ["BadRequestError", 400, "unsupported_parameter", "top_logprobs"],
    }
    named = {f"{resource}.{method}" for resource, names in methods.items() for method in names}
    assert len(named) >= 18
    assert table_of("clients-responses.md", "openai for JavaScript").unnamed(named) == []
