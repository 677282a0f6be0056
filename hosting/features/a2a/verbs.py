"""The protocol's methods, by the verbs of the service.

A context is a thread, a task a run of it with the runs that go on with it after approvals.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Any

from hosting.core.request.contents import limits_of
from hosting.core.runs import PROTOCOL_WAIT_SECONDS, SHORT_WAIT_SECONDS
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import OF_TASK, Answering, Decision, ResponseFormat, RunRequest, StartRun
from hosting.errors import HostingError, IdempotencyKeyReusedError, InvalidFieldError
from hosting.features.a2a import names
from hosting.features.a2a.fold import CANCELS, TaskFold
from hosting.features.a2a.names import TaskNotCancelableError, UnsupportedOperationError
from hosting.features.a2a.objects import agent_card, card_reply
from hosting.features.a2a.receivers import Receivers
from hosting.features.a2a.requests import Call, Listing, OfTask, Send, parse_a2a_call
from hosting.features.a2a.tasks import Tasks
from hosting.http.json_rpc import result_reply
from hosting.http.replies import Reply, Streamed
from hosting.http.request import HttpRequest
from hosting.http.wire import WireVerbs
from hosting.http.wire_runs import CANCEL_SECONDS, answer_all
from hosting.names import Address, check_thread_id, keyed_thread_id
from hosting.plan import AgentPlan
from hosting.ports import Wait

_Answer = Reply | Streamed
_Method = Callable[[HttpRequest, AgentPlan, Call, Any], Awaitable[_Answer]]


class A2AVerbs:
    """The methods of an app's A2A wire."""

    def __init__(self, verbs: WireVerbs, tasks: Tasks, receivers: Receivers | None) -> None:
        """Without `receivers` the app notifies nobody of a task."""
        self._plan, self._settings = verbs.plan, verbs.settings
        self._runs, self._approvals = verbs.runs, verbs.approvals
        self._tasks, self._receivers = tasks, receivers
        self._methods: dict[str, _Method] = {
            "SendMessage": self._send,
            "SendStreamingMessage": self._send,
            "GetTask": self._read,
            "ListTasks": self._list,
            "CancelTask": self._cancel,
            "SubscribeToTask": self._subscribe,
        }
        if receivers is not None:
            self._methods |= receivers.methods

    async def reply(self, request: HttpRequest, path: str) -> _Answer:
        """Return the response of a request; a refusal of a readable request is a response too."""
        agent = self._plan.served(path.partition("/")[0])
        limits = limits_of(agent, self._settings)
        if request.route is names.CARD:
            pushes = self._receivers is not None
            return card_reply(agent_card(agent, self._plan, limits.inputs, request.base_url, pushes=pushes))
        call = await request.parsed(lambda raw: parse_a2a_call(raw, limits))
        try:
            if isinstance(call.wanted, HostingError):
                raise call.wanted
            return await self._methods[call.method](request, agent, call, call.wanted)
        except HostingError as error:
            return names.a2a_refusal(error, call.id)

    async def _send(self, request: HttpRequest, agent: AgentPlan, call: Call, wanted: Send) -> _Answer:
        streams = call.method == "SendStreamingMessage"
        wait = Wait(math.inf if streams else PROTOCOL_WAIT_SECONDS, answer=streams or wanted.waits)
        if wanted.task_id is None:
            run = await self._start(request, agent, wanted, wait, streams=streams)
            if wanted.push is not None and self._receivers is not None:
                await self._receivers.keep(request, agent, await self._tasks.of_run(run), wanted.push)
            if streams:
                fold = TaskFold(run, wanted.history_length)
                return self._tasks.streamed(request, fold, run, call)
            fold = await self._tasks.of_run(await self._runs.wait_as(wait, run, request.caller.client))
            return result_reply(call.id, {"task": fold.task(wanted.history_length)})
        fold = await self._tasks.find(request, agent, wanted.task_id)
        if wanted.push is not None and self._receivers is not None:
            await self._receivers.keep(request, agent, fold, wanted.push)
        await self._decide(request, fold, wanted, wait, streams=streams)
        fold = await self._tasks.find(request, agent, wanted.task_id)
        run = await self._tasks.current_run(request, fold)
        if streams:
            fold.history_length = wanted.history_length
            return self._tasks.streamed(request, fold, run, call, fold.snapshot())
        await self._runs.wait_as(wait, run, request.caller.client)
        fold = await self._tasks.find(request, agent, wanted.task_id)
        return result_reply(call.id, {"task": fold.task(wanted.history_length)})

    async def _start(self, request: HttpRequest, agent: AgentPlan, wanted: Send, wait: Wait, *, streams: bool) -> Run:
        """Start the run of a message, or return the run that the message started before.

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
            wanted.message_id,
            wanted.traceparent,
            streams=streams or not wanted.waits,
            wire={names.PATH: wanted.kept},
            busy=agent.options.busy,
        )
        try:
            return (await self._runs.start(agent.name, start, request.caller)).run
        except IdempotencyKeyReusedError:
            raise IdempotencyKeyReusedError(
                "message.messageId was used for another message of this context. Send a new id."
            ) from None

    async def _decide(self, request: HttpRequest, fold: TaskFold, wanted: Send, wait: Wait, *, streams: bool) -> None:
        """Record a message's decisions on all waiting calls of the task, so that its run continues.

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
        waits = self._runs.wait_seconds(wait) > SHORT_WAIT_SECONDS
        wire, streamed = {names.PATH: wanted.kept}, streams or not wanted.waits
        answers = [
            Answering(decision, request.caller, waits=waits, streamed=streamed, wire=wire)
            for decision in decisions
            if decision is not None
        ]
        await self._answer(request, fold.address, answers)

    async def _answer(self, request: HttpRequest, address: Address, answers: list[Answering]) -> Run:
        """Record the answers, and return the run that goes on."""
        last = await answer_all(self._approvals, address, answers)
        if last is None or last.resumed is None:
            raise UnsupportedOperationError("The task has changed. Read it with GetTask.")
        return last.resumed

    async def _read(self, request: HttpRequest, agent: AgentPlan, call: Call, wanted: OfTask) -> Reply:
        fold = await self._tasks.find(request, agent, wanted.task_id)
        return result_reply(call.id, fold.task(wanted.history_length))

    async def _cancel(self, request: HttpRequest, agent: AgentPlan, call: Call, wanted: OfTask) -> Reply:
        fold = await self._tasks.find(request, agent, wanted.task_id)
        if fold.is_over:
            raise TaskNotCancelableError("The task is over. Read it with GetTask.")
        run_id = fold.run_id
        if fold.waits:
            refused = [Decision(id=one.id, approved=False, reason="The task was canceled.") for one in fold.undecided]
            wire = {names.PATH: {CANCELS: True}}
            answers = [
                Answering(decision, request.caller, waits=False, wire=wire, gives_up=True) for decision in refused
            ]
            run_id = (await self._answer(request, fold.address, answers)).run_id
        run = await self._runs.cancel(fold.address, run_id, request.caller.client)
        seconds = min(CANCEL_SECONDS, self._settings.wait_seconds)
        await self._runs.wait(run, request.caller.client, seconds, takes=False)
        fold = await self._tasks.find(request, agent, wanted.task_id)
        return result_reply(call.id, fold.task())

    async def _subscribe(self, request: HttpRequest, agent: AgentPlan, call: Call, wanted: OfTask) -> Streamed:
        fold = await self._tasks.find(request, agent, wanted.task_id)
        if fold.is_over:
            raise UnsupportedOperationError("The task is over and sends nothing more. Read it with GetTask.")
        run = await self._tasks.current_run(request, fold)
        return self._tasks.streamed(request, fold, run, call, fold.snapshot(), stays=True)

    async def _list(self, request: HttpRequest, agent: AgentPlan, call: Call, wanted: Listing) -> Reply:
        return result_reply(call.id, await self._tasks.listed(request, agent, wanted))
