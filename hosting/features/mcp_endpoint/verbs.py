"""The protocol's methods, by the verbs of the service."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

from hosting.core.thread.run import Run
from hosting.core.thread.run_request import Answering, PendingApproval
from hosting.errors import (
    ApprovalAnsweredError,
    ApprovalExpiredError,
    HostingError,
    InvalidFieldError,
    MethodNotAllowedError,
    UnknownApprovalError,
)
from hosting.features.mcp_endpoint import names
from hosting.features.mcp_endpoint.calls import Calls, McpCall, of_version
from hosting.features.mcp_endpoint.questions import read_form, read_question_id
from hosting.features.mcp_endpoint.requests import (
    ClientMessage,
    members,
    read_client_message,
    read_event_id,
    takes_forms,
)
from hosting.features.mcp_endpoint.subscriptions import Subscriptions
from hosting.features.mcp_endpoint.tools import tool_of
from hosting.http.json_rpc import MethodNotFoundError, result_reply
from hosting.http.mcp_tool import CallResult
from hosting.http.refusals import is_later, later_headers
from hosting.http.replies import Reply, Streamed, json_reply
from hosting.http.request import HttpRequest
from hosting.http.wire import WireVerbs
from hosting.names import Address, is_id, may_be_stored

_CACHED: Mapping[str, Any] = {"ttlMs": 60_000, "cacheScope": "private"}
_ANEW: Mapping[str, Any] = {"ttlMs": 0, "cacheScope": "private"}
_CAPABILITIES: Mapping[str, Any] = {"tools": {}, "resources": {}, "completions": {}}
_KEPT = {
    "tools/list": _CACHED,
    "resources/templates/list": _CACHED,
    "resources/list": _ANEW,
    "resources/read": _ANEW,
}
"""How long a client may keep a result, in versions without a handshake."""
_INSTRUCTIONS = (
    "Each tool is an agent with a conversation. Send the thread_id of an earlier result as threadId to continue it."
)
_Result = Mapping[str, Any] | Reply | Streamed


class McpVerbs:
    """The methods of an app's MCP wire. The resources have the agents by their tools' names in lower case."""

    def __init__(self, verbs: WireVerbs, calls: Calls, subscriptions: Subscriptions) -> None:
        resources = subscriptions.resources
        self._wire, self._calls, self._tools = verbs, calls, resources.tools
        self._methods: dict[str, Callable[[HttpRequest, ClientMessage], Awaitable[_Result]]] = {
            "ping": self._ping,
            "tools/list": self._list,
            "tools/call": self._call,
            "resources/list": resources.page,
            "resources/templates/list": resources.templates,
            "resources/read": resources.read,
            "completion/complete": resources.complete,
        }
        self._stateless = {
            "server/discover": self._discover,
            **self._methods,
            "subscriptions/listen": subscriptions.listen,
        }
        del self._stateless["ping"]

    async def reply(self, request: HttpRequest, path: str) -> Reply | Streamed:
        """Return the response of a message; a refusal of a readable request is a response too."""
        if request.route is names.LEAVE:
            return json_reply(200, {})
        if request.route is names.RESUME:
            return await self._resume(request)
        message = await request.parsed(lambda raw: read_client_message(raw, self._wire.settings.max_body_bytes))
        if not message.method:
            await self._answered(request, message)
            return Reply(202, "", None)
        if message.id is None:
            if message.method == "notifications/cancelled":
                await self._calls.cancel(request, message, [*self._tools.values()])
            return Reply(202, "", None)
        try:
            if message.method == "initialize":
                return self._initialize(message)
            methods = self._stateless if message.is_stateless else self._methods
            if (method := methods.get(message.method)) is None:
                known = ", ".join(methods)
                raise MethodNotFoundError(f"There is no method {message.method[:80]!r}. Methods: {known}.")
            result = await method(request, message)
        except HostingError as error:  # clients with a handshake take another status for the end of their session
            return names.mcp_refusal(error, message.id, status=None if message.is_stateless else 200)
        if isinstance(result, Reply | Streamed):
            return result
        kept = _KEPT.get(message.method, {}) if message.is_stateless else {}
        return result_reply(message.id, of_version(message, {**kept, **result}))

    def _initialize(self, message: ClientMessage) -> Reply:
        wanted = message.params.get("protocolVersion")
        if not isinstance(wanted, str):
            raise InvalidFieldError("params.protocolVersion is no text. Send the newest version that you speak.")
        served = wanted if wanted in names.HANDSHAKE_VERSIONS else names.HANDSHAKE_VERSIONS[-1]
        session = names.new_session(served, asks=takes_forms(message.params.get("capabilities")))
        result = {"protocolVersion": served, "capabilities": _CAPABILITIES, "serverInfo": names.SERVER}
        reply = result_reply(message.id, {**result, "instructions": _INSTRUCTIONS})
        return Reply(reply.status, reply.body, reply.media_type, {**reply.headers, names.SESSION: session})

    async def _discover(self, request: HttpRequest, message: ClientMessage) -> _Result:
        served = {
            "supportedVersions": [*names.VERSIONS],
            "capabilities": {**_CAPABILITIES, "resources": {"subscribe": True}},
        }
        return {**served, "instructions": _INSTRUCTIONS, **_CACHED}

    async def _ping(self, request: HttpRequest, message: ClientMessage) -> _Result:
        return {}

    async def _list(self, request: HttpRequest, message: ClientMessage) -> _Result:
        return {"tools": [tool_of(agent) for agent in self._tools.values()]}

    async def _call(self, request: HttpRequest, message: ClientMessage) -> _Result:
        name = message.params.get("name")
        agent = self._tools.get(name.lower()) if isinstance(name, str) else None
        if agent is None or agent.as_tool.name != name:
            served = ", ".join(each.as_tool.name for each in self._tools.values())
            raise InvalidFieldError(f"There is no tool {str(name)[:80]!r}. Tools: {served}.")
        call = McpCall(request, agent, message)
        try:
            goes_on = "requestState" in message.params
            run = await (self._go_on(call) if goes_on else self._calls.start(call))
            accept = request.headers.get("accept", "")
            if "text/event-stream" in accept or "*/*" in accept:
                return self._calls.streamed(call, run)
            return await self._calls.result(call, run)
        except HostingError as error:  # the model that called reads it, and its client the headers
            reply = result_reply(message.id, of_version(message, CallResult.of_error(error).as_object()))
            more = later_headers(error) if is_later(error) else {}
            return Reply(reply.status, reply.body, reply.media_type, {**reply.headers, **more})

    async def _go_on(self, call: McpCall) -> Run:
        """Record what a person answered, and return the run that asked."""
        state = read_question_id(call.message.params["requestState"])
        address = None if state is None else self._address(call.request, state[1], state[2])
        if state is None or address is None or state[1] != call.agent.name:
            raise InvalidFieldError("params.requestState is not of a call of this tool. Send it as it was.")
        run = await self._wire.runs.find(address, state[0], call.client)
        results = members(call.message.params, "inputResponses")
        for approval in run.requested_approvals:
            if approval.id in results:
                result = results[approval.id]
                content = result if isinstance(result, dict) else {}
                await self._decide(call.request, address, approval, content, waits=True)
        return run

    async def _answered(self, request: HttpRequest, message: ClientMessage) -> None:
        """Record a client's answer to a question; one to a question that is over changes nothing."""
        ids = read_question_id(message.id)
        address = None if ids is None else self._address(request, ids[1], ids[2])
        if ids is None or address is None:
            return
        waiting = await self._wire.approvals.waiting(address)
        for approval in () if waiting is None else waiting.undecided:
            if approval.id == ids[0]:
                await self._decide(request, address, approval, message.result, waits=False)

    async def _decide(
        self,
        request: HttpRequest,
        address: Address,
        approval: PendingApproval,
        result: Mapping[str, Any] | None,
        *,
        waits: bool,
    ) -> None:
        """Record the decision in a form's result, if there is one; this request `waits` for the run that goes on."""
        decision = read_form(approval, result)
        if decision is None:
            return
        gives_up = not (decision.approved or decision.error)
        answering = Answering(decision, request.caller, waits=waits, streamed=True, gives_up=gives_up)
        with suppress(UnknownApprovalError, ApprovalAnsweredError, ApprovalExpiredError):
            await self._wire.approvals.answer(address, answering)

    def _address(self, request: HttpRequest, agent: str, thread_id: str) -> Address | None:
        """Return a thread of the caller with one of the agents; None for what cannot be one."""
        owner = request.caller.owner
        is_served = any(each.name == agent for each in self._tools.values())
        return Address.of(agent, thread_id, owner) if is_served and may_be_stored(thread_id, owner) else None

    async def _resume(self, request: HttpRequest) -> Streamed:
        """Return the rest of a call's stream; raises `MethodNotAllowedError` where no stream is named."""
        if (last := request.headers.get(names.LAST_EVENT)) is None:
            raise MethodNotAllowedError("There is no stream without a call. Send Last-Event-ID to go on with one.")
        cursor = read_event_id(last)
        address = self._address(request, cursor.agent, cursor.thread_id)
        if address is None or not is_id(cursor.run_id):
            raise names.UnknownEventError(f"There is no event {last[:80]!r}. Send the call again.")
        meta = {} if cursor.token is None else {"_meta": {"progressToken": cursor.token}}
        message = ClientMessage(cursor.version, cursor.request_id, "tools/call", meta, asks=cursor.asks)
        run = await self._wire.runs.find(address, cursor.run_id, request.caller.client)
        return self._calls.streamed(McpCall(request, self._wire.plan.served(cursor.agent), message, cursor), run)
