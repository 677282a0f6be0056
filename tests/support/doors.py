"""The doors of an app, each as a row: how a run is asked for there, what its answer says, and how it refuses.

What every door promises is tested over all of these rows. A new wire is one more row.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import httpx

from hosting.app import AgentFunctionApp
from hosting.assembly import WIRES
from hosting.features.ai_sdk.messages import assembled
from tests.support import a2a, ag_ui, ai_sdk
from tests.support.app.scripted import scripted_agent
from tests.support.direct import DirectHost
from tests.support.made_app import app_of
from tests.support.mcp_wire import HANDSHAKE
from tests.support.strictly import events_of, response

PNG = "iVBORw0KGgo="
PICTURE = f"data:image/png;base64,{PNG}"


@dataclass(frozen=True)
class Asked:
    """What an agent is asked: words, maybe with a picture, on a thread; under the key, a repeat is the same run."""

    words: str
    thread: str = "t"
    key: str = "k"
    has_picture: bool = False
    agent: str = "Joker"


@dataclass(frozen=True)
class Pausing:
    """How a door shows the calls that wait, by the names of their tools, and what a request with the answers is."""

    tools: Callable[[httpx.Response], list[str]]
    answers: Callable[[Asked, httpx.Response, Sequence[bool | str]], dict[str, Any]]


@dataclass(frozen=True)
class Door:
    """One door over HTTP. `place` is below `/api/`, for Joker.

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
    pausing: Pausing | None = None

    async def ask(self, http: httpx.AsyncClient, words: str, user: str | None = None, **more: Any) -> httpx.Response:
        asked = Asked(words, **more)
        return await self.post(http, asked, self.body(asked), user)

    async def post(self, http: httpx.AsyncClient, asked: Asked, body: Any, user: str | None = None) -> httpx.Response:
        named = {self.key_header: asked.key} if self.key_header else {}
        who = {} if user is None else {"x-user": user}
        place = f"/api/{self.place.replace('Joker', asked.agent)}"
        return await http.post(place, json=body, headers={**self.headers, **named, **who})

    async def says(self, http: httpx.AsyncClient, words: str, user: str | None = None, **more: Any) -> str:
        answer = await self.ask(http, words, user, **more)
        assert answer.status_code == 200, answer.text
        return self.text(answer)

    async def send(self, http: httpx.AsyncClient, content: bytes, **headers: str) -> httpx.Response:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await http.post(f"/api/{self.place}", content=content, headers={**self.headers, **named})

    async def decide(
        self, http: httpx.AsyncClient, asked: Asked, waits: httpx.Response, *given: bool | str, user: str | None = None
    ) -> httpx.Response:
        """Answer the calls that wait, in their order: a decision on each, or the result of a tool of the caller."""
        assert self.pausing is not None
        following = replace(asked, key=f"{asked.key}-on")
        return await self.post(http, following, self.pausing.answers(asked, waits, given), user)

    def refusal(self, answer: httpx.Response) -> tuple[int, str]:
        return answer.status_code, self.code(answer.json())


def _http(asked: Asked) -> dict[str, Any]:
    picture = {"contents": [{"$type": "text", "text": asked.words}, {"$type": "data", "uri": PICTURE}]}
    return {**(picture if asked.has_picture else {"message": asked.words}), "thread_id": asked.thread}


def _responses(asked: Asked) -> dict[str, Any]:
    parts = [{"type": "input_text", "text": asked.words}, {"type": "input_image", "image_url": PICTURE}]
    said = [{"role": "user", "content": parts}] if asked.has_picture else asked.words
    return {"model": asked.agent, "input": said, "conversation": f"conv_{asked.agent.lower()}~{asked.thread}"}


def _chat(asked: Asked) -> dict[str, Any]:
    parts = [{"type": "text", "text": asked.words}, {"type": "image_url", "image_url": {"url": PICTURE}}]
    said = {"role": "user", "content": parts if asked.has_picture else asked.words}
    return {"model": asked.agent, "messages": [said], "metadata": {"thread_id": asked.thread}}


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
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": asked.agent, "arguments": arguments}}


def _waiting_items(waits: httpx.Response) -> list[dict[str, Any]]:
    return [one for one in waits.json()["output"] if one["type"] in ("mcp_approval_request", "function_call")]


