"""An app of an agent that says with which options its model was called, and each door by which a run of it begins.

Its functions run on the local host's engine, in this process. The two that no route calls are called as a worker does.
"""

# mypy: disable-error-code="untyped-decorator"
# (the decorators of the SDK carry no types)
from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import azure.durable_functions as df
import azure.functions as func
import httpx
from msgspec import Struct, field

from hosting.app import AgentFunctionApp, AgentRequest, AgentRun
from hosting.core.entity.called_run import AgentRunError
from hosting.core.thread.events import Accepted
from hosting.errors import HostingError
from hosting.names import APP
from tests.support.a2a import HEADERS as A2A_HEADERS
from tests.support.a2a import answer_of, message
from tests.support.ag_ui import events_of, wanted
from tests.support.ai_sdk import chunks_of
from tests.support.deliveries import queued
from tests.support.direct import DirectHost
from tests.support.engine_app import EngineApp, engine_app
from tests.support.made_app import MEMORY, app_of
from tests.support.obedient import obedient

GUARD_SECONDS = 10.0
AHEAD_SECONDS = 1.2
WIRES = ("responses", "chat-completions", "a2a", "ag-ui", "ai-sdk", "mcp")


class Answered(Struct, frozen=True):
    """What came of a run: the options that its model `said` it had, and those that the answer names as `ignored`.

    Or why the door refused it.
    """

    said: Mapping[str, Any] = {}
    ignored: list[str] = field(default_factory=list)
    refusal: str = ""


class Doors:
    """The app on the engine, `http` for its routes, and `direct` for the functions that no route calls."""

    def __init__(self, running: EngineApp, apps: Sequence[AgentFunctionApp], ends: list[AgentRun]) -> None:
        self.engine, self.http, self.direct, self.ends = running, running.http, DirectHost(apps[1]), ends
        self._logs = [app._services.log for app in apps]
        self._ids = itertools.count(1)

    async def recorded(self) -> list[dict[str, Any]]:
        """Return the options of each run that was accepted, as the log has them."""
        heads = [
            (log, address, head) for log in self._logs for address, head in await log.threads("Joker", APP, "", 99)
        ]
        events = [event for log, address, head in heads for _, event in await log.events(address, 0, head)]
        return [event.request.options for event in events if isinstance(event, Accepted)]

    def new_id(self) -> str:
        return f"id{next(self._ids)}"

    async def post(self, path: str, body: Any, **headers: str) -> httpx.Response:
        """Send a request."""
        return await self.http.post(f"/api/{path}", json=body, headers=headers)

    async def until(self, ask: Callable[[], Awaitable[Any]]) -> Any:
        """Return the first answer that is something, under the guard."""

        async def asked() -> Any:
            while not (answer := await ask()):  # noqa: ASYNC110 - the engine does it
                await asyncio.sleep(0.01)
            return answer

        return await asyncio.wait_for(asked(), GUARD_SECONDS)


@asynccontextmanager
async def doors_of(declared: Mapping[str, Any] | None, *, by_default: bool = False) -> AsyncIterator[Doors]:
    """The app whose agent lets its callers set these: by its own options, or by the app's default."""
    ends: list[AgentRun] = []
    apps = [_app(declared, ends, by_default=by_default) for _ in range(2)]
    async with engine_app(apps[0]) as running:
        yield Doors(running, apps, ends)


def _app(declared: Mapping[str, Any] | None, ends: list[AgentRun], *, by_default: bool) -> AgentFunctionApp:
    app = app_of(wires=WIRES, environ=MEMORY, options=declared if by_default else None)
    app.add_agent(obedient(), enable_mcp_tool_trigger=True, options=None if by_default else declared)

    @app.orchestration_trigger(context_name="context")
    def orchestrated(context: df.DurableOrchestrationContext) -> Any:
        try:
            answer = yield app.get_agent(context, "Joker").run("hello", options=context.get_input())
        except (AgentRunError, HostingError) as error:
            return {"refusal": error.detail}
        return {"said": json.loads(answer.text), "ignored": answer.additional_properties.get("ignored", [])}

    @app.route(route="own", methods=["POST"])
    async def own(req: func.HttpRequest) -> func.HttpResponse:
        try:
            run = await app.client.run("Joker", "hello", wait=True, options=req.get_json())
        except HostingError as error:
            return func.HttpResponse(json.dumps({"refusal": error.detail}))
        return func.HttpResponse(json.dumps({"said": json.loads(run.response), "ignored": [*run.ignored]}))

    def delivered(kind: str, **options: Any) -> None:
        async def function(message: func.QueueMessage) -> Any:
            return AgentRequest("hello", options=json.loads(message.get_body()))

        function.__name__ = kind
        trigger = app.agent_trigger("Joker", on_end=ends.append, **options)
        queue = app.queue_trigger(arg_name="message", queue_name=kind, connection="AzureWebJobsStorage")
        app.function_name(kind)(queue(trigger(function)))

    delivered("inbox")
    return app


def _of_reply(answer: httpx.Response, said: Callable[[httpx.Response], str], refusal: str = "detail") -> Answered:
    if answer.status_code >= 400:
        return Answered(refusal=str(answer.json()[refusal]))
    named = answer.headers.get("x-ms-ignored", "")
    return Answered(json.loads(said(answer)), named.split(", ") if named else [])


async def by_http(doors: Doors, options: Any) -> Answered:
    """Our own route."""
    answer = await doors.post("agents/Joker/run", {"message": "hello", "options": options})
    return _of_reply(answer, lambda answer: answer.json()["response"])


