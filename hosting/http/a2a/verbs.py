"""What the protocol's methods do, by the verbs of the service.

A context is a thread, a task a run of it with the runs that go on with it after approvals. Both are read from the
thread's log alone.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any

from hosting.errors import HostingError, IdempotencyKeyReusedError, InternalError, InvalidFieldError, UnknownRunError
from hosting.http.a2a import names
from hosting.http.a2a.fold import CANCELS, Payload, TaskFold, fold_tasks
from hosting.http.a2a.names import TaskNotCancelableError, UnsupportedOperationError
from hosting.http.a2a.objects import agent_card, card_reply
from hosting.http.a2a.receivers import Receivers
from hosting.http.a2a.requests import Call, Listing, OfTask, Send, parse_rpc
from hosting.http.replies import Reply, Streamed
from hosting.http.route import Route
from hosting.http.streams import PING
from hosting.http.wire import WireRequest
from hosting.names import Address, check_thread_id, keyed_thread_id
from hosting.plan import AgentPlan, Plan
from hosting.ports import EntityClient
from hosting.request.contents import limits_of
from hosting.request.run_call import StartRun, Wait
from hosting.request.run_request import Decision, ResponseFormat, RunRequest
from hosting.service.broadcast import LoggedEvent
from hosting.service.following import QUIET_SECONDS
from hosting.service.overview import OverviewQuery
from hosting.service.runs import FIRST_POLL_SECONDS, SHORT_WAIT_SECONDS, next_pause
from hosting.service.services import Services
from hosting.stores.contract import MOST_POSITION
from hosting.thread.events import Event
from hosting.thread.run import Run
from hosting.webhooks import OF_TASK

logger = logging.getLogger(__name__)

CANCEL_SECONDS = 5.0
"""How long a cancel waits for the task's end."""

MOST_CONTEXTS = 50
"""Of so many of the newest threads the tasks are listed where no context is named."""

_Answer = Reply | Streamed
_Method = Callable[[WireRequest, AgentPlan, Call, Any], Awaitable[_Answer]]


