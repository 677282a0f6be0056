"""The tasks of an app, as the logs of their threads alone have them: one by its id, a page of them, and streams.

A stream goes on until its task is over or waits for a person.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from msgspec import Struct

from hosting.core.broadcast import LoggedEvent
from hosting.core.care import Care
from hosting.core.following import StreamTime
from hosting.core.stores.contract import MOST_POSITION
from hosting.core.thread.events import Accepted, ApprovalAnswered
from hosting.core.thread.head import Head
from hosting.core.thread.run import Run
from hosting.core.thread.thread_events import Deleting, MessagesPut
from hosting.core.turns import LargeReads
from hosting.errors import HostingError, InvalidFieldError, ShuttingDownError, UnknownRunError
from hosting.features.a2a import names
from hosting.features.a2a.fold import Payload, TaskContext, TaskFold, fold_tasks, puts_after
from hosting.features.a2a.objects import context_messages
from hosting.features.a2a.requests import Call, Listing
from hosting.http.json_rpc import envelope
from hosting.http.replies import Streamed, first_page
from hosting.http.request import HttpRequest
from hosting.http.verbs import NewestThreads, ThreadQuery
from hosting.http.wire import WireVerbs
from hosting.http.wire_replies import data_frames, framed, streamed
from hosting.http.wire_runs import run_events
from hosting.names import Address
from hosting.plan import AgentPlan

MOST_CONTEXTS = 50
"""Of so many of the newest threads the tasks are listed where no context is named."""


_EVENTS_BEFORE = 100
"""So many events before a task are read for messages that were put in."""


class Tasks(Struct, frozen=True, eq=False):
    """The tasks of an app; each read folds them anew."""

    verbs: WireVerbs
    care: Care
    newest_threads: NewestThreads
    large_reads: LargeReads

    async def find(self, request: HttpRequest, agent: str, task_id: str) -> TaskFold:
        """Return a task as it stands; raises `UnknownRunError` and `ThreadDeletedError`."""
        run_id, thread_id = names.read_task_id(task_id)
        address = Address.of(agent, thread_id, request.caller.owner)
        try:
            run = await self.verbs.runs.find(address, run_id, request.caller.client)
            return await self.of_run(run, await self.verbs.log.head(address))
        except UnknownRunError as error:
            raise UnknownRunError(f"There is no task {task_id[:80]!r}, or it is older than the log.") from error

    async def again(self, request: HttpRequest, fold: TaskFold) -> TaskFold:
        """Return a task as it stands now; raises as `find` does."""
        return await self.find(request, fold.address.agent, fold.id)

    async def begun(self, run: Run, history_length: int | None = None, head: Head | None = None) -> TaskFold:
        """Return the task that the run began, as it began, on the thread with that head or as this process knows it."""
        log, fold = self.verbs.log, TaskFold(run, history_length)
        head = head or log.remembered(run.address) or await log.head(run.address)
        puts: list[MessagesPut] = []
        after = max(head.trimmed, run.first - _EVENTS_BEFORE)
        if head.put and after < run.first - 1:  # most threads have none, and then nothing is read
            for _, event in await log.events(run.address, after, through=run.first - 1):
                puts = puts_after(puts, event)
        fold.context = TaskContext(head.metadata, context_messages(run.address, puts))
        return fold

    async def of_run(self, run: Run, head: Head | None = None) -> TaskFold:
        """Return the task that the run began, as the log has it; `head` as in `begun`."""
        fold = await self.begun(run, head=head)
        for logged in await run_events(self.verbs.log, run, "task", MOST_POSITION if run.requested_approvals else None):
            fold.next(logged)
        fold.expire(self.verbs.log.clocks.wall())
        return fold

    async def current_run(self, request: HttpRequest, fold: TaskFold) -> Run:
        """Return the run that the task is at, and promise its outcome."""
        return await self.verbs.runs.find(fold.address, fold.run_id, request.caller.client)

    async def listed(self, request: HttpRequest, agent: AgentPlan, listing: Listing) -> dict[str, Any]:
        """Return a page of tasks, the newest change first; raises `InvalidFieldError` for a token that is none."""
        owner, after = request.caller.owner, _read_page_token(listing.page_token)
        if listing.context_id is not None:
            addresses = [Address.of(agent.name, listing.context_id, owner)]
        else:
            page = await self.newest_threads(agent.name, ThreadQuery(MOST_CONTEXTS), request.caller)
            addresses = [address for address, _ in page.threads]
        async with self.large_reads.turn(owner):
            folds = [fold for address in addresses for fold in await self._of_thread(address)]
        matches = [
            fold
            for fold in sorted(folds, key=_order)
            if listing.state in (None, fold.state) and (listing.since is None or fold.since >= listing.since)
        ]
        rest = [fold for fold in matches if after is None or _order(fold) > after]
        shown = rest[: listing.page_size]
        tasks = first_page([fold.task(listing.history_length, with_artifacts=listing.with_artifacts) for fold in shown])
        token = _page_token(shown[len(tasks) - 1]) if len(tasks) < len(rest) else ""
        return {"tasks": tasks, "nextPageToken": token, "pageSize": listing.page_size, "totalSize": len(matches)}

    async def _of_thread(self, address: Address) -> list[TaskFold]:
        """Return the tasks of a thread that the log has; a thread that is not there, or is to go, has none."""
        head = await self.verbs.log.head(address)
        if head.state != "open":
            return []
        folds = fold_tasks(address, await self.verbs.log.events(address, head.trimmed, head), head.metadata)
        for fold in folds:
            fold.expire(self.verbs.log.clocks.wall())
        return folds

    def streamed(
        self, request: HttpRequest, fold: TaskFold, run: Run, call: Call, *first: Payload, stays: bool = False
    ) -> Streamed:
        """Return the stream of a task from `run` on, which begins with the payload `first`, if any.

        A reader that `stays` gets what follows a person's answer too.
        """

        def broken(error: HostingError) -> list[Payload]:
            return [{"error": names.error_object(error)}]

        def encoded(members: list[Payload]) -> bytes:
            return data_frames(envelope(call.id, **member) for member in members)

        results = self._results(request, fold, run, *first, stays=stays)
        return streamed(framed(f"task {fold.id}", results, broken, "Subscribe again.", encoded))

    async def _results(
        self, request: HttpRequest, fold: TaskFold, run: Run, *first: Payload, stays: bool
    ) -> AsyncGenerator[list[Payload], None]:
        """Yield the payloads, each as the result of a response."""
        time = self.verbs.following.stream_time()
        yield [{"result": payload} for payload in first]
        while True:
            async with aclosing(self.verbs.following.follow(run, request.caller.client, time=time)) as lists:
                async for updates in lists:
                    yield [{"result": payload} for update in updates for payload in fold.next(update)]
                    if fold.is_over:
                        return
            if not (stays and fold.waits):
                return
            async with aclosing(self._waited(fold, run.address, time)) as waited:
                async for payloads in waited:
                    yield [{"result": payload} for payload in payloads]
            if fold.is_over:
                return
            run = await self.current_run(request, fold)

    async def _waited(self, fold: TaskFold, address: Address, time: StreamTime) -> AsyncGenerator[list[Payload], None]:
        """Yield the updates until a person has answered or the time for that is over."""
        head, kinds = await self.verbs.log.head(address), (Accepted, ApprovalAnswered, Deleting)
        heads = self.care.heads(address, head, kinds, left=time.left)
        async with aclosing(heads):
            async for head in heads:
                events = await self.verbs.log.events(address, fold.position) if head.position > fold.position else []
                payloads = [
                    payload for position, event in events for payload in fold.next(LoggedEvent(position, event))
                ]
                payloads += fold.expire(self.verbs.log.clocks.wall())
                if head.state != "open":
                    raise UnknownRunError("The task was deleted with its context.")
                yield payloads
                if not fold.waits:
                    return
                if time.is_over:
                    raise ShuttingDownError("The function that sends this stream is about to end. Subscribe again.")


def _order(fold: TaskFold) -> tuple[float, str]:
    """Return the sort key of tasks: the newest change first."""
    return -fold.since, fold.id


def _page_token(fold: TaskFold) -> str:
    return f"{fold.since!r}~{fold.id}"


def _read_page_token(token: str) -> tuple[float, str] | None:
    """Return after which task a page begins, None for the first; raises `InvalidFieldError`."""
    if not token:
        return None
    since, _, identifier = token.partition("~")
    try:
        return -float(since), identifier
    except ValueError:
        raise InvalidFieldError(f"pageToken is {token[:80]!r}. Send the nextPageToken of the last page.") from None
