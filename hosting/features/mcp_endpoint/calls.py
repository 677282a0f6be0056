"""The calls of tools: each is a run with those that go on after questions, streamed up to its result.

Theory. Nothing of a call is kept in a process. The key of its run is made of the session and the request's id, a
question's id says what it decides, and an event's id where its stream goes on. So any process takes the next message of
a client, also after the process before it has died, and a request that comes again finds its run.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import aclosing, suppress
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from hosting.core.broadcast import LoggedEvent
from hosting.core.care import Care
from hosting.core.following import StreamTime
from hosting.core.runs import PROTOCOL_WAIT_SECONDS
from hosting.core.thread.events import Accepted, ApprovalAnswered, Joined
from hosting.core.thread.rows import KeyRow
from hosting.core.thread.run import Run
from hosting.core.thread.thread_events import Deleting
from hosting.errors import HostingError, IdempotencyKeyReusedError, ShuttingDownError, ThreadDeletedError
from hosting.features.mcp_endpoint import names
from hosting.features.mcp_endpoint.fold import ProgressFold
from hosting.features.mcp_endpoint.questions import forms_of, question_id
from hosting.features.mcp_endpoint.requests import ClientMessage, Cursor, members
from hosting.features.mcp_endpoint.tools import start_of
from hosting.http.json_rpc import envelope
from hosting.http.mcp_tool import CallResult, result_of_call
from hosting.http.replies import Streamed, run_headers
from hosting.http.request import HttpRequest
from hosting.http.verbs import NewestThreads, ThreadQuery
from hosting.http.wire import WireVerbs
from hosting.http.wire_replies import framed, streamed
from hosting.names import Address, keyed_thread_id
from hosting.plan import AgentPlan
from hosting.ports import EntityClient, Wait

MOST_THREADS = 50
"""Among so many of the caller's newest threads with an agent a call is found that is to be cancelled."""
_RETRY_MILLISECONDS = 1000
_Sent = tuple[Cursor | None, Mapping[str, Any] | None]


class McpCall(Struct, frozen=True):
    """A call of an agent's tool: the request for it, and the client's place in its stream when it comes back."""

    request: HttpRequest
    agent: AgentPlan
    message: ClientMessage
    after: Cursor | None = None

    @property
    def client(self) -> EntityClient:
        """The durable client of the request."""
        return self.request.caller.client

    def cursor(self, run: Run, position: int, *, is_asked: bool = False) -> Cursor | None:
        """Return the place of an event; None in a version whose streams are not gone on with."""
        message, accepted = self.message, run.accepted
        if message.is_stateless:
            return None
        return Cursor(
            message.id,
            self.agent.name,
            accepted.thread_id,
            run.run_id,
            position,
            message.progress_token,
            message.version,
            message.asks,
            is_asked,
        )