def _responses_answers(asked: Asked, waits: httpx.Response, given: Sequence[bool | str]) -> dict[str, Any]:
    items = [
        {"type": "function_call_output", "call_id": item["call_id"], "output": answer}
        if isinstance(answer, str)
        else {"type": "mcp_approval_response", "approval_request_id": item["id"], "approve": answer}
        for item, answer in zip(_waiting_items(waits), given, strict=False)
    ]
    return {"model": asked.agent, "input": items, "previous_response_id": waits.json()["id"]}


def _ag_ui_calls(waits: httpx.Response) -> dict[str, str]:
    """Return the names of the calls that wait, by their ids: one that was only begun has the id of its run."""
    calls = [one for one in ag_ui.events_of(waits.text) if one["type"] == "TOOL_CALL_START"]
    return {one["toolCallId"]: one["toolCallName"] for one in calls if ":" not in one["toolCallId"]}


def _ag_ui_answers(asked: Asked, waits: httpx.Response, given: Sequence[bool | str]) -> dict[str, Any]:
    events, first = ag_ui.events_of(waits.text), _ag_ui(asked)
    interrupts = {one["toolCallId"]: one["id"] for one in events[-1]["outcome"].get("interrupts", ())}
    messages, resumed = ag_ui.folded(events, first["messages"]), []
    for call, answer in zip(_ag_ui_calls(waits), given, strict=False):
        if isinstance(answer, str):
            messages.append({"id": f"result-{call}", "role": "tool", "toolCallId": call, "content": answer})
        else:
            resumed.append(ag_ui.answer(interrupts[call], approved=answer))
    return {**first, "runId": f"{asked.key}-on", "messages": messages, **({"resume": resumed} if resumed else {})}


def _waiting_parts(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    shown = [(part.get("state"), part.get("providerExecuted") is True, part) for part in message["parts"]]
    return [
        part
        for state, is_ours, part in shown
        if state == "approval-requested" or (state == "input-available" and not is_ours)
    ]


def _ai_sdk_tools(waits: httpx.Response) -> list[str]:
    parts = _waiting_parts(assembled(ai_sdk.chunks_of(waits.text)))
    return [str(part["type"]).removeprefix("tool-") for part in parts]


def _ai_sdk_answers(asked: Asked, waits: httpx.Response, given: Sequence[bool | str]) -> dict[str, Any]:
    message = assembled(ai_sdk.chunks_of(waits.text))
    for part, answer in zip(_waiting_parts(message), given, strict=False):
        if isinstance(answer, str):
            part |= {"state": "output-available", "output": answer}
        else:
            part |= {"state": "approval-responded", "approval": {"id": part["approval"]["id"], "approved": answer}}
    return {"id": asked.thread, "messages": [message], "trigger": "submit-message"}


def _a2a_waiting(waits: httpx.Response) -> list[dict[str, Any]]:
    waiting: list[dict[str, Any]] = waits.json()["result"]["task"]["status"]["message"]["parts"][1]["data"]["approvals"]
    return waiting


def _a2a_answers(asked: Asked, waits: httpx.Response, given: Sequence[bool | str]) -> dict[str, Any]:
    answers = [
        {"id": one["id"], **({"value": answer} if isinstance(answer, str) else {"approved": answer})}
        for one, answer in zip(_a2a_waiting(waits), given, strict=False)
    ]
    sent = _a2a(replace(asked, key=f"{asked.key}-on"))
    of_task = {"parts": [{"data": {"approvals": answers}}], "taskId": waits.json()["result"]["task"]["id"]}
    sent["params"]["message"] |= of_task
    return sent


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
        pausing=Pausing(lambda waits: [item["name"] for item in _waiting_items(waits)], _responses_answers),
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
        pausing=Pausing(lambda waits: [*_ag_ui_calls(waits).values()], _ag_ui_answers),
    ),
    Door(
        *("ai-sdk", "ai-sdk/Joker", _ai_sdk),
        text=lambda answer: ai_sdk.text_of(ai_sdk.chunks_of(answer.text)),
        code=lambda body: str(body["code"]),
        failed="Agent 'Joker' failed",
        cancelled='"type": "abort"',
        pausing=Pausing(_ai_sdk_tools, _ai_sdk_answers),
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
        pausing=Pausing(lambda waits: [one["tool"] for one in _a2a_waiting(waits)], _a2a_answers),
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


def all_doors(*more: Any, **options: Any) -> AgentFunctionApp:
    return app_of(scripted_agent("Joker"), *more, wires=[*WIRES], enable_mcp_tool_trigger=True, **options)


def client_of(host: DirectHost) -> httpx.AsyncClient:
    """Return a client of the app."""
    transport = httpx.ASGITransport(host.asgi, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://app.example")
