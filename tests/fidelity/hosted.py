"""A row's agent hosted: asked over HTTP, waited for or streamed, or in a process that dies between two of its steps.

A process that dies stands still for ever where it was: at a request to its model, or in a tool. Another one begins over
the same files, with another agent of the same code, and the engine delivers to it what was not committed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import httpx

from hosting.app import AgentFunctionApp
from tests.fidelity.conversation import Told, Turn
from tests.fidelity.features import Setting, agent_of
from tests.fidelity.finishing import last_event
from tests.fidelity.plain import CALLERS_RESULT
from tests.support.direct import DirectHost

GUARD_SECONDS = 15.0
MOST_DECISIONS = 4
_POLL_SECONDS = 0.01
THREAD = "t"
_INPUTS = "image/*, application/pdf"
_AGENT = "/api/agents/a"
_APPROVALS = f"{_AGENT}/threads/{THREAD}/approvals"


class Hosted:
    """The app of one row. `dies_at` is the number of the step of each turn at which its process dies, from 1."""

    def __init__(self, setting: Setting, folder: Path, dies_at: int) -> None:
        self._setting = setting
        self._folder = folder
        self._dies_at = dies_at if setting.row["carrier"] == "killed" else 0
        self._steps = 0
        self._died: Future[None] = Future()
        setting.model.before_answer = setting.before_tool = self._step
        self._host = self._process()

    async def run(self, turns: Sequence[Turn]) -> list[Told]:
        """Return what the caller was told of each turn."""
        return [await asyncio.wait_for(self._take(turn), GUARD_SECONDS) for turn in turns]

    def _process(self) -> DirectHost:
        environ = {"AGENT_LOG": f"sqlite:{self._folder / 'log.sqlite'}", "AGENT_MODEL_INPUTS": _INPUTS}
        return DirectHost(AgentFunctionApp(agents=[agent_of(self._setting)], environ=environ))

    def _step(self) -> asyncio.Future[None] | None:
        """Count a step; at the one where the process dies, return what nobody ever ends."""
        self._steps += 1
        if self._steps != self._dies_at:
            return None
        self._died.set_result(None)
        return asyncio.get_running_loop().create_future()

    async def _take(self, turn: Turn) -> Told:
        self._setting.model.begin_turn(turn.script)
        self._steps = 0
        self._died = Future()
        told = await self._ask(turn)
        for _ in range(MOST_DECISIONS):
            if told.ending != "asks":
                break
            told = await self._decide()
        return told

    async def _ask(self, turn: Turn) -> Told:
        body = {"message": turn.message, "thread_id": THREAD, "contents": turn.uris() or None}
        body = {name: value for name, value in body.items() if value is not None}
        if turn.ending == "cancelled":
            return await self._cancelled(body)
        if self._setting.row["carrier"] == "streamed":
            reply = await self._send("POST", f"{_AGENT}/run", body, accept="text/event-stream")
            return self._read(reply)
        if self._setting.row["carrier"] == "waited":
            reply = await self._send("POST", f"{_AGENT}/run", body)
            return self._read(reply)
        return await self._ended(await self._send("POST", f"{_AGENT}/run", {**body, "wait_for_response": False}))

    async def _decide(self) -> Told:
        """Answer all that the thread waits for; the last answer goes on with the run."""
        row = self._setting.row
        waiting = (await self._send("GET", _APPROVALS)).json()["approvals"]
        decision: dict[str, Any] = {"approved": row["approval"] != "refused"}
        if row["approval"] == "standing":
            decision["always"] = "tool"
        for approval in waiting:
            query = "" if row["carrier"] != "killed" else "?wait_for_response=false"
            accept = "text/event-stream" if row["carrier"] == "streamed" else "*/*"
            answer = {"value": CALLERS_RESULT} if approval["kind"] == "client_tool" else decision
            reply = await self._send("POST", f"{_APPROVALS}/{approval['id']}{query}", answer, accept=accept)
        return await self._ended(reply) if row["carrier"] == "killed" else self._read(reply)

    async def _cancelled(self, body: Mapping[str, Any]) -> Told:
        """Cancel the run once its model was asked."""
        model = self._setting.model
        model.before_answer = lambda: asyncio.get_running_loop().create_future()
        reply = await self._send("POST", f"{_AGENT}/run", {**body, "wait_for_response": False})
        run_id = reply.json()["run_id"]
        running = asyncio.ensure_future(self._over(run_id))
        await model.is_asked(running)
        await self._send("POST", f"{_AGENT}/threads/{THREAD}/runs/{run_id}/cancel", {})
        await running
        model.before_answer = self._step
        return await self._end_of(run_id)

    async def _ended(self, accepted: httpx.Response) -> Told:
        """Return how a run ends that nobody waits for, in this process or in the one after it."""
        if accepted.status_code != 202:
            return _told(accepted.json())
        run_id = accepted.json()["run_id"]
        running = asyncio.ensure_future(self._over(run_id))
        died = asyncio.shield(asyncio.wrap_future(self._died))
        await asyncio.wait((running, died), return_when=asyncio.FIRST_COMPLETED)
        died.cancel()
        if self._died.done() and not running.done():
            self._died = Future()
            dead, self._host = self._host, self._process()
            self._host.entities.take_over(dead.entities)
            running.cancel()
            running = asyncio.ensure_future(self._over(run_id))
        await running
        return await self._end_of(run_id)

    async def _over(self, run_id: str) -> None:
        """Return once the run has ended."""
        path = f"{_AGENT}/threads/{THREAD}/runs/{run_id}"
        while (await self._send("GET", path)).json().get("status") in {"accepted", "running"}:  # noqa: ASYNC110
            await asyncio.sleep(_POLL_SECONDS)

    async def _end_of(self, run_id: str) -> Told:
        return _told((await self._send("GET", f"{_AGENT}/threads/{THREAD}/runs/{run_id}")).json())

    def _read(self, reply: httpx.Response) -> Told:
        """Return what a reply says: its body, or the last event of its stream."""
        is_stream = reply.headers["content-type"].startswith("text/event-stream")
        return _told(last_event(reply.text) if is_stream else reply.json())

    async def _send(
        self, method: str, path: str, body: Mapping[str, Any] | None = None, **headers: str
    ) -> httpx.Response:
        transport = httpx.ASGITransport(self._host.asgi, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://app.example", timeout=None) as http:
            return await http.request(method, path, json=body, headers=headers)


def _told(body: Mapping[str, Any]) -> Told:
    """Return what a reply, a run, or the last event of a stream says."""
    if body.get("pending_approvals"):
        return Told("asks")
    ending = {"success": "answered", "completed": "answered", "cancelled": "cancelled"}.get(
        str(body.get("status")), "failed"
    )
    problem = error if isinstance(error := body.get("error"), dict) else body
    text = body.get("response") if ending == "answered" else f"{problem.get('code')}: {problem.get('detail')}"
    return Told("cancelled") if ending == "cancelled" else Told(ending, str(text or ""))
