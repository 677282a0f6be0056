"""The protocol's operations, by the verbs of the service."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from hosting.core.thread.events import Joined
from hosting.core.thread.run import Run
from hosting.core.threads import Threads
from hosting.errors import HostingError, RunError
from hosting.features.chat_completions import names
from hosting.features.chat_completions.fold import ChatFold, Chunk, completion
from hosting.features.chat_completions.requests import Completion, parse_completion
from hosting.http.replies import Reply, Streamed, json_reply, run_headers
from hosting.http.request import HttpRequest
from hosting.http.run_call import ignored_headers
from hosting.http.wire import WireVerbs
from hosting.http.wire_calls import answer_id
from hosting.http.wire_openai import (
    NotServedError,
    find_agent,
    model_object,
    models_object,
    openai_error,
    openai_refusal,
)
from hosting.http.wire_replies import framed, streamed
from hosting.http.wire_requests import path_parts
from hosting.http.wire_runs import Answers, forget, record_answers
from hosting.names import Address

_LAST = b"data: [DONE]\n\n"


class StillRunningError(RunError, code="still_running", status=504):
    """The run goes on, and the request may not wait for it any longer."""


class ChatVerbs:
    """The operations of an app's Chat Completions wire."""

    def __init__(self, verbs: WireVerbs, threads: Threads) -> None:
        self._wire = verbs
        self._threads = threads

    async def reply(self, request: HttpRequest, path: str) -> Reply | Streamed:
        """Return the answer of an operation; raises the errors of the service and `NotServedError`."""
        route, plan = request.route, self._wire.plan
        if route in names.NOT_SERVED:
            raise NotServedError(names.NOT_SERVED[route])
        if route is names.MODELS:
            return json_reply(200, models_object(plan))
        if route is names.MODEL:
            return json_reply(200, model_object(find_agent(plan, (path_parts(route, path) or {}).get("id"))))
        return await self._create(request)

    async def _create(self, request: HttpRequest) -> Reply | Streamed:
        wire, caller = self._wire, request.caller
        create = await request.parsed(lambda raw: parse_completion(raw, wire.plan, wire.settings, caller.owner))
        run = await (self._go_on(request, create) if create.results else self._start(request, create))
        headers = run_headers(run) if create.start.thread_id else {"x-ms-run-id": run.run_id}
        headers |= ignored_headers(create.ignored)
        if create.streams:
            return self._streamed(request, create, run, headers)
        run = await wire.runs.wait_as(create.start.wait, run, caller.client)
        await self._forget(create, run, request)
        try:
            if run.end is None:
                raise StillRunningError(
                    f"The run takes longer than the {wire.settings.wait_seconds:g} s of a request. Send 'stream', or "
                    "an Idempotency-Key, with which the same request finds the same run."
                )
            shows = create.agent.options.shows_thoughts
            body = completion(create.agent.name, run, create.ignored, shows_thoughts=shows)
            return json_reply(200, body, headers)
        except RunError as error:
            return openai_refusal(error, is_vain=not create.is_repeatable)

    async def _start(self, request: HttpRequest, create: Completion) -> Run:
        return (await self._wire.runs.start(create.agent.name, create.start, request.caller)).run

    async def _go_on(self, request: HttpRequest, create: Completion) -> Run:
        """Record the results, which must be of all calls that the thread waits for, and return the run that goes on.

        A thread that waits for them no more has that run, or refuses them.
        """
        start, results = create.start, create.results
        address = Address.of(create.agent.name, results[0].thread_id, request.caller.owner)
        waiting = await self._wire.approvals.waiting(address)
        places = {result.decision.id: result.where for result in results}
        calls = {} if waiting is None else {approval.id: approval.tool for approval in waiting.requested_approvals}
        if waiting is not None and places.keys() & calls.keys():
            if unknown := [where for approval_id, where in places.items() if approval_id not in calls]:
                raise NotServedError(f"{unknown[0]} is the result of no call that is open.", "messages")
            if missing := [approval for approval in waiting.undecided if approval.id not in places]:
                call = f"{missing[0].tool} ({answer_id(missing[0].id, waiting)})"
                raise NotServedError(f"The result of {call} is missing. Send all results together.", "messages")
        answers = Answers([result.decision for result in results], start.wait, start.streams, places=places)
        unfinished = NotServedError("These results are recorded; the thread waits for others. Send those.", "messages")
        _, resumed = await record_answers(self._wire, request, address, answers, unfinished)
        return resumed

    async def _forget(self, create: Completion, run: Run, request: HttpRequest) -> None:
        """Delete the thread of a request that nobody repeats: another one may come again for the same answer."""
        if not create.is_repeatable:
            await forget(self._threads, run, request.caller.client)

    def _streamed(self, request: HttpRequest, create: Completion, run: Run, headers: Mapping[str, str]) -> Streamed:
        """Return the chunks up to the run's end, text as it comes; those of the run that it joined, if it did."""
        wire, client = self._wire, request.caller.client

        async def batches() -> AsyncGenerator[list[Chunk], None]:
            fold = ChatFold(create.agent.name, run, names_causes=wire.names_causes, counts_usage=create.counts_usage)
            try:
                while True:
                    async with aclosing(wire.following.follow(fold.run, client)) as lists:
                        async for updates in lists:
                            for update in updates:
                                fold.next(update)
                            yield fold.chunks()
                    if not isinstance(fold.run.end, Joined):
                        break
                    fold = fold.answered_by(await wire.runs.find(run.address, fold.run.end.into, client))
            except HostingError:
                await self._forget(create, fold.run, request)
                raise
            await self._forget(create, fold.run, request)

        def broken(error: HostingError) -> list[Chunk]:
            return [{"error": openai_error(error)}]

        frames = framed(f"run {run.run_id}", batches(), broken, "Send the request again.")
        return streamed(_ended(frames), headers)


async def _ended(frames: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """Yield the frames, and the one by which the protocol's clients know that the stream is whole."""
    async with aclosing(frames):
        async for frame in frames:
            yield frame
    yield _LAST
