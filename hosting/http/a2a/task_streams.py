"""The streams of tasks, each until its task is over or waits for a person."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing

from hosting.core.broadcast import LoggedEvent
from hosting.core.services import Services
from hosting.core.thread.events import Accepted, ApprovalAnswered, Deleting
from hosting.core.thread.run import Run
from hosting.errors import HostingError, InternalError, ShuttingDownError, UnknownRunError
from hosting.http.a2a import names
from hosting.http.a2a.fold import Payload, TaskFold
from hosting.http.a2a.requests import Call
from hosting.http.a2a.tasks import Tasks
from hosting.http.replies import Streamed
from hosting.names import Address
from hosting.ports import EntityClient

logger = logging.getLogger(__name__)


class TaskStreams:
    """The streams of an app's tasks."""

    def __init__(self, services: Services, tasks: Tasks) -> None:
        self._services = services
        self._tasks = tasks

    def reply(
        self,
        fold: TaskFold,
        run: Run,
        client: EntityClient,
        call: Call,
        first: Payload | None = None,
        *,
        stays: bool = False,
    ) -> Streamed:
        """Return the stream of a task from `run` on, which begins with the payload `first`, if any.

        A reader that `stays` gets what follows a person's answer too.
        """
        frames = self._frames(fold, run, client, call, first, stays=stays)
        return Streamed(frames, {"x-accel-buffering": "no"})

    async def _frames(
        self, fold: TaskFold, run: Run, client: EntityClient, call: Call, first: Payload | None, *, stays: bool
    ) -> AsyncGenerator[bytes, None]:
        """Yield the task's events, deltas as they come, until it is over or waits for a person.

        A reader that `stays` gets what follows the person's answer too.
        """
        try:
            if first is not None:
                yield _frame(call, [first])
            async with aclosing(self._payloads(fold, run, client, stays=stays)) as lists:
                async for payloads in lists:
                    yield _frame(call, payloads)
        except HostingError as error:
            yield _broken(call, error)
        except Exception:
            logger.exception("The stream of task %s failed.", fold.id)
            yield _broken(call, InternalError("The stream broke off. The app's log has the cause. Subscribe again."))

    async def _payloads(
        self, fold: TaskFold, run: Run, client: EntityClient, *, stays: bool
    ) -> AsyncGenerator[list[Payload], None]:
        while True:
            async with aclosing(self._services.following.follow(run, client)) as lists:
                async for updates in lists:
                    payloads = [payload for update in updates for payload in fold.next(update)]
                    if payloads:
                        yield payloads
                    if fold.is_over:
                        return
            if not (stays and fold.waits):
                return
            async with aclosing(self._waited(fold, run.address)) as waited:
                async for payloads in waited:
                    yield payloads
            if fold.is_over:
                return
            run = await self._tasks.current_run(fold, client)

    async def _waited(self, fold: TaskFold, address: Address) -> AsyncGenerator[list[Payload], None]:
        """Yield the updates until a person has answered or the time for that is over."""
        services = self._services
        heads = services.care.heads(address, await services.log.head(address), (Accepted, ApprovalAnswered, Deleting))
        async with aclosing(heads):
            async for head in heads:
                events = await services.log.events(address, fold.position) if head.position > fold.position else []
                payloads = [
                    payload for position, event in events for payload in fold.next(LoggedEvent(position, event))
                ]
                payloads += fold.expire(services.log.clocks.wall())
                if head.state != "open":
                    raise UnknownRunError("The task was deleted with its context.")
                if payloads:
                    yield payloads
                if not fold.waits:
                    return
                if services.holders.draining.is_set():
                    raise ShuttingDownError("The process that sends this stream is about to end. Subscribe again.")


def _frame(call: Call, payloads: list[Payload]) -> bytes:
    return "".join(f"data: {names.envelope(call.id, result=payload)}\n\n" for payload in payloads).encode()


def _broken(call: Call, error: HostingError) -> bytes:
    return f"data: {names.envelope(call.id, error=names.error_object(error))}\n\n".encode()
