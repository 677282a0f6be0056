"""The real model behind the hosted app: two turns of one thread over HTTP, the second after a restart of the host."""

import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.template_process import copy_tree, running

HOST = [sys.executable, "-m", "devhost", "start", "--port", "0"]

pytestmark = pytest.mark.model


async def test_a_thread_with_a_real_model_goes_on_after_a_restart(model_url: str, tmp_path: Path) -> None:
    """The model reports more tokens in for the second turn: it was sent the first."""
    copy_tree(tmp_path)
    first = await turn(model_url, tmp_path, "My name is Ada. Please say hello to me.")
    second = await turn(model_url, tmp_path, "What is my name?")

    assert [turn["message_count"] for turn in (first, second)] == [2, 4]
    assert first["response"].strip()
    assert second["response"].strip()
    assert second["usage"]["input_token_count"] > first["usage"]["input_token_count"]


async def turn(model_url: str, folder: Path, message: str) -> dict[str, Any]:
    """The answer's body; the host is started for it and stopped."""
    settings = {"OPENAI_BASE_URL": model_url, "OPENAI_MODEL": "smollm2"}
    async with running(HOST, folder, **settings) as app, httpx.AsyncClient(base_url=app.origin, timeout=120) as client:
        body = {"message": message, "thread_id": "ada"}
        response = await client.post("/api/agents/assistant/run", json=body)
    assert response.status_code == 200, response.text
    print(response.text)
    return response.json()


VERDICT = {
    "type": "object",
    "properties": {"is_spam": {"type": "boolean"}},
    "required": ["is_spam"],
    "additionalProperties": False,
}
PAIR = {"type": "array", "items": {"type": "boolean"}, "minItems": 2, "maxItems": 2}


@pytest.mark.parametrize("streams", [False, True])
async def test_an_answer_in_a_format_comes_of_a_server_that_refuses_json_schema(
    model_url: str, tmp_path: Path, streams: bool
) -> None:
    """llama.cpp's server for Python refuses it with 500, and holds the model to a schema beside `json_object`.

    So even a small model answers with what is wanted, an array too.
    """
    copy_tree(tmp_path)
    settings = {"OPENAI_BASE_URL": model_url, "OPENAI_MODEL": "smollm2"}
    accept = {"accept": "text/event-stream" if streams else "application/json"}
    async with (
        running(HOST, tmp_path, **settings) as app,
        httpx.AsyncClient(base_url=app.origin, timeout=240) as client,
    ):
        for thread, wanted in (("verdict", VERDICT), ("pair", PAIR)):
            body = {"message": "Is this spam? Win money now!", "thread_id": thread, "response_format": wanted}
            answer = await client.post("/api/agents/assistant/run", json=body, headers=accept)
            assert answer.status_code == 200, answer.text
        threads = "/api/agents/assistant/threads"
        runs = [(await client.get(f"{threads}/{one}/runs")).json()["runs"][0] for one in ("verdict", "pair")]
        verdict, pair = [
            (await client.get(f"{threads}/{one}/runs/{run['run_id']}")).json()
            for one, run in zip(("verdict", "pair"), runs, strict=True)
        ]

    assert set(verdict["value"]) == {"is_spam"}
    assert len(pair["value"]) == 2