class Calls(Struct, frozen=True, eq=False):
    """The calls of an app.

    `followed` are the threads of the calls that this process follows, by their keys.
    """

    verbs: WireVerbs
    care: Care
    newest_threads: NewestThreads
    followed: dict[str, Address] = field(default_factory=dict)

    async def start(self, call: McpCall) -> Run:
        """Return the run of a call, begun or found by its key; raises as `Runs.start` does."""
        message, caller = call.message, call.request.caller
        start = replace(
            start_of(call.agent, members(message.params, "arguments"), caller.owner),
            busy=call.agent.options.busy,
            idempotency_key=message.run_key(message.id),
            streams=message.progress_token is not None,
            traceparent=message.traceparent,
        )
        try:
            return (await self.verbs.runs.start(call.agent.name, start, caller)).run
        except IdempotencyKeyReusedError:
            raise IdempotencyKeyReusedError(
                "The key or the id of this request was used for another call. Send a new one."
            ) from None

    async def cancel(self, request: HttpRequest, message: ClientMessage, agents: Iterable[AgentPlan]) -> None:
        """Cancel the run of a call of the same session; one that is not found has ended, or is of older threads.

        A call that this process does not follow is looked for where a new thread has its id by the key, and then among
        the caller's newest threads.
        """
        request_id = message.params.get("requestId")
        key = message.run_key(request_id) if isinstance(request_id, str | int) and message.session else None
        if key is None:
            return
        owner, client = request.caller.owner, request.caller.client
        if (followed := self.followed.get(key)) is not None and followed.owner == owner:
            await self._cancel(followed, key, client)
            return
        for agent in agents:
            if await self._cancel(Address.of(agent.name, keyed_thread_id(agent.name, owner, key), owner), key, client):
                return
        for agent in agents:
            newest = await self.newest_threads(agent.name, ThreadQuery(MOST_THREADS), request.caller)
            for address, head in newest.threads:
                if head.runs and await self._cancel(address, key, client):
                    return

    async def _cancel(self, address: Address, key: str, client: EntityClient) -> bool:
        row = await self.verbs.log.row(address, KeyRow, key, await self.verbs.log.head(address))
        if not isinstance(row, KeyRow) or row.run_id is None:
            return False
        await self.verbs.runs.cancel(address, row.run_id, client)
        return True

    def streamed(self, call: McpCall, run: Run) -> Streamed:
        """Return the stream of a call: progress if its client takes any, questions, and the result."""

        def broken(error: HostingError) -> list[_Sent]:
            return [(None, _result(call, CallResult.of_error(error).as_object()))]

        batches = self._while_there(call, run, self._sent(call, run))
        frames = framed(f"run {run.run_id}", batches, broken, "Call the tool again.", _encoded)
        return streamed(frames, {"x-ms-run-id": run.run_id} if call.after else run_headers(run))

    async def result(self, call: McpCall, run: Run) -> Mapping[str, Any]:
        """Return the result of a call whose client takes no stream, and so is asked nothing."""
        silent = replace(call.message, params={}, asks=False)
        answer: Mapping[str, Any] = {}
        async with aclosing(self._sent(replace(call, message=silent), run)) as batches:
            async for batch in batches:
                answer = next((value["result"] for _, value in batch if value and "result" in value), answer)
        return answer

    async def _while_there(
        self, call: McpCall, run: Run, batches: AsyncGenerator[list[_Sent], None]
    ) -> AsyncGenerator[list[_Sent], None]:
        """Yield the batches. Where the protocol has it so, a client that closes the stream cancels its call."""
        key = call.message.run_key(call.message.id)
        if key is not None:
            self.followed[key] = run.address
        try:
            async with aclosing(batches):
                async for batch in batches:
                    yield batch
        except (GeneratorExit, asyncio.CancelledError):
            if call.message.is_stateless and not self.verbs.following.draining.is_set():
                with suppress(HostingError):
                    await asyncio.shield(self.verbs.runs.cancel(run.address, run.run_id, call.client))
            raise
        finally:
            self.followed.pop(key or "", None)

    async def _sent(self, call: McpCall, run: Run) -> AsyncGenerator[list[_Sent], None]:
        """Yield what the client is sent, each with its place in the stream, up to the result.

        A stream that breaks off because this process is about to end just ends: its client goes on in another one.
        """
        message, runs = call.message, self.verbs.runs
        wait = Wait(PROTOCOL_WAIT_SECONDS if message.progress_token is None else math.inf)
        waited, time_of_stream = runs.wait_seconds(wait), self.verbs.following.stream_time()
        until, is_asked = time.monotonic() + waited, call.after is not None and call.after.is_asked

        def left() -> float:
            return max(0.0, until - time.monotonic())

        if message.takes_empty_events and call.after is None:
            yield [(call.cursor(run, run.first - 1), None)]
        try:
            while True:
                if message.progress_token is None:
                    run = await runs.wait_through(run, call.client, left())
                else:
                    fold = ProgressFold(run)
                    async with aclosing(self._progress(call, fold, time_of_stream)) as batches:
                        async for batch in batches:
                            yield batch
                    run = fold.run
                    if isinstance(run.end, Joined):
                        run = await runs.find(run.address, run.end.into, call.client)
                        continue
                questions = await self._questions(call, run)
                if questions and message.is_stateless:
                    needed = {"resultType": "input_required", "inputRequests": questions}
                    state = f"{run.run_id}:{call.agent.name}:{run.accepted.thread_id}"
                    yield [(None, _result(call, {**needed, "requestState": state}))]
                    return
                if questions and not is_asked:
                    place = call.cursor(run, run.last, is_asked=True)
                    yield [(place, envelope(name, **question)) for name, question in questions.items()]
                resumed = await self._resumed(call, run, left if questions else lambda: 0.0, time_of_stream)
                if resumed is None:
                    break
                run, is_asked = resumed, False
        except ShuttingDownError:
            if message.is_stateless:
                raise
            return
        yield [(None, _result(call, result_of_call(run, call.agent, waited).as_object()))]

    async def _progress(
        self, call: McpCall, fold: ProgressFold, stream: StreamTime
    ) -> AsyncGenerator[list[_Sent], None]:
        """Yield the news of a run after the client's place."""
        after = call.after.position if call.after is not None and call.after.run_id == fold.run.run_id else 0
        token = call.message.progress_token
        async with aclosing(self.verbs.following.follow(fold.run, call.client, time=stream)) as lists:
            async for updates in lists:
                sent: list[_Sent] = []
                for update in updates:
                    news = fold.progress(update)
                    if fold.position > after:
                        place = call.cursor(fold.run, fold.position) if isinstance(update, LoggedEvent) else None
                        method = "notifications/progress"
                        sent += [(place, _notification(method, {"progressToken": token, **each})) for each in news]
                yield sent

    async def _questions(self, call: McpCall, run: Run) -> dict[str, dict[str, Any]]:
        """Return the requests that put to a person what the thread waits for, by their ids.

        There are none for a client that cannot ask, and none where something fits into no form.
        """
        if not (call.message.asks and run.requested_approvals):
            return {}
        waiting = await self.verbs.approvals.waiting(run.address)
        if waiting is None or waiting.run_id != run.run_id:
            return {}
        forms = forms_of(run, waiting.undecided, call.message.version) or {}
        asked = {approval.id: question_id(run, approval) for approval in waiting.undecided}
        method = "elicitation/create"
        return {
            name if call.message.is_stateless else asked[name]: {"method": method, "params": form}
            for name, form in forms.items()
        }

    async def _resumed(self, call: McpCall, run: Run, left: Callable[[], float], stream: StreamTime) -> Run | None:
        """Return the run that goes on after a run's questions, once it has begun; None if nobody answers in time.

        Raises `ThreadDeletedError`, and `ShuttingDownError` when the stream's time is over.
        """
        asked = {approval.id for approval in run.requested_approvals}
        if not asked:
            return None
        address, log, position = run.address, self.verbs.log, run.last
        kinds = (Accepted, ApprovalAnswered, Deleting)
        heads = self.care.heads(address, await log.head(address), kinds, left=lambda: min(left(), stream.left()))
        async with aclosing(heads):
            async for head in heads:
                new = [event for _, event in await log.events(address, position)] if head.position > position else []
                for event in new:
                    if isinstance(event, Accepted) and {each.id for each in event.request.decisions} & asked:
                        return await self.verbs.runs.find(address, event.run_id, call.client)
                position = max(position, head.position)
                if head.state != "open":
                    raise ThreadDeletedError("The thread was deleted with its runs.")
                waits = head.waiting is not None and head.waiting.run_id == run.run_id
                if not (waits and head.is_waiting_for_approval(log.clocks.wall())) or not left():
                    return None
                if stream.is_over:
                    raise ShuttingDownError("The process that sends this stream is about to end. Come back to it.")
        return None


