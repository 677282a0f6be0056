"""`RemoteAgent`: an agent of a running app, with agent-framework's own agent protocol (`SupportsAgentRun`).

A run is durable in the app. The request has a key of its own, so a lost connection or a killed app costs no second run.
The response is that of the stored conversation: each message with its tool calls and results, as the plain agent gives
them. Of thoughts it has what the app shows.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Mapping
from typing import Any, Literal, overload
from urllib.parse import quote

from agent_framework import (
    AgentResponse,
    AgentResponseUpdate,
    AgentSession,
    Content,
    FunctionTool,
    Message,
    ResponseStream,
)

from hosting.citations import annotated
from hosting.client.asking import AskedRun, begin_run
from hosting.client.connection import AppAnswer, AppConnection, RemoteAgentError, app_address, connected_app, pause_of
from hosting.client.updates import Updates
from hosting.core.agent.agent_runner import with_value
from hosting.core.entity.called_run import MessageInput, ResultFormat, message_fields, result_format
from hosting.core.thread.messages import call_id, waiting_calls
from hosting.errors import HostingError, InvalidFieldError
from hosting.names import PUT_ROLES, new_id
from state.codec import read_entry
from state.convert import agent_response
from state.models import ResponseEntry

PATIENCE_SECONDS = 600.0
_PAGE = 20
_FORMAT = "response_format"
_PAUSE_SECONDS = 0.25


class RemoteAgent:
    """An agent of the app at `url`, local or deployed: `await RemoteAgent(url, "assistant").run("Hello")`.

    `key` is a function key. `headers` are sent with each request, such as `Authorization`. A run is waited for, over
    restarts of the app, for at most `patience_seconds`. Raises `InvalidFieldError` for a `url` that is no address.
    """

    def __init__(
        self,
        url: str,
        name: str,
        *,
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        self.id: str = name
        self.name: str | None = name
        self.description: str | None = None
        self.default_options: dict[str, Any] = {}
        """After the first run: `tools`, the agent's tools as declarations, which evaluators read."""
        self._address = app_address(url)
        self._headers = {**(headers or {}), **({"x-functions-key": key} if key else {})}
        self._patience_seconds = patience_seconds
        self._is_described = False

    def create_session(self, *, session_id: str | None = None) -> AgentSession:
        """Return a new session, or the session of this thread id."""
        return AgentSession(session_id=session_id or new_id())

    def get_session(
        self, service_session_id: str | Mapping[str, Any], *, session_id: str | None = None
    ) -> AgentSession:
        """Return the session of a thread id; raise `InvalidFieldError` for an id of another service."""
        if not isinstance(service_session_id, str) or session_id not in (None, service_session_id):
            raise InvalidFieldError("get_session() takes one id, the thread's in the app.")
        return AgentSession(session_id=service_session_id)

    @overload
    def run(
        self,
        messages: MessageInput = None,
        *,
        stream: Literal[False] = ...,
        session: AgentSession | None = None,
        idempotency_key: str | None = None,
        options: Mapping[str, Any] | None = None,
        **others: Any,
    ) -> Awaitable[AgentResponse[Any]]: ...

    @overload
    def run(
        self,
        messages: MessageInput = None,
        *,
        stream: Literal[True],
        session: AgentSession | None = None,
        idempotency_key: str | None = None,
        options: Mapping[str, Any] | None = None,
        **others: Any,
    ) -> ResponseStream[AgentResponseUpdate, AgentResponse[Any]]: ...

    def run(
        self,
        messages: MessageInput = None,
        *,
        stream: bool = False,
        session: AgentSession | None = None,
        idempotency_key: str | None = None,
        options: Mapping[str, Any] | None = None,
        **others: Any,
    ) -> Awaitable[AgentResponse[Any]] | ResponseStream[AgentResponseUpdate, AgentResponse[Any]]:
        """Return the response of one run, or with `stream` its updates and then the response.

        Without a session the run has a thread of its own. A run with the `idempotency_key` of an earlier one, and the
        same messages, returns that run's response; without one, each call is a new run. Several messages stand in the
        thread before the run begins. Answers to the `user_input_requests` of a response, all together and with its
        session, have that run go on. `options` are those of the model that the agent lets callers set, and the
        `response_format`, as of a plain agent.

        Raises `InvalidFieldError` for a message that a request cannot hold, for answers without a session, and for
        other arguments of a plain agent, which stay in its process. `RemoteAgentError` is raised where the response
        would come, for a run without an answer.
        """
        for name, value in others.items():
            if value is not None:
                raise InvalidFieldError(f"run() got {name}, which cannot be sent to an app. Leave it out.")
        request = self._request(messages, session, idempotency_key, options or {})
        if not stream:
            return self._response(request)
        run_ids: list[str] = []
        return ResponseStream(self._updates(request, run_ids), finalizer=lambda _: self._followed(request, run_ids[0]))

    def _request(
        self, messages: MessageInput, session: AgentSession | None, key: str | None, options: Mapping[str, Any]
    ) -> AskedRun:
        """Return the run that is asked for; raise as `run` does."""
        fields = message_fields(messages)
        earlier, decisions = fields.pop("earlier", ()), fields.pop("decisions", ())
        if decisions and session is None:
            raise InvalidFieldError("run() got answers and no session. Give that of the response which waits for them.")
        if any(message.get("role", "user") not in PUT_ROLES for message in earlier):
            raise InvalidFieldError("run() got a message of another role before the last. Send user and assistant.")
        chosen = {name: value for name, value in options.items() if name != _FORMAT}
        answer_format = result_format(options.get(_FORMAT))
        if decisions and (chosen or answer_format.sent):
            raise InvalidFieldError("run() got answers and options. The run that goes on has those of the one before.")
        if answer_format.sent is not None:
            fields[_FORMAT] = answer_format.sent
        body = {**fields, **({"options": chosen} if chosen else {})}
        thread_id = (session or self.create_session()).session_id
        return AskedRun(body, thread_id, key or new_id(), earlier, decisions, answer_format)

    @property
    def _path(self) -> str:
        return f"agents/{quote(self.id, safe='')}"

    async def _response(self, request: AskedRun) -> AgentResponse[Any]:
        async with connected_app(self._address, self._headers, self._patience_seconds) as app:
            await self._describe(app)
            answer = await self._ended(app, request, await begin_run(app, self._path, request))
            return await self._read(app, request, answer.fields)

    async def _ended(self, app: AppConnection, request: AskedRun, answer: AppAnswer) -> AppAnswer:
        """Return the answer once the run has ended; raise `RemoteAgentError` for a run without one."""
        while answer.status == 202:
            await app.wait(max(pause_of(answer), _PAUSE_SECONDS))
            answer = await app.read(self._run_path(request, str(answer.fields["run_id"])))
        fields = answer.fields if isinstance(answer.fields, dict) else {}
        error = fields.get("error")
        if isinstance(error, dict):
            raise RemoteAgentError(str(error.get("detail")), str(error.get("code")), answer.status)
        if fields.get("status") != "success":
            raise RemoteAgentError(
                f"The run ended as {fields.get('status')}.", str(fields.get("status")), answer.status
            )
        return answer

    def _run_path(self, request: AskedRun, run_id: str) -> str:
        return f"{self._path}/threads/{quote(request.thread_id, safe='')}/runs/{quote(run_id, safe='')}"

    async def _read(self, app: AppConnection, request: AskedRun, fields: Mapping[str, Any]) -> AgentResponse[Any]:
        """Return the response as it is stored; of one that is too large to be kept, the text."""
        run_id = str(fields["run_id"])
        entry = None if fields.get("kept") is False else await self._entry(app, request.thread_id, run_id)
        if entry is None:
            answer = str(fields["response"])
            annotations = [annotated(answer, citation) for citation in fields.get("citations", ())]
            text = Content.from_text(answer, annotations=annotations or None)
            messages = [Message("assistant", [text], author_name=self.name)]
            response = AgentResponse[Any](messages=messages, usage_details=fields.get("usage"))
        else:
            response = agent_response(entry)
        response.response_id, response.finish_reason = run_id, fields.get("finish_reason")
        _name_by_answers(response, run_id)
        value = _value(request.answer_format, fields)
        return with_value(response, value, {"run_id": run_id, "thread_id": request.thread_id})

    async def _entry(self, app: AppConnection, thread_id: str, run_id: str) -> ResponseEntry | None:
        """Return the run's response in the thread, from the newest on; None if it is not there any more."""
        path, query = (
            f"{self._path}/threads/{quote(thread_id, safe='')}/messages",
            {"order": "desc", "limit": str(_PAGE)},
        )
        while True:
            page = (await app.read(path, query)).fields
            for shown in page["entries"]:
                if shown["run_id"] == run_id and shown["type"] == "response":
                    return _response_entry(shown)
            if not page["has_more"]:
                return None
            query = {**query, "before": str(page["entries"][-1]["position"])}

    async def _describe(self, app: AppConnection) -> None:
        """Read once what the app says about the agent: its description and its tools."""
        if self._is_described:
            return
        fields = (await app.read(self._path)).fields
        if not isinstance(fields, dict) or "run_url" not in fields:
            raise RemoteAgentError(f"The service at {self._address} is not an app of this kind.", "refused")
        self.description = fields.get("description")
        tools = [_declaration(tool) for tool in fields.get("tools") or () if "name" in tool and "parameters" in tool]
        self.default_options = {"tools": tools} if tools else {}
        self._is_described = True

    async def _updates(self, request: AskedRun, run_ids: list[str]) -> AsyncIterator[AgentResponseUpdate]:
        """Begin the run, note its id and yield its updates; raise `RemoteAgentError` for a run without an answer."""
        updates = Updates(self.id)
        async with connected_app(self._address, self._headers, self._patience_seconds) as app:
            await self._describe(app)
            streamed = {"wait_for_response": False, **({} if request.decisions else {"stream": True})}
            answer = await begin_run(app, self._path, request, streamed)
            run_ids.append(str(answer.fields["run_id"]))
            async for event, fields in app.events(f"{self._run_path(request, run_ids[0])}/events"):
                if event in ("failed", "cancelled", "joined"):
                    code = str(fields.get("code", event))
                    raise RemoteAgentError(str(fields.get("detail", f"The run ended as {event}.")), code)
                for update in updates.of(event, fields):
                    yield update

    async def _followed(self, request: AskedRun, run_id: str) -> AgentResponse[Any]:
        async with connected_app(self._address, self._headers, self._patience_seconds) as app:
            answer = await self._ended(app, request, await app.read(self._run_path(request, run_id)))
            return await self._read(app, request, answer.fields)


def _value(answer_format: ResultFormat, fields: Mapping[str, Any]) -> Any:
    """Return the value of an answer in its format; raise `RemoteAgentError` for one that does not fit the model."""
    try:
        return answer_format.value(fields["value"]) if "value" in fields else None
    except HostingError as error:
        raise RemoteAgentError(error.detail, error.code) from None


def _declaration(tool: Mapping[str, Any]) -> FunctionTool:
    return FunctionTool(name=tool["name"], description=tool.get("description") or "", input_model=tool["parameters"])


def _response_entry(shown: Mapping[str, Any]) -> ResponseEntry | None:
    value = {
        "$type": "response",
        "correlationId": shown["run_id"],
        "createdAt": shown["created_at"],
        "messages": shown.get("messages", []),
        **({"usage": shown["usage"]} if "usage" in shown else {}),
    }
    entry = read_entry(value)
    return entry if isinstance(entry, ResponseEntry) else None


def _name_by_answers(response: AgentResponse[Any], run_id: str) -> None:
    """Give the calls of a response that wait the ids under which the app takes their answers."""
    for request in waiting_calls(response):
        request.id = call_id(run_id, request)
        if request.type == "function_call":
            request.call_id = request.id  # by which the caller's code answers it
