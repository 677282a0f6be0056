"""The requests of a batch, begun a few at a time, and what came of each.

Theory. A batch is nothing that is stored: each of its requests is a run by itself, begun and answered as by its own
route. So what a kill leaves are runs, and the batch that is sent again with its key finds those that it began and
begins the rest. Runs that are waited for share the places of the process with those of other batches, in the order in
which they ask: a batch asks for no more at once than there are, so the next one has every second place. A run that is
not waited for, or no longer, needs no place: it is accepted, and the engine has it run.

The caller may leave: a batch goes on, as a run does.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import time
from collections.abc import AsyncGenerator, Callable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from hosting.core.hooks import ANSWER_HEADERS
from hosting.core.outcome import RunIds, ThreadIds
from hosting.core.request.contents import Limits
from hosting.core.runs import Runs
from hosting.errors import HostingError, InternalError
from hosting.features.batch.requests import BatchCall, Item
from hosting.features.batch.routes import BatchResult
from hosting.http.refusals import TRY_AGAIN, later_headers
from hosting.http.replies import Reply, problem_reply, run_url, thread_headers, thread_ids
from hosting.http.request import HttpRequest
from hosting.http.run_call import IDEMPOTENCY_KEY, PREFER, Wanted
from hosting.http.runs import Starting
from hosting.names import Address, may_be_stored
from hosting.plan import AgentPlan
from hosting.ports import Wait

logger = logging.getLogger(__name__)

ACCEPTED_AT_ONCE = 4
"""So many runs are begun at once that are not waited for: less than a wave of starts (`core.starts`)."""
_OF_ALL = ("host", "x-forwarded-host", "x-forwarded-proto", "traceparent")
_JSON: Mapping[str, str] = {"content-type": "application/json", "accept": "application/json"}
_NOT_SHOWN = frozenset({"preference-applied"})


class RequestBatch(Struct, frozen=True):
    """One batch under way: the request that brought it, its agent and what that takes, and how long it is waited for.

    `until` is by `time.monotonic`: infinite for a caller that reads the results as they come, minus infinity for one
    that does not wait, or no longer.
    """

    request: HttpRequest
    agent: AgentPlan
    limits: Limits
    until: float

    @property
    def seconds_left(self) -> float:
        """How long the caller still waits (s)."""
        return max(0.0, self.until - time.monotonic())

    def request_of(self, item: Item, body: bytes) -> HttpRequest:
        """Return the request for a run that an item is; raises `InvalidFieldError` for its key."""
        received = self.request.received
        headers = {**{name: received.headers[name] for name in _OF_ALL if name in received.headers}, **_JSON}
        if (key := item.key) is not None:
            headers[IDEMPOTENCY_KEY] = key
        if self.until < math.inf:
            left = self.seconds_left
            headers[PREFER] = f"wait={math.floor(left) or math.ceil(left)}"

        async def read() -> bytes:
            return body

        return replace(self.request, received=replace(received, headers=headers, query={}, body=read))


class Batches:
    """The batches of one process, for one event loop."""

    def __init__(self, starting: Starting, runs: Runs, most_runs: int) -> None:
        """At most `most_runs` of their runs are waited for at once."""
        self._starting, self._runs = starting, runs
        self._most = most_runs
        self._places = asyncio.Semaphore(most_runs)
        self._accepting = asyncio.Semaphore(ACCEPTED_AT_ONCE)
        self._working: set[asyncio.Task[None]] = set()

    async def results(self, call: BatchCall, batch: RequestBatch) -> AsyncGenerator[BatchResult, None]:
        """Yield the results as they come; the batch goes on if no more are taken."""
        results: asyncio.Queue[BatchResult | None] = asyncio.Queue()
        task = asyncio.create_task(self._work(call, batch, results.put_nowait))
        self._working.add(task)
        task.add_done_callback(self._working.discard)
        task.add_done_callback(lambda _: results.put_nowait(None))
        while (result := await results.get()) is not None:
            yield result
        task.result()

    async def _work(self, call: BatchCall, batch: RequestBatch, put: Callable[[BatchResult], None]) -> None:
        """Begin the requests in their order, those of one thread one after the other."""
        lines = iter(call.lines)

        async def work() -> None:
            for line in lines:
                for item in line:
                    put(await self._result(item, batch))

        async with asyncio.TaskGroup() as workers:
            at_once = self._most if batch.seconds_left else ACCEPTED_AT_ONCE
            for _ in range(min(at_once, len(call.items))):
                workers.create_task(work())

    async def _result(self, item: Item, batch: RequestBatch) -> BatchResult:
        """Return what came of one request."""
        if not await self._has_place(batch):
            async with self._accepting:
                return await self._answered(item, replace(batch, until=-math.inf))
        try:
            return await self._answered(item, batch)
        finally:
            self._places.release()

    async def _has_place(self, batch: RequestBatch) -> bool:
        """Take a place of the process before the wait is over; return whether there was one."""
        seconds = batch.seconds_left
        if not seconds:
            return False
        try:
            async with asyncio.timeout(None if seconds == math.inf else seconds):
                await self._places.acquire()
        except TimeoutError:
            return False
        return True

    async def _answered(self, item: Item, batch: RequestBatch) -> BatchResult:
        """Return the answer to a request as the route of runs gives it, also a refusal."""
        ANSWER_HEADERS.set({})
        try:
            reply = await self._reply(item, batch)
        except HostingError as error:
            reply = _refusal(error)
        except Exception:
            logger.exception("A request of a batch failed.")
            reply = _refusal(InternalError("The app failed on this request. Its log has the cause."))
        return _shown(item.index, reply, batch)

    async def _reply(self, item: Item, batch: RequestBatch) -> Reply:
        body = item.body()
        request, limits = batch.request_of(item, body), replace(batch.limits, body_bytes=len(body))
        reply = await self._starting.reply(request, batch.agent, limits)
        assert isinstance(reply, Reply)  # as the request accepts JSON alone
        if reply.status == 202 and batch.until == math.inf:
            reply = await self._end(reply, request, batch.agent)
        return reply

    async def _end(self, pending: Reply, request: HttpRequest, agent: AgentPlan) -> Reply:
        """Return the answer once the run has ended, for a caller that reads results as they come."""
        fields = json.loads(pending.body)
        caller = request.caller
        address = Address.of(agent.name, fields["thread_id"], caller.owner)
        run = await self._runs.find(address, fields["run_id"], caller.client)
        ended = await self._starting.answer(request, agent, run, Wanted("json", Wait(math.inf)))
        assert isinstance(ended, Reply)
        kept = {name: value for name, value in pending.headers.items() if name not in ("location", "retry-after")}
        return replace(ended, headers={**kept, **ended.headers})


def _refusal(error: HostingError) -> Reply:
    """Return the problem, with the thread and the run that it knows."""
    headers = later_headers(error) if error.status in TRY_AGAIN else {}
    thread_id = error.thread_id or ""
    if not may_be_stored(thread_id):
        return problem_reply(error, "json", headers)
    known: ThreadIds = thread_ids(thread_id)
    headers |= thread_headers(thread_id)
    if error.run_id is not None and error.run_url is not None:
        of_run: RunIds = {**known, "run_id": error.run_id, "correlation_id": error.run_id}
        known, headers = of_run, {**headers, "x-ms-run-id": error.run_id, "location": error.run_url}
    return problem_reply(error, "json", headers, known)


def _shown(index: int, reply: Reply, batch: RequestBatch) -> BatchResult:
    """Return a result as it is answered."""
    body = json.loads(reply.body)
    thread_id, run_id = body.get("thread_id"), body.get("run_id")
    url = None
    if thread_id is not None and run_id is not None:
        url = run_url(run_id, batch.request.thread_url(batch.agent, thread_id))
    headers = {**ANSWER_HEADERS.get(), **reply.headers}
    return {
        "index": index,
        "status": reply.status,
        "thread_id": thread_id,
        "run_id": run_id,
        "run_url": url,
        "headers": {name.lower(): value for name, value in headers.items() if name.lower() not in _NOT_SHOWN},
        "body": body,
    }