def _notification(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def _result(call: McpCall, result: Mapping[str, Any]) -> dict[str, Any]:
    return envelope(call.message.id, result=of_version(call.message, result))


def of_version(message: ClientMessage, result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result as the version of its request has it."""
    if "content" in result:
        result = {**result, "content": [_block_of(message.version, block) for block in result["content"]]}
    if not message.is_stateless:
        return dict(result)
    return {"resultType": "complete", "_meta": {names.META_SERVER: names.SERVER}, **result}


def _block_of(version: str, block: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a block of content, or a text in place of one that the version does not have."""
    first = names.FIRST_WITH.get(block["type"], "")
    if version >= first:
        return block
    shown = block.get("uri") or f"The answer has {block['mimeType']}, which MCP has since version {first}."
    return {"type": "text", "text": shown}


def _encoded(batch: list[_Sent]) -> bytes:
    return b"".join(_frame(place, value) for place, value in batch)


def _frame(place: Cursor | None, value: Mapping[str, Any] | None) -> bytes:
    """Return an event; one without a value only has its place, and when to come back if the stream breaks off."""
    head = "" if place is None else f"id: {place.text()}\n"
    if value is None:
        return f"{head}retry: {_RETRY_MILLISECONDS}\ndata: \n\n".encode()
    return f"{head}event: message\ndata: {json.dumps(value, ensure_ascii=False)}\n\n".encode()
