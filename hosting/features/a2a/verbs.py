"""The protocol's methods, by the verbs of the service.

A context is a thread, a task a run of it with the runs that go on with it after approvals. A task's receivers, for
which the protocol has push notifications, are notified as webhooks are.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from hosting.core.request.contents import limits_of
from hosting.core.thread.run import Ended, Run
from hosting.core.thread.run_request import OF_TASK, Decision, ResponseFormat, RunRequest, StartRun
from hosting.errors import HostingError, IdempotencyKeyReusedError, InvalidFieldError, UnknownRunError
from hosting.features.a2a import names
from hosting.features.a2a.fold import CANCELS, TaskFold, task_update
from hosting.features.a2a.names import TaskNotCancelableError, UnsupportedOperationError
from hosting.features.a2a.objects import agent_card, card_reply, receiver_object
from hosting.features.a2a.requests import Call, Listing, OfTask, Send, parse_a2a_call
from hosting.features.a2a.tasks import Tasks
from hosting.http.json_rpc import result_reply
from hosting.http.replies import Reply, Streamed
from hosting.http.request import HttpRequest
from hosting.http.verbs import NotifiesReceivers, Receiver
from hosting.http.wire import WireVerbs
from hosting.http.wire_replies import with_ignored
from hosting.http.wire_runs import Answers, cancel, record_answers
from hosting.metadata import fitting_members
from hosting.names import check_thread_id, keyed_thread_id
from hosting.plan import AgentPlan
from hosting.ports import Wait

_Result = dict[str, Any] | Streamed


class A2AVerbs:
    """The methods of an app's A2A wire."""

    def __init__(self, verbs: WireVerbs, tasks: Tasks, receivers: NotifiesReceivers | None) -> None:
        """Without `receivers` the app notifies nobody of a task."""
        self._wire, self._runs, self._tasks = verbs, verbs.runs, tasks
        self._receivers = receivers
        if receivers is not None:
            receivers.update_of = task_update
        self._methods: dict[str, Callable[[HttpRequest, Call, TaskFold, Any], Awaitable[_Result]]] = {
            "SendMessage": self._answer,
            "SendStreamingMessage": self._answer,
            "GetTask": self._read,
            "CancelTask": self._cancel,
            "SubscribeToTask": self._subscribe,
            "CreateTaskPushNotificationConfig": self._create_receiver,
            "GetTaskPushNotificationConfig": self._read_receiver,
            "ListTaskPushNotificationConfigs": self._list_receivers,
            "DeleteTaskPushNotificationConfig": self._delete_receiver,
        }

    async def reply(self, request: HttpRequest, path: str) -> Reply | Streamed:
        """Return the response of a request; a refusal of a readable request is a response too."""
        plan = self._wire.plan
        agent = plan.served(path.partition("/")[0])
        limits = limits_of(agent, self._wire.settings)
        if request.route is names.CARD:
            pushes = self._receivers is not None
            return card_reply(agent_card(agent, plan, limits.inputs, request.base_url, pushes=pushes))
        call = await request.parsed(lambda raw: parse_a2a_call(raw, limits, self._receivers))
        try:
            result = await self._result(request, agent, call)
        except HostingError as error:
            return names.a2a_refusal(error, call.id)
        answer: Reply | Streamed = result if isinstance(result, Streamed) else result_reply(call.id, result)
        return with_ignored(answer, call.params.chosen.ignored if isinstance(call.params, Send) else ())

    async def _result(self, request: HttpRequest, agent: AgentPlan, call: Call) -> _Result:
        match call.params:
            case HostingError() as refusal:
                raise refusal
            case Listing() as listing:
                return await self._tasks.listed(request, agent, listing)
            case Send(task_id="") as sent:
                return await self._begin(request, agent, call, sent)
            case params:
                fold = await self._tasks.find(request, agent.name, params.task_id)
                return await self._methods[call.method](request, call, fold, params)

    async def _begin(self, request: HttpRequest, agent: AgentPlan, call: Call, sent: Send) -> _Result:
        """Begin a task by a message, or find the task that the message began."""
        run = await self._start(request, agent, sent)
        if sent.receiver is not None:
            await self._keep(request, await self._tasks.of_run(run), sent.receiver)
        if sent.streams:
            return self._tasks.streamed(request, await self._tasks.begun(run, sent.history_length), run, call)
        fold = await self._tasks.of_run(await self._runs.wait_as(sent.wait, run, request.caller.client))
        return {"task": fold.task(sent.history_length)}

    async def _answer(self, request: HttpRequest, call: Call, fold: TaskFold, sent: Send) -> _Result:
        """Answer the calls that a task waits for by a message to it."""
        if sent.receiver is not None:
            await self._keep(request, fold, sent.receiver)
        await self._decide(request, fold, sent)
        fold = await self._tasks.again(request, fold)
        run = await self._tasks.current_run(request, fold)
        if sent.streams:
            fold.history_length = sent.history_length
            return self._tasks.streamed(request, fold, run, call, fold.snapshot())
        await self._runs.wait_as(sent.wait, run, request.caller.client)
        fold = await self._tasks.again(request, fold)
        return {"task": fold.task(sent.history_length)}

    async def _start(self, request: HttpRequest, agent: AgentPlan, sent: Send) -> Run:
        """Start the run of a message, or return the run that the message started before.

        A message without a context begins the one that it and its id name, in every process: some clients use an id for
        several messages. The id alone is the key there, so it is the same task for who has learnt the context since.
        """
        assert sent.message is not None
        owner = request.caller.owner
        if sent.context_id is not None:
            check_thread_id(sent.context_id, agent.name, owner)
        start = StartRun(
            RunRequest(
                **{**sent.message.model_dump(), **sent.chosen.members},
                response_format=ResponseFormat() if sent.wants_json else None,
                webhook=None if self._receivers is None else OF_TASK,
                metadata=fitting_members(sent.kept.get("metadata") or {}),
                thread_metadata=sent.thread_metadata,
            ),
            sent.context_id or keyed_thread_id(agent.name, owner, sent.text_of_both),
            sent.wait,
            sent.message_id,
            sent.traceparent,
            streams=sent.is_followed,
            wire={names.PATH: sent.kept},
            busy=agent.options.busy,
            whatever_metadata=True,
        )
        try:
            return (await self._runs.start(agent.name, start, request.caller)).run
        except IdempotencyKeyReusedError:
            raise IdempotencyKeyReusedError(
                "message.messageId was used for another message of this context. Send a new id."
            ) from None

    async def _decide(self, request: HttpRequest, fold: TaskFold, sent: Send) -> None:
        """Record a message's decisions on all waiting calls of the task, so that its run continues.

        A message that the task has already changes nothing.
        """
        assert sent.answer is not None
        if sent.context_id not in (None, fold.context_id):
            raise InvalidFieldError(f"message.contextId is not the task's. Send {fold.context_id!r}, or leave it out.")
        if fold.knows(sent.message_id, sent.kept["parts"]):
            return
        if not fold.waits:
            raise UnsupportedOperationError(
                f"The task {'is over' if fold.is_over else 'is at work'} and takes no message. Send it with contextId "
                "and without taskId: it is a new task."
            )
        answers = [(approval.tool, sent.answer.on(approval.id)) for approval in fold.run.undecided]
        if missing := [tool for tool, decision in answers if decision is None]:
            raise InvalidFieldError(f"The answer on {', '.join(missing)} is missing. Send all answers together.")
        decisions = [decision for _, decision in answers if decision is not None]
        await self._go_on(request, fold, Answers(decisions, sent.wait, sent.is_followed, {names.PATH: sent.kept}))

    async def _go_on(self, request: HttpRequest, fold: TaskFold, answers: Answers) -> Run:
        """Record the decisions, and return the run that goes on."""
        unfinished = UnsupportedOperationError("The task has changed. Read it with GetTask.")
        _, resumed = await record_answers(self._wire, request, fold.address, answers, unfinished)
        return resumed

    async def _read(self, request: HttpRequest, call: Call, fold: TaskFold, params: OfTask) -> _Result:
        return fold.task(params.history_length)

    async def _cancel(self, request: HttpRequest, call: Call, fold: TaskFold, params: OfTask) -> _Result:
        if fold.is_over:
            raise TaskNotCancelableError("The task is over. Read it with GetTask.")
        run_id = fold.run_id
        if fold.waits:
            reason = "The task was canceled."
            refused = [Decision(id=approval.id, approved=False, reason=reason) for approval in fold.run.undecided]
            wire = {names.PATH: {CANCELS: True}}
            answers = Answers(refused, Wait(answer=False), wire=wire, gives_up=True)
            run_id = (await self._go_on(request, fold, answers)).run_id
        await cancel(self._wire, fold.address, run_id, request.caller.client)
        return (await self._tasks.again(request, fold)).task()

    async def _subscribe(self, request: HttpRequest, call: Call, fold: TaskFold, params: OfTask) -> _Result:
        if fold.is_over:
            raise UnsupportedOperationError("The task is over and sends nothing more. Read it with GetTask.")
        run = await self._tasks.current_run(request, fold)
        return self._tasks.streamed(request, fold, run, call, fold.snapshot(), stays=True)

    @property
    def _notifying(self) -> NotifiesReceivers:
        assert self._receivers is not None, "without receivers a request that needs them was refused"
        return self._receivers

    async def _keep(self, request: HttpRequest, fold: TaskFold, receiver: Receiver) -> Receiver:
        """Have a receiver notified of the task, and return it with its id.

        The task is read again once the receiver is kept. If it is over, or waits for a person, the receiver is notified
        at once: the end may have come before the receiver.
        """
        receiver = replace(receiver, id=fold.receiver_id(receiver.id))
        await self._notifying.add(fold.address, fold.begun_by, receiver)
        fold = await self._tasks.again(request, fold)
        if isinstance(fold.run.state, Ended):
            await self._notifying.notify(fold.run, request.caller.client)
        return receiver

    async def _create_receiver(self, request: HttpRequest, call: Call, fold: TaskFold, params: OfTask) -> _Result:
        assert params.receiver is not None
        return receiver_object(fold.id, await self._keep(request, fold, params.receiver))

    async def _read_receiver(self, request: HttpRequest, call: Call, fold: TaskFold, params: OfTask) -> _Result:
        receivers, name = await self._notifying.of_task(fold.address, fold.begun_by), params.receiver_id
        if (receiver := receivers.get(fold.receiver_id(name))) is None:
            raise UnknownRunError(f"The task has no receiver {name[:80]!r}. List them, or create it.")
        return receiver_object(fold.id, receiver)

    async def _list_receivers(self, request: HttpRequest, call: Call, fold: TaskFold, params: OfTask) -> _Result:
        receivers = await self._notifying.of_task(fold.address, fold.begun_by)
        return {"configs": [receiver_object(fold.id, receiver) for receiver in receivers.values()], "nextPageToken": ""}

    async def _delete_receiver(self, request: HttpRequest, call: Call, fold: TaskFold, params: OfTask) -> _Result:
        await self._notifying.remove(fold.address, fold.begun_by, fold.receiver_id(params.receiver_id))
        return {}
