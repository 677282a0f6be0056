"""What a remote agent asks an app for: a run by messages, or the answers for which a run waits.

Theory. Each request may be sent again. Messages before the newest are put into the thread first, under a key that
follows from the run's. An answer is recorded once, and the last one begins the run that goes on: the same answer again
finds that run. So whatever dies in between, the same call makes the same run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from msgspec import Struct

from hosting.client.connection import AppAnswer, AppConnection, RemoteAgentError
from hosting.core.entity.called_run import ResultFormat

_BUSY_PAUSE_SECONDS = 0.5
_JSON = {"Accept": "application/json"}


class AskedRun(Struct, frozen=True):
    """A run to ask for: its body, its thread and its key, and in which format its value is given.

    `earlier` are messages before the body's. Instead of both there may be `decisions`, which answer what waits.
    """

    body: Mapping[str, Any]
    thread_id: str
    key: str
    earlier: Sequence[Mapping[str, Any]] = ()
    decisions: Sequence[Mapping[str, Any]] = ()
    answer_format: ResultFormat = ResultFormat()


async def begin_run(
    app: AppConnection, path: str, request: AskedRun, members: Mapping[str, Any] | None = None
) -> AppAnswer:
    """Return the app's answer to a request for a run of the agent at that path, with more `members` in its body.

    Raises `RemoteAgentError`, also where the run goes on only after other answers.
    """
    thread = f"{path}/threads/{quote(request.thread_id, safe='')}"
    if request.decisions:
        return await _answer(app, thread, request.decisions, members or {})
    if request.earlier:
        await _put(app, thread, request)
    body = {**request.body, "thread_id": request.thread_id, **(members or {})}
    headers = {"Idempotency-Key": request.key, **({} if body.get("stream") else _JSON)}
    return await app.send("POST", f"{path}/run", body=body, headers=headers)


async def _put(app: AppConnection, thread: str, request: AskedRun) -> None:
    """Put the earlier messages in, once no run of the thread is open any more."""
    headers = {"Idempotency-Key": sha256(f"messages before {request.key}".encode()).hexdigest()}
    while True:
        try:
            await app.send("POST", f"{thread}/messages", body={"messages": [*request.earlier]}, headers=headers)
        except RemoteAgentError as error:
            if error.code != "thread_busy":
                raise
            await app.wait(_BUSY_PAUSE_SECONDS)
        else:
            return


async def _answer(
    app: AppConnection, thread: str, decisions: Sequence[Mapping[str, Any]], members: Mapping[str, Any]
) -> AppAnswer:
    """Record the answers one after the other, and return the app's answer to the last."""
    for decision in decisions:
        fields = {name: value for name, value in decision.items() if name != "id"}
        where = f"{thread}/approvals/{quote(str(decision['id']), safe='')}"
        answer = await app.send("POST", where, body={**fields, **members}, headers=_JSON)
    if answer.fields.get("status") == "answered":
        tools = ", ".join(str(approval["tool"]) for approval in answer.fields["pending_approvals"])
        detail = f"These answers are recorded. The thread waits for others still: {tools or 'none'}."
        raise RemoteAgentError(detail, "approvals_pending", answer.status)
    return answer
