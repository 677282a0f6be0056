"""The handler of batches: one answer for all, or each result as it comes."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from hosting.core.request.contents import limits_of
from hosting.core.runs import Runs
from hosting.features.batch.batches import Batches, RequestBatch
from hosting.features.batch.requests import BatchCall, read_batch
from hosting.features.batch.routes import BATCH, BatchResult, BatchResults
from hosting.http.refusals import RETRY_AFTER_SECONDS
from hosting.http.replies import Reply, Streamed, json_reply
from hosting.http.request import Bound, HttpRequest
from hosting.http.streams import Frame
from hosting.settings import Settings


class BatchHandlers:
    """The handler of the route."""

    def __init__(self, batches: Batches, runs: Runs, settings: Settings) -> None:
        self._batches, self._runs = batches, runs
        self._settings = settings

    def bound(self) -> Sequence[Bound]:
        """Return the route with its handler."""
        return (Bound(BATCH, self._begin),)

    async def _begin(self, request: HttpRequest) -> Reply | Streamed:
        agent = request.agent
        limits = limits_of(agent, self._settings)
        call = await request.parsed(lambda raw: read_batch(raw, limits.body_bytes))
        self._runs.admit()
        seconds = self._runs.wait_seconds(call.wanted.wait)
        until = call.wanted.wait.since + seconds if seconds else -math.inf
        batch = RequestBatch(request, agent, limits, until)
        if call.wanted.form == "events":
            headers = {"x-accel-buffering": "no", **call.wanted.headers}
            return Streamed(_frames(self._batches.results(call, batch)), headers)
        return await self._together(call, batch)

    async def _together(self, call: BatchCall, batch: RequestBatch) -> Reply:
        """Return one answer with all results, in the order of the requests."""
        results = [result async for result in self._batches.results(call, batch)]
        results.sort(key=lambda result: result["index"])
        body, headers = BatchResults(results=results, open=_open(results)), dict(call.wanted.headers)
        if not body["open"]:
            return json_reply(200, body, headers)
        return json_reply(202, body, {**headers, "retry-after": str(RETRY_AFTER_SECONDS)})


async def _frames(results: AsyncGenerator[BatchResult, None]) -> AsyncGenerator[bytes, None]:
    """Yield each result as an event of a stream, and how many there were at its end."""
    sent: list[BatchResult] = []
    async with aclosing(results):
        async for result in results:
            sent.append(result)
            yield Frame(None, "result", result).encode()
    yield Frame(None, "ended", {"results": len(sent), "open": _open(sent)}).encode()


def _open(results: Sequence[BatchResult]) -> int:
    """Return how many of the runs go on."""
    return sum(result["status"] == 202 for result in results)
