"""Any agent that speaks Agent2Agent 1.0 as JSON-RPC, as far as that protocol goes."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from conformance.port import End, Entry, NotOffered, Pending, Refused, Run, Service

OPEN = ("TASK_STATE_SUBMITTED", "TASK_STATE_WORKING")
WAITS = "TASK_STATE_INPUT_REQUIRED"
POLL_SECONDS = 0.1
STATUSES = {-32001: 404, -32603: 500}
"""What a status of HTTP would say of an error; all others are 409."""


class A2aService(Service):
    """The URL is that of the agent. A context is a thread, a task a run, and one that waits for input an approval."""

    def __init__(self, http: httpx.AsyncClient, agent: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(http, agent, headers)
        self._asked: dict[str, str] = {}  # by task, the id of what it waits for

    async def find_agent(self) -> None:
        """By its card."""
        self.agent = (await self.call("GET", ".well-known/agent-card.json")).json()["name"]

    async def new_thread(self) -> str:
        """The client may choose a context's id."""
        return uuid.uuid4().hex

    async def _result(self, method: str, **params: Any) -> dict[str, Any]:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = await self.call("POST", "", json=body, headers={"A2A-Version": "1.0"})
        if error := answer.json().get("error"):
            raise Refused(answer, STATUSES.get(error["code"], 409))
        return dict(answer.json()["result"])

    async def _sent(self, parts: Sequence[Mapping[str, Any]], **fields: str) -> Run:
        result = await self._message(parts, fields, returns_at_once=True)
        return Run(result["task"]["contextId"], result["task"]["id"])

    async def _message(
        self, parts: Sequence[Mapping[str, Any]], fields: Mapping[str, str], *, returns_at_once: bool
    ) -> dict[str, Any]:
        message = {"messageId": uuid.uuid4().hex, "role": "ROLE_USER", "parts": parts, **fields}
        configuration = {"returnImmediately": returns_at_once}
        return await self._result("SendMessage", message=message, configuration=configuration)

    async def start(self, thread: str, message: str, key: str = "") -> Run:
        """The protocol lets an agent recognize a message by its id, and promises nothing of it."""
        if key:
            raise NotOffered("idempotency keys")
        return await self._sent([{"text": message}], contextId=thread)

    async def end(self, run: Run) -> End:
        """By its state; the answer is in its artifacts."""
        while True:
            task = await self._result("GetTask", id=run.id)
            if task["status"]["state"] not in OPEN:
                return _end(task)
            await asyncio.sleep(POLL_SECONDS)

    async def ask_waiting(self, thread: str, message: str) -> End:
        """A message whose request returns when its task has ended."""
        result = await self._message([{"text": message}], {"contextId": thread}, returns_at_once=False)
        return _end(result["task"])

    async def start_long(self, thread: str, message: str) -> Run:
        """The protocol has nothing of steps: the service may record them."""
        return await self.start(thread, message)

    async def conversation(self, thread: str) -> list[Entry]:
        """The tasks of the context, of which the last one is listed first."""
        entries = []
        for task in reversed(await self._tasks(thread)):
            sent = [message for message in task.get("history", ()) if message["role"] == "ROLE_USER"]
            entries += [Entry("user", _text(message["parts"])) for message in sent[:1]]
            entries += [Entry("agent", answer) for answer in [_answer(task)] if answer]
        return entries

    async def _tasks(self, thread: str) -> list[dict[str, Any]]:
        params = {"contextId": thread, "pageSize": 100, "historyLength": 100, "includeArtifacts": True}
        return list((await self._result("ListTasks", **params))["tasks"])

    async def shown(self, thread: str) -> str:
        """The tasks of the context."""
        return json.dumps(await self._tasks(thread))

    async def cancel(self, run: Run) -> None:
        """The result is the task."""
        await self._result("CancelTask", id=run.id)

    async def decide(self, thread: str, approval: str, approved: bool) -> Run:
        """A message to the task, for a person's words."""
        return await self._sent([{"text": "approve" if approved else "no"}], contextId=thread, taskId=approval)

    async def answer(self, thread: str, question: str, value: Any) -> Run:
        """A message to the task, whose data names what waits, as durable-agent-host has it."""
        return await self._decided(thread, question, value=value)

    async def decide_with(self, thread: str, approval: str, arguments: Mapping[str, Any]) -> Run:
        """As a question is answered."""
        return await self._decided(thread, approval, approved=True, arguments=arguments)

    async def pending(self, thread: str, waiting: str) -> Pending:
        """The first that the data of the task's status names."""
        task = await self._result("GetTask", id=waiting)
        asked = next(part["data"]["approvals"][0] for part in task["status"]["message"]["parts"] if "data" in part)
        self._asked[waiting] = asked["id"]
        return Pending(asked["arguments"], asked.get("answer_schema"), asked.get("default"))

    async def _decided(self, thread: str, task: str, **fields: Any) -> Run:
        if task not in self._asked:
            await self.pending(thread, task)
        decision = {"id": self._asked[task], **fields}
        return await self._sent([{"data": {"approvals": [decision]}}], contextId=thread, taskId=task)


def _end(task: dict[str, Any]) -> End:
    state = task["status"]["state"]
    if state in ("TASK_STATE_COMPLETED", WAITS):
        return End("completed", _answer(task), (task["id"],) if state == WAITS else ())
    return End("cancelled" if state == "TASK_STATE_CANCELED" else "failed", state)


def _answer(task: dict[str, Any]) -> str:
    return "".join(_text(artifact["parts"]) for artifact in task.get("artifacts", ()))


def _text(parts: list[dict[str, Any]]) -> str:
    return "".join(part.get("text", "") for part in parts)
