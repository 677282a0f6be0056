"""The requests of a test to its app: each until its run has ended, however often the app dies meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar
from urllib.parse import quote

from msgspec import Struct

from hosting.client.connection import AppAnswer, AppConnection, RemoteAgentError, connected_app, pause_of
from hosting.names import new_id

T = TypeVar("T")
PATIENCE_SECONDS = 120.0
_PAUSE_SECONDS = 0.05


class RunAnswer(Struct, frozen=True):
    """The end of a run: its ids, the text, the value in a format that was asked for, and what waits for a person.

    `fields` are those of the app's JSON.
    """

    agent: str
    thread_id: str
    run_id: str
    text: str
    value: Any
    pending_approvals: Sequence[Mapping[str, Any]]
    fields: Mapping[str, Any]


class StreamedRun(Struct, frozen=True):
    """A run that was read as a stream: its whole answer, and the events as they came, each a name and its fields."""

    answer: RunAnswer
    events: Sequence[tuple[str, Mapping[str, Any]]]


class AppRequests:
    """The requests of one test to its app at `address`, where its routes begin."""

    def __init__(self, address: str, headers: Mapping[str, str]) -> None:
        self._address, self._headers = address, headers

    async def ask(
        self, message: str, agent: str | None, thread: str | None, key: str | None, **fields: Any
    ) -> RunAnswer:
        """Return the end of a run of the agent; see the fixture `ask`."""
        async with self._connected() as app:
            name = agent or await _only_agent(app)
            body = {"message": message, "thread_id": thread or new_id(), **fields}
            answer = await app.send("POST", f"{_path(name)}/run", body=body, headers=_run_headers(key))
            return await _ended(app, name, answer)

    async def stream(
        self, message: str, agent: str | None, thread: str | None, key: str | None, **fields: Any
    ) -> StreamedRun:
        """Return a run of the agent and its events; see the fixture `stream`."""
        async with self._connected() as app:
            name = agent or await _only_agent(app)
            body = {"message": message, "thread_id": thread or new_id(), **fields}
            body |= {"stream": True, "wait_for_response": False}
            begun = await app.send("POST", f"{_path(name)}/run", body=body, headers=_run_headers(key))
            where = _run_path(name, begun.fields)
            events = [event async for event in app.events(f"{where}/events")]
            return StreamedRun(await _ended(app, name, await app.read(where)), events)

    async def approve(self, waiting: RunAnswer, decision: Mapping[str, Any]) -> RunAnswer:
        """Return the end of the run that goes on after a decision about all that waits; see the fixture `approve`."""
        if not waiting.pending_approvals:
            raise ValueError(f"The run {waiting.run_id} of agent {waiting.agent!r} waits for no person.")
        async with self._connected() as app:
            for approval in waiting.pending_approvals:
                path = f"{_path(waiting.agent)}/threads/{quote(waiting.thread_id, safe='')}/approvals"
                answer = await app.send("POST", f"{path}/{approval['id']}", body=dict(decision))
            return await _ended(app, waiting.agent, answer)

    async def send(self, method: str, path: str, body: object, key: str | None) -> Any:
        """Return the JSON of a route's answer; raise `RemoteAgentError` for a refusal."""
        async with self._connected() as app:
            return (await app.send(method, path, body=body, headers=_run_headers(key))).fields

    async def until(self, path: str, holds: Callable[[Any], bool]) -> Any:
        """Return the JSON of a route once that holds of it; raise `RemoteAgentError` when the patience is over."""
        async with self._connected() as app:
            while not holds(fields := (await app.read(path)).fields):
                await app.wait(_PAUSE_SECONDS)
            return fields

    async def run_after(self, waiting: RunAnswer) -> RunAnswer:
        """Return the end of the thread's next run after one; raise as `ask` does."""
        where = f"{_path(waiting.agent)}/threads/{quote(waiting.thread_id, safe='')}/runs"

        def later(fields: Any) -> list[str]:
            ids = [str(run["run_id"]) for run in reversed(fields["runs"])]
            return ids[ids.index(waiting.run_id) + 1 :] if waiting.run_id in ids else []

        next_run, *_ = later(await self.until(where, lambda fields: bool(later(fields))))
        async with self._connected() as app:
            return await _ended(app, waiting.agent, await app.read(f"{where}/{next_run}"))

    def _connected(self) -> Any:
        return connected_app(self._address, self._headers, PATIENCE_SECONDS)


def waited_for(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of the work, also in a thread with an event loop of its own, as an asynchronous test has.

    Its error has no lines of this library, so pytest shows the test's.
    """
    __tracebackhide__ = True
    with ThreadPoolExecutor(1) as thread:
        ended = thread.submit(asyncio.run, work)
        error = ended.exception()
    if error is not None:
        raise error.with_traceback(None)
    return ended.result()


def _path(agent: str) -> str:
    return f"agents/{quote(agent, safe='')}"


def _run_headers(key: str | None) -> dict[str, str]:
    """Return the headers of a request that is sent again if its answer is lost, and is one run."""
    return {"Idempotency-Key": key or new_id(), "Accept": "application/json"}


def _run_path(agent: str, fields: Mapping[str, Any]) -> str:
    return f"{_path(agent)}/threads/{quote(str(fields['thread_id']), safe='')}/runs/{fields['run_id']}"


async def _only_agent(app: AppConnection) -> str:
    names = [str(agent["name"]) for agent in (await app.read("agents")).fields["agents"]]
    if len(names) != 1:
        raise ValueError(f"The app has {len(names)} agents: {', '.join(names)}. Name one by agent=.")
    return names[0]


async def _ended(app: AppConnection, agent: str, answer: AppAnswer) -> RunAnswer:
    """Return the end of a run; raise `RemoteAgentError`, with the app's code, for a run without an answer."""
    while answer.status == 202:
        await app.wait(min(max(pause_of(answer), _PAUSE_SECONDS), 2 * _PAUSE_SECONDS))
        answer = await app.read(_run_path(agent, answer.fields))
    fields = answer.fields
    if isinstance(error := fields.get("error"), dict):
        raise RemoteAgentError(str(error.get("detail")), str(error.get("code")), answer.status)
    if fields.get("status") != "success":
        raise RemoteAgentError(f"The run ended as {fields.get('status')}.", str(fields.get("status")), answer.status)
    waiting = fields.get("pending_approvals") or ()
    ids = (str(fields["thread_id"]), str(fields["run_id"]))
    return RunAnswer(agent, *ids, str(fields["response"]), fields.get("value"), waiting, fields)
