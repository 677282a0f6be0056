"""The protocol's objects as projections of a run: messages, artifacts and the card of an agent."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from hosting.core.outcome import approval_fields, completed_value
from hosting.core.request.contents import ModelInputs
from hosting.core.thread.events import Accepted, Completed, Progressed, Terminal
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import UserMessage
from hosting.core.thread.thread_events import MessagesPut
from hosting.errors import HostingError
from hosting.features.a2a.names import PATH, VERSION
from hosting.http.cited import cited_of
from hosting.http.replies import Reply
from hosting.http.run_text import asked_in_words
from hosting.http.verbs import Receiver
from hosting.http.wire_runs import finish_of, put_metadata
from hosting.model_options import IGNORED
from hosting.names import Address
from hosting.plan import AgentPlan, Plan
from hosting.strict_json.parsing import parse_json

JSON = "application/json"
_AUTHORS = {"assistant": "ROLE_AGENT"}
_CARD_SECONDS = 60
HOW_TO_ANSWER = (
    "Answer with a message to this task: the text 'approve', any other text to refuse with that reason, or a data part "
    '{"approvals": [{"id": "...", "approved": true}]}.'
)
HOW_TO_GIVE = (
    'Send a data part {"approvals": [{"id": "...", "value": ...}]} to this task, by the answer_schema if there is one.'
)
_HOW = {
    "approve": ("a person's approval of", HOW_TO_ANSWER),
    "ask": ("a person's answer to", HOW_TO_GIVE),
    "client_tool": ("your result of", HOW_TO_GIVE),
    "authorization": ("the user to", f"Then: {HOW_TO_ANSWER}"),
}


def timestamp(seconds: float) -> str:
    """Return seconds since 1970 as the protocol has times: `2026-01-01T00:00:00.000Z`."""
    return datetime.fromtimestamp(seconds, tz=UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def artifact(run_id: str, parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the answer of a run, or some of its parts."""
    return {"artifactId": run_id, "name": "answer", "parts": parts}


def cited_text(text: str, end: Terminal | None) -> dict[str, Any]:
    """Return the text of an answer as a part; what it cites is metadata of the part."""
    cited = cited_of(end)
    return {"text": text, **({"metadata": cited} if cited else {})}


def task_metadata(end: Terminal | None, ignored: Sequence[str]) -> dict[str, Any]:
    """Return metadata for what the protocol has no place for: why an answer is incomplete, and what had no effect."""
    return {**finish_of(end, "finish_reason"), **({IGNORED: [*ignored]} if ignored else {})}


def parts_beside_text(accepted: Accepted, end: Completed) -> list[dict[str, Any]]:
    """Return the pictures, files and values that an agent answered with, and its answer's value where it is JSON."""
    contents = (content for message in end.entry.get("messages", ()) for content in message.get("contents", ()))
    parts = [_value(_part(content)) for content in contents if content.get("$type") in ("data", "uri")]
    value = None if end.approvals else completed_value(end)
    if value is not None or (accepted.request.response_format is not None and not end.approvals):
        parts.append(_data(value))
    return parts


def _data(value: object) -> dict[str, Any]:
    return {"data": value, "mediaType": JSON}


def _value(part: dict[str, Any]) -> dict[str, Any]:
    """Return a part as `data` if it is JSON that is no file, which has a name."""
    if "raw" not in part or part["mediaType"] != JSON or "filename" in part:
        return part
    try:
        return _data(parse_json(base64.b64decode(part["raw"])))
    except HostingError:
        return part