class A2AWire:
    """The wire of one app."""

    function = names.FUNCTION
    path = names.PATH

    def __init__(self, plan: Plan, services: Services) -> None:
        self._plan = plan
        self._services = services
        self._settings = services.settings
        self._runs = services.runs
        self._methods: dict[str, _Method] = {
            "SendMessage": self._send,
            "SendStreamingMessage": self._send,
            "GetTask": self._read,
            "ListTasks": self._list,
            "CancelTask": self._cancel,
            "SubscribeToTask": self._subscribe,
        }
        self._receivers: Receivers | None = None
        if services.webhooks is not None:
            self._receivers = Receivers(services, services.webhooks, self._find)
            self._methods |= self._receivers.methods

    def route_of(self, method: str, path: str) -> Route:
        """Return the route; see `names.route_of`."""
        return names.route_of(method, path)

    def refusal(self, error: HostingError) -> Reply:
        """Return an error in the protocol's shape, for a request that could not be read."""
        return names.error_reply(error)

    async def reply(self, request: WireRequest, path: str) -> _Answer:
        """Return the answer of a request; what refuses one that could be read is an answer to it."""
        agent = self._plan.served(path.partition("/")[0])
        limits = limits_of(agent.agent, self._settings)
        if request.route is names.CARD:
            pushes = self._receivers is not None
            return card_reply(agent_card(agent, self._plan, limits.inputs, request.base_url, pushes=pushes))
        call = await request.parsed(lambda raw: parse_rpc(raw, limits))
        try:
            if isinstance(call.wanted, HostingError):
                raise call.wanted
            return await self._methods[call.method](request, agent, call, call.wanted)
        except HostingError as error:
            return names.error_reply(error, call.id)

    async def _send(self, request: WireRequest, agent: AgentPlan, call: Call, wanted: Send) -> _Answer:
        streams, client = call.method == "SendStreamingMessage", request.client
        wait = Wait(answer=streams or wanted.waits)
        if wanted.task_id is None:
            run = await self._start(request, agent, wanted, wait, streams=streams)
            if wanted.push is not None and self._receivers is not None:
                await self._receivers.keep(request, agent, await self._fold(run), wanted.push)
            if streams:
                return self._streamed(TaskFold(run.address, history_length=wanted.history_length), run, client, call)
            fold = await self._fold(await self._runs.wait_as(wait, run, client))
            return names.result_reply(call.id, {"task": fold.task(wanted.history_length)})
        fold, address = await self._find(request, agent, wanted.task_id)
        if wanted.push is not None and self._receivers is not None:
            await self._receivers.keep(request, agent, fold, wanted.push)
        await self._decide(request, fold, address, wanted, wait, streams=streams)
        fold, _ = await self._find(request, agent, wanted.task_id)
        run = await self._current(fold, address, client)
        if streams:
            fold.history_length = wanted.history_length
            return self._streamed(fold, run, client, call, fold.snapshot())
        await self._runs.wait_as(wait, run, client)
        fold, _ = await self._find(request, agent, wanted.task_id)
        return names.result_reply(call.id, {"task": fold.task(wanted.history_length)})

    async def _start(self, request: WireRequest, agent: AgentPlan, wanted: Send, wait: Wait, *, streams: bool) -> Run:
        """Start the run of a message, or find the one that it began.

        A message without a context begins the one that it and its id name, in every process: some clients use an id for
        several messages. The id alone is the key there, so it is the same task for who has learnt the context since.
        """
        assert wanted.message is not None
        owner = request.caller.owner
        if wanted.context_id is not None:
            check_thread_id(wanted.context_id, agent.name, owner)
        start = StartRun(
            RunRequest(
                **wanted.message.model_dump(),
                response_format=ResponseFormat() if wanted.wants_json else None,
                webhook=None if self._receivers is None else OF_TASK,
            ),
            wanted.context_id or keyed_thread_id(agent.name, owner, wanted.text_of_both),
            wait,
            "events" if streams else "json",
            wanted.message_id,
            wanted.traceparent,
            streams=streams or not wanted.waits,
            wire={names.PATH: wanted.kept},
        )
        try:
            return (await self._runs.start(agent.name, start, request.client, request.caller)).run
        except IdempotencyKeyReusedError:
            raise IdempotencyKeyReusedError(
                "message.messageId was used for another message of this context. Send another id."
            ) from None

    async def _decide(
        self, request: WireRequest, fold: TaskFold, address: Address, wanted: Send, wait: Wait, *, streams: bool
    ) -> None:
        """Record what a message decides of all that the task waits for: a run goes on then.

        A message that the task has already changes nothing.
        """
        assert wanted.answer is not None
        if wanted.context_id not in (None, fold.context_id):
            raise InvalidFieldError(f"message.contextId is not the task's. Send {fold.context_id!r}, or leave it out.")
        if fold.knows(wanted.message_id, wanted.kept["parts"]):
            return
        if not fold.waits:
            raise UnsupportedOperationError(
                f"The task {'is over' if fold.is_over else 'is at work'} and takes no message. Send it with contextId "
                "and without taskId: it is a new task."
            )
        decisions = [wanted.answer.on(approval.id) for approval in fold.undecided]
        missing = [one.tool for one, decision in zip(fold.undecided, decisions, strict=True) if decision is None]
        if missing:
            raise InvalidFieldError(f"The answer on {', '.join(missing)} is missing. Send all answers together.")
        waits = self._runs.wait_seconds(wait, "events" if streams else "json") > SHORT_WAIT_SECONDS
        given = [decision for decision in decisions if decision is not None]
        await self._answer(request, address, given, wanted.kept, waits=waits, streamed=streams or not wanted.waits)

    async def _answer(
        self,
        request: WireRequest,
        address: Address,
        decisions: list[Decision],
        kept: Mapping[str, Any],
        *,
        waits: bool,
        streamed: bool,
    ) -> Run:
        """Record the decisions, and return the run that goes on."""
        resumed, wire = None, {names.PATH: kept}
        for decision in decisions:
            answered = await self._services.approvals.answer(
                address,
                decision,
                request.client,
                request.caller,
                waits=waits,
                streamed=streamed,
                wire=wire,
                gives_up=bool(kept.get(CANCELS)),
            )
            resumed = answered.resumed or resumed
        if resumed is None:
            raise UnsupportedOperationError("The task has changed meanwhile. Read it with GetTask.")
        return resumed

    async def _read(self, request: WireRequest, agent: AgentPlan, call: Call, wanted: OfTask) -> Reply:
        fold, _ = await self._find(request, agent, wanted.task_id)
        return names.result_reply(call.id, fold.task(wanted.history_length))

    async def _cancel(self, request: WireRequest, agent: AgentPlan, call: Call, wanted: OfTask) -> Reply:
        fold, address = await self._find(request, agent, wanted.task_id)
        if fold.is_over:
            raise TaskNotCancelableError("The task is over. Read it with GetTask.")
        run_id = _run_id(fold)
        if fold.waits:
            refused = [Decision(id=one.id, approved=False, reason="The task was canceled.") for one in fold.undecided]
            kept = {CANCELS: True}
            run_id = (await self._answer(request, address, refused, kept, waits=False, streamed=False)).run_id
        run = await self._runs.cancel(address, run_id, request.client)
        seconds = min(CANCEL_SECONDS, self._settings.wait_seconds)
        await self._runs.wait(run, request.client, seconds, takes=False)
        fold, _ = await self._find(request, agent, wanted.task_id)
        return names.result_reply(call.id, fold.task())

    async def _subscribe(self, request: WireRequest, agent: AgentPlan, call: Call, wanted: OfTask) -> Streamed:
        fold, address = await self._find(request, agent, wanted.task_id)
        if fold.is_over:
            raise UnsupportedOperationError("The task is over: nothing follows. Read it with GetTask.")
        first = fold.snapshot()
        run = await self._current(fold, address, request.client)
        return self._streamed(fold, run, request.client, call, first, stays=True)

    async def _list(self, request: WireRequest, agent: AgentPlan, call: Call, wanted: Listing) -> Reply:
        owner, after = request.caller.owner, _read_page_token(wanted.page_token)
        if wanted.context_id is not None:
            addresses = [Address.of(agent.name, wanted.context_id, owner)]
        else:
            newest = OverviewQuery(MOST_CONTEXTS)
            page = await self._services.overview.newest(agent.name, owner, newest, request.client)
            addresses = [address for address, _ in page.threads]
        folds = [fold for address in addresses for fold in await self._tasks_of(address)]
        found = [
            fold
            for fold in sorted(folds, key=_order)
            if wanted.state in (None, fold.state) and (wanted.since is None or fold.since >= wanted.since)
        ]
        rest = [fold for fold in found if after is None or _order(fold) > after]
        shown = rest[: wanted.page_size]
        tasks = [fold.task(wanted.history_length, with_artifacts=wanted.with_artifacts) for fold in shown]
        token = _page_token(shown[-1]) if len(shown) < len(rest) else ""
        listed = {"tasks": tasks, "nextPageToken": token, "pageSize": wanted.page_size, "totalSize": len(found)}
        return names.result_reply(call.id, listed)

    async def _tasks_of(self, address: Address) -> list[TaskFold]:
        """Return the tasks of a thread that the log has; a thread that is not there, or is to go, has none."""
        head = await self._services.log.head(address)
        if head.state != "open":
            return []
        folds = fold_tasks(address, await self._services.log.events(address, head.trimmed, head))
        for fold in folds:
            fold.expire(self._services.log.clocks.wall())
        return folds

    async def _find(self, request: WireRequest, agent: AgentPlan, task_id: str) -> tuple[TaskFold, Address]:
        """Return a task as it stands, and its thread; raises `UnknownRunError` and `ThreadDeletedError`."""
        run_id, thread_id = names.read_task_id(task_id)
        address = Address.of(agent.name, thread_id, request.caller.owner)
        try:
            return await self._fold(await self._runs.find(address, run_id, request.client)), address
        except UnknownRunError as error:
            raise UnknownRunError(f"There is no task {task_id[:80]!r}, or it is older than the log.") from error

    async def _fold(self, run: Run) -> TaskFold:
        """Return the task that the run began, as the log has it."""
        fold = TaskFold(run.address)
        is_alone = run.is_over and not run.requested_approvals
        through = run.end if is_alone else MOST_POSITION
        for position, event in await self._services.log.events(run.address, run.first - 1, through=through):
            fold.next(LoggedEvent(position, event))
        if fold.run is None or fold.id != names.task_id(run.run_id, run.accepted.thread_id):
            raise UnknownRunError("There is no such task any more.")
        fold.expire(self._services.log.clocks.wall())
        return fold

    async def _current(self, fold: TaskFold, address: Address, client: EntityClient) -> Run:
        """Return the run that the task is at, and promise its outcome."""
        return await self._runs.find(address, _run_id(fold), client)

    def _streamed(
        self,
        fold: TaskFold,
        run: Run,
        client: EntityClient,
        call: Call,
        first: Payload | None = None,
        *,
        stays: bool = False,
    ) -> Streamed:
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
                    yield _frame(call, payloads) or PING
        except HostingError as error:
            yield _broken(call, error)
        except Exception:
            logger.exception("The stream of task %s failed.", fold.id)
            yield _broken(call, InternalError("The stream broke off; the cause is in the app's log. Subscribe again."))

    async def _payloads(
        self, fold: TaskFold, run: Run, client: EntityClient, *, stays: bool
    ) -> AsyncGenerator[list[Payload], None]:
        while True:
            async with aclosing(self._services.following.follow(run, client)) as lists:
                async for updates in lists:
                    payloads = [payload for update in updates for payload in fold.next(update)]
                    if payloads or not updates:
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
            run = await self._current(fold, run.address, client)

    async def _waited(self, fold: TaskFold, address: Address) -> AsyncGenerator[list[Payload], None]:
        """Yield what comes until a person has answered or the time for that is over; an empty list per quiet time."""
        clock = asyncio.get_running_loop().time
        pause, sent_at = FIRST_POLL_SECONDS, clock()
        while fold.waits:
            head = await self._services.log.head(address)
            events: list[tuple[int, Event]] = []
            if head.position > fold.position:
                events = await self._services.log.events(address, fold.position)
            payloads = [payload for position, event in events for payload in fold.next(LoggedEvent(position, event))]
            payloads += fold.expire(self._services.log.clocks.wall())
            if head.state != "open":
                raise UnknownRunError("The task was deleted with its context.")
            if payloads or clock() - sent_at >= QUIET_SECONDS:
                yield payloads
                sent_at = clock()
            elif fold.waits:
                await asyncio.sleep(pause)
                pause = next_pause(pause)


def _run_id(fold: TaskFold) -> str:
    assert fold.run is not None
    return fold.run.run_id


def _order(fold: TaskFold) -> tuple[float, str]:
    """Return by what tasks are sorted: the newest change first."""
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
        raise InvalidFieldError(f"pageToken is {token[:80]!r}. Send the nextPageToken of the page before.") from None


def _frame(call: Call, payloads: list[Payload]) -> bytes:
    return "".join(f"data: {names.envelope(call.id, result=payload)}\n\n" for payload in payloads).encode()


def _broken(call: Call, error: HostingError) -> bytes:
    return f"data: {names.envelope(call.id, error=names.error_object(error))}\n\n".encode()
