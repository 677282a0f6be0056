"""The doors of an app, each as a row: how a run is asked for there, what its answer says, and how it refuses.

What every door promises is tested over all of these rows. A new wire is one more row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from tests.support import a2a, ag_ui, ai_sdk
from tests.support.mcp_wire import HANDSHAKE
from tests.support.strictly import events_of, response

PNG = "iVBORw0KGgo="
PICTURE = f"data:image/png;base64,{PNG}"


@dataclass(frozen=True)
class Asked:
    """What is asked of Joker: words, maybe with a picture, on a thread; under the key, a repeat is the same run."""

    words: str
    thread: str = "t"
    key: str = "k"
    has_picture: bool = False


@dataclass(frozen=True)
class Door:
    """One door over HTTP. `place` is below `/api/`.

    `text` reads an answer's words, `code` our code of a refusal from its body. `failed` and `cancelled` are how an
    answer shows how its run ended. `key_header` is where the door has the name of a request, if not in the body.
    `check` holds any answer to a body against the protocol. JSON-RPC has 200 for what its methods refuse.
    """

    name: str
    place: str
    body: Callable[[Asked], dict[str, Any]]
    text: Callable[[httpx.Response], str]
    code: Callable[[Any], str]
    failed: str
    cancelled: str
    key_header: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    errors_of_bodies_are_200: bool = False
    errors_of_runs_are_200: bool = False
    check: Callable[[Mapping[str, Any], httpx.Response], None] = lambda sent, answer: None

    async def ask(self, http: httpx.AsyncClient, words: str, user: str | None = None, **more: Any) -> httpx.Response:
        asked = Asked(words, **more)
        named = {self.key_header: asked.key} if self.key_header else {}
        who = {} if user is None else {"x-user": user}
        return await http.post(f"/api/{self.place}", json=self.body(asked), headers={**self.headers, **named, **who})

    async def says(self, http: httpx.AsyncClient, words: str, user: str | None = None, **more: Any) -> str:
        answer = await self.ask(http, words, user, **more)
        assert answer.status_code == 200, answer.text
        return self.text(answer)

    async def send(self, http: httpx.AsyncClient, content: bytes, **headers: str) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await http.post(f"/api/{self.place}", content=content, headers={**self.headers, **named})

    def refusal(self, answer: httpx.Response) -> tuple[int, str]:
        return answer.status_code, self.code(answer.json())


def _http(asked: Asked) -> dict[str, Any]:
    picture = {"contents": [{"$type": "text", "text": asked.words}, {"$type": "data", "uri": PICTURE}]}
    return {**(picture if asked.has_picture else {"message": asked.words}), "thread_id": asked.thread}


def _responses(asked: Asked) -> dict[str, Any]:
    parts = [{"type": "input_text", "text": asked.words}, {"type": "input_image", "image_url": PICTURE}]
    said = [{"role": "user", "content": parts}] if asked.has_picture else asked.words
    return {"model": "Joker", "input": said, "conversation": f"conv_joker~{asked.thread}"}


def _chat(asked: Asked) -> dict[str, Any]:
    parts = [{"type": "text", "text": asked.words}, {"type": "image_url", "image_url": {"url": PICTURE}}]
    said = {"role": "user", "content": parts if asked.has_picture else asked.words}
    return {"model": "Joker", "messages": [said], "metadata": {"thread_id": asked.thread}}


def _ag_ui(asked: Asked) -> dict[str, Any]:
    source = {"type": "data", "value": PNG, "mimeType": "image/png"}
    parts = [{"type": "text", "text": asked.words}, {"type": "image", "source": source}]
    said: Any = parts if asked.has_picture else asked.words
    return ag_ui.wanted(said, thread=asked.thread, run=asked.key)


def _ai_sdk(asked: Asked) -> dict[str, Any]:
    picture = {"type": "file", "mediaType": "image/png", "url": PICTURE}
    parts = [{"type": "text", "text": asked.words}, *([picture] if asked.has_picture else [])]
    message = {"id": asked.key, "role": "user", "parts": parts}
    return {"id": asked.thread, "messages": [message], "trigger": "submit-message"}


def _a2a(asked: Asked) -> dict[str, Any]:
    parts = [{"text": asked.words}, *([{"raw": PNG, "mediaType": "image/png"}] if asked.has_picture else [])]
    message = {"messageId": asked.key, "contextId": asked.thread, "role": "ROLE_USER", "parts": parts}
    return {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}


def _mcp(asked: Asked) -> dict[str, Any]:
    arguments = {"query": asked.words, "threadId": asked.thread}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "Joker", "arguments": arguments}}


def _of_a2a(body: Any) -> str:
    return str(body["error"]["data"][0]["metadata"]["code"])


def _of_mcp(body: Any) -> str:
    """A call that is refused is a tool error; what is no call is an error of JSON-RPC."""
    if "error" in body:
        return str(body["error"]["data"]["code"])
    return str(body["result"]["structuredContent"]["code"])


def _is_strict(sent: Mapping[str, Any], answer: httpx.Response) -> None:
    """A response or its events have what OpenAI's own types know, and no more; an error has the protocol's members."""
    if answer.headers["content-type"].startswith("text/event-stream"):
        assert events_of(answer.text) != []
    elif answer.status_code == 200:
        response(answer.json())
    else:
        assert answer.json()["error"].keys() == {"message", "type", "param", "code"}


def _has_the_id(sent: Mapping[str, Any], answer: httpx.Response) -> None:
    """Each message has the id of the request; one that is no JSON-RPC has none."""
    is_stream = answer.headers.get("content-type", "").startswith("text/event-stream")
    texts = [line[6:] for line in answer.text.splitlines() if line.startswith("data: ")] if is_stream else [answer.text]
    for read in map(json.loads, filter(None, texts)):
        is_none = read.get("error", {}).get("code") in (-32700, -32600)
        assert (read["jsonrpc"], read["id"]) == ("2.0", None if is_none else sent["id"])


IDEMPOTENCY = "idempotency-key"
DOORS = (
    Door(
        *("http", "agents/Joker/run", _http),
        text=lambda answer: str(answer.json()["response"]),
        code=lambda body: str(body["code"]),
        failed='"code": "run_failed"',
        cancelled='"code": "run_cancelled"',
        key_header=IDEMPOTENCY,
        headers={"accept": "application/json"},
    ),
    Door(
        *("responses", "openai/v1/responses", _responses),
        text=lambda answer: response(answer.json()).output_text,
        code=lambda body: str(body["error"]["code"]),
        failed='"type": "run_failed"',
        cancelled='"status": "cancelled"',
        key_header=IDEMPOTENCY,
        check=_is_strict,
    ),
    Door(
        *("chat-completions", "chat/v1/chat/completions", _chat),
        text=lambda answer: str(answer.json()["choices"][0]["message"]["content"]),
        code=lambda body: str(body["error"]["code"]),
        failed='"code": "run_failed"',
        cancelled='"code": "run_cancelled"',
        key_header=IDEMPOTENCY,
    ),
    Door(
        *("ag-ui", "ag-ui/Joker", _ag_ui),
        text=lambda answer: ag_ui.text_of(ag_ui.events_of(answer.text)),
        code=lambda body: str(body["code"]),
        failed='"code": "run_failed"',
        cancelled='"outcome": {"type": "cancelled"}',
    ),
    Door(
        *("ai-sdk", "ai-sdk/Joker", _ai_sdk),
        text=lambda answer: ai_sdk.text_of(ai_sdk.chunks_of(answer.text)),
        code=lambda body: str(body["code"]),
        failed="Agent 'Joker' failed",
        cancelled='"type": "abort"',
    ),
    Door(
        *("a2a", "a2a/Joker", _a2a),
        text=lambda answer: a2a.answer_of(answer.json()["result"]["task"]),
        code=_of_a2a,
        failed='"code": "run_failed"',
        cancelled="TASK_STATE_CANCELED",
        headers=a2a.HEADERS,
        errors_of_bodies_are_200=True,
        errors_of_runs_are_200=True,
        check=_has_the_id,
    ),
    Door(
        *("mcp", "mcp/v1", _mcp),
        text=lambda answer: str(answer.json()["result"]["content"][0]["text"]),
        code=_of_mcp,
        failed='"code": "run_failed"',
        cancelled='"code": "run_cancelled"',
        key_header=IDEMPOTENCY,
        headers={"accept": "application/json", "mcp-protocol-version": HANDSHAKE},
        errors_of_runs_are_200=True,
        check=_has_the_id,
    ),
)