def status_message(
    run: Run, position: int, task_id: str, parts: list[dict[str, Any]], metadata: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the agent's message about a task's status, under an id made of run and position."""
    message = _message(run.accepted, f"{run.run_id}.{position}", task_id, "ROLE_AGENT", parts)
    return {**message, "metadata": dict(metadata)}


def progress_message(run: Run, position: int, task_id: str, progress: Progressed) -> dict[str, Any]:
    """Return the agent's message about how far a task is: the text of its code, and the share as metadata."""
    text = progress.text or f"{progress.share:.0%}"
    return status_message(run, position, task_id, [{"text": text}], {"progress": progress.share})


def _message(
    accepted: Accepted, message_id: str, task_id: str, role: str, parts: list[dict[str, Any]]
) -> dict[str, Any]:
    ids = {"messageId": message_id, "contextId": accepted.thread_id, "taskId": task_id}
    return {**ids, "role": role, "parts": parts}


def approvals_message(run: Run, position: int, task_id: str) -> dict[str, Any]:
    """Return the agent's open questions to a person, as a text and as data."""
    calls = {kind: [asked_in_words(one) for one in run.undecided if one.kind == kind] for kind in _HOW}
    texts = [f"Waits for {of}: {', '.join(calls[kind])}. {how}" for kind, (of, how) in _HOW.items() if calls[kind]]
    shown = ("id", "kind", "tool", "question", "arguments", "expires_at", "answer_schema", "default", "authorization")
    approvals = approval_fields(run, run.undecided)
    fields = [{name: value for name, value in approval.items() if name in shown} for approval in approvals]
    parts = [{"text": " ".join(texts)}, _data({"approvals": fields})]
    return status_message(run, position, task_id, parts, {"code": "approvals_pending"})


def user_messages(accepted: Accepted, task_id: str) -> list[dict[str, Any]]:
    """Return the messages and decisions that a run answers, oldest first."""
    request, wire = accepted.request, (accepted.wire or {}).get(PATH, {})
    if request.decisions:
        decisions = [decision.model_dump(exclude_none=True) for decision in request.decisions]
        sent = [("user", wire.get("parts") or [_data({"approvals": decisions})])]
    else:
        sent = [(message.role, _parts(message)) for message in (*request.earlier, request)]
    shown = [
        _message(accepted, f"{accepted.run_id}.in{number}", task_id, _AUTHORS.get(role, "ROLE_USER"), parts)
        for number, (role, parts) in enumerate(sent)
    ]
    shown[-1]["messageId"] = wire.get("message_id") or accepted.key or shown[-1]["messageId"]
    if "metadata" in wire:
        shown[-1]["metadata"] = wire["metadata"]
    return shown


def context_messages(address: Address, puts: Iterable[MessagesPut]) -> list[dict[str, Any]]:
    """Return messages that were put into a context; they are of no task."""
    return [
        {
            "messageId": f"{put.id}.in{number}",
            "contextId": address.thread_id,
            "role": _AUTHORS.get(message.role, "ROLE_USER"),
            "parts": _parts(message),
            "metadata": put_metadata(put),
        }
        for put in puts
        for number, message in enumerate(put.messages)
    ]


def _parts(message: UserMessage) -> list[dict[str, Any]]:
    texts = [{"text": message.message}] if message.message else []
    return [*texts, *map(_part, message.contents)]


def _part(content: Mapping[str, Any]) -> dict[str, Any]:
    uri = content.get("uri") or ""
    match content.get("$type"):
        case "text":
            return {"text": content["text"]}
        case "data":
            return {"raw": uri.partition(",")[2], "mediaType": content.get("mediaType"), **_filename(content)}
        case "uri":
            return {"url": uri, "mediaType": content.get("mediaType"), **_filename(content)}
        case _:
            return {"data": {"fileId": content.get("fileId")}}


def _filename(content: Mapping[str, Any]) -> dict[str, str]:
    """Return the member for the name of a file."""
    return {"filename": content["name"]} if content.get("name") else {}


def receiver_object(task_id: str, receiver: Receiver) -> dict[str, Any]:
    """Return a receiver of a task, without its credentials."""
    token = {"token": receiver.token} if receiver.token else {}
    authentication = {"authentication": {"scheme": receiver.scheme}} if receiver.scheme else {}
    return {"taskId": task_id, "id": receiver.id, "url": receiver.url, **token, **authentication}


def agent_card(agent: AgentPlan, plan: Plan, inputs: ModelInputs, base_url: str, *, pushes: bool) -> dict[str, Any]:
    """Return an agent's card; `base_url` is the origin and route prefix by which the caller reached the app.

    `pushes`: the app notifies the receivers of a task.
    """
    url = f"{base_url}/{PATH}/{quote(agent.name)}"
    schemes = _security_schemes(plan)
    requirement: dict[str, Any] = {"schemes": {name: {"list": []} for name in schemes}}
    required = {"securitySchemes": schemes, "securityRequirements": [requirement]}
    return {
        "name": agent.name,
        "description": agent.description,
        "version": "1.0.0",
        "supportedInterfaces": [{"url": url, "protocolBinding": "JSONRPC", "protocolVersion": VERSION}],
        "capabilities": {"streaming": True, "pushNotifications": pushes, "extendedAgentCard": False},
        "defaultInputModes": ["text/plain", "application/json", *(name for name in inputs.names if "/" in name)],
        "defaultOutputModes": ["text/plain", "application/json"],
        "skills": [{"id": agent.name, "name": agent.name, "description": agent.description, "tags": ["agent"]}],
        **(required if schemes else {}),
    }


def card_reply(card: Mapping[str, Any]) -> Reply:
    """Return the card, which every reader may cache for a minute."""
    body = json.dumps(card, ensure_ascii=False)
    tag = hashlib.sha256(body.encode()).hexdigest()[:32]
    headers = {"cache-control": f"private, max-age={_CARD_SECONDS}", "etag": f'"{tag}"'}
    return Reply(200, body, "application/json", headers)


def _security_schemes(plan: Plan) -> dict[str, Any]:
    """Return the credentials that a request needs, all of them, by name."""
    schemes: dict[str, Any] = {}
    if plan.requires_key:
        key = {"description": "A key of the function app.", "location": "header", "name": "x-functions-key"}
        schemes["functionKey"] = {"apiKeySecurityScheme": key}
    if plan.sign_in_scheme is not None:
        signed_in = {"description": "The user's token. The card needs none.", "scheme": plan.sign_in_scheme}
        schemes["signIn"] = {"httpAuthSecurityScheme": signed_in}
    return schemes