async def by_ai_sdk(doors: Doors, options: Any) -> Answered:
    """A chat of `useChat` with `body: {options}`, which it puts beside its messages."""
    parts = [{"type": "text", "text": "hello"}]
    sent = {"id": doors.new_id(), "messages": [{"id": "m1", "role": "user", "parts": parts}], "options": options}
    answer = await doors.post("ai-sdk/Joker", {**sent, "trigger": "submit-message"})
    return _of_reply(answer, lambda answer: _text(chunks_of(answer.text), "text-delta"))


async def by_ag_ui(doors: Doors, options: Any) -> Answered:
    """AG-UI's `forwardedProps`, among an application's own."""
    forwarded = {"options": options, "mine": 1}
    answer = await doors.post("ag-ui/Joker", wanted("hello", thread=doors.new_id(), forwardedProps=forwarded))
    return _of_reply(answer, lambda answer: _text(events_of(answer.text), "TEXT_MESSAGE_CONTENT"), "message")


def _text(events: list[dict[str, Any]], kind: str) -> str:
    return "".join(event["delta"] for event in events if event["type"] == kind)


async def by_a2a(doors: Doors, options: Any) -> Answered:
    """The metadata of A2A's parameters."""
    return await _by_a2a(doors, {"message": message("hello"), "metadata": {"options": options}})


async def by_a2a_message(doors: Doors, options: Any) -> Answered:
    """The metadata of A2A's message."""
    return await _by_a2a(doors, {"message": message("hello", metadata={"options": options, "mine": 1})})


async def _by_a2a(doors: Doors, params: dict[str, Any]) -> Answered:
    call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}
    answer = await doors.post("a2a/Joker/", call, **A2A_HEADERS)
    body = answer.json()
    if "error" in body:
        return Answered(refusal=body["error"]["message"])
    task = body["result"]["task"]
    answered = _of_reply(answer, lambda _: answer_of(task))
    assert task.get("metadata", {}).get("ignored", []) == answered.ignored
    return answered


async def by_mcp_endpoint(doors: Doors, options: Any) -> Answered:
    """The argument `options` of a tool of the app's own MCP endpoint."""
    params = {"name": "Joker", "arguments": {"query": "hello", "options": options}}
    headers = {"accept": "application/json", "mcp-protocol-version": "2025-11-25"}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    answer = await doors.post("mcp/v1", call, **headers)
    return _of_tool(answer.json()["result"])


async def by_mcp_tool(doors: Doors, options: Any) -> Answered:
    """The argument `options` of a tool of the Functions host's MCP extension."""
    return _of_tool(await doors.direct.call_tool("Joker", {"query": "hello", "options": options}))


def _of_tool(result: Mapping[str, Any]) -> Answered:
    text, structured = result["content"][0]["text"], result["structuredContent"]
    return Answered(refusal=text) if result["isError"] else Answered(json.loads(text), structured.get("ignored", []))


async def by_orchestration(doors: Doors, options: Any) -> Answered:
    """`run(..., options=)` of an agent in an orchestration, as of agent-framework's own agent."""
    instance = doors.new_id()
    await doors.engine.start("orchestrated", instance, options)

    async def output() -> Any:
        status = (await doors.http.get(f"/runtime/webhooks/durabletask/instances/{instance}")).json()
        return status["output"] or (status if status["runtimeStatus"] == "Failed" else None)

    return Answered(**await doors.until(output))


async def by_client(doors: Doors, options: Any) -> Answered:
    """`app.client.run(options=)` in a route of the app's own."""
    answer = await doors.post("own", options)
    return Answered(**answer.json())


async def by_trigger(doors: Doors, options: Any) -> Answered:
    """An `AgentRequest` of a function with an `agent_trigger`."""
    doors.ends.clear()
    try:
        await doors.direct.trigger("inbox", message=queued(json.dumps(options), id=doors.new_id()))
    except HostingError as error:
        return Answered(refusal=error.detail)
    (run,) = doors.ends
    return Answered(json.loads(run.response), [*run.ignored])


async def by_schedule(doors: Doors, options: Any) -> Answered:
    """The run of a tick, which has the options of the request that made the schedule."""
    thread, at = doors.new_id(), datetime.now(UTC) + timedelta(seconds=AHEAD_SECONDS)
    body = {"at": at.isoformat(), "message": "hello", "thread_id": thread, "options": options}
    made = await doors.post("agents/Joker/schedules", body)
    if made.status_code >= 400:
        return Answered(refusal=made.json()["detail"])

    async def entries() -> Any:
        answer = await doors.http.get(f"/api/agents/Joker/threads/{thread}/messages")
        stored = answer.json().get("entries", [])
        return stored if [entry["type"] for entry in stored] == ["request", "response"] else None

    _, response = await doors.until(entries)
    return _of_reply(made, lambda _: str(response["messages"][0]["contents"][0]["text"]))


Door = Callable[[Doors, Any], Awaitable[Answered]]
DOORS: Mapping[Door, str] = {
    by_http: "options",
    by_ai_sdk: "options",
    by_ag_ui: "forwardedProps.options",
    by_a2a: "metadata.options",
    by_a2a_message: "message.metadata.options",
    by_mcp_endpoint: "options",
    by_mcp_tool: "options",
    by_orchestration: "options",
    by_client: "options",
    by_trigger: "options",
    by_schedule: "options",
}
"""The doors that have options by agent-framework's names, and the place of them in a request."""
