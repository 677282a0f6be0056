"""The protocol's methods for the receivers of a task, which it calls push notifications.

Theory. A receiver is notified as a webhook is (`core.webhooks`): of each end of a run of the task, signed, again
until it takes it, and nowhere inside the network. It is sent the task's new status without the text of anybody, for
whoever may read the task reads it.

That the thread has a receiver is appended to its log before the receiver is kept: so each later end says that
somebody is to be notified, whichever process appends it, and the ends of other threads cost nothing. The task is read
after that. If it is over, or waits for a person, the receiver is notified at once: the end may have come before the
receiver.
"""

from __future__ import annotations

from typing import Any

from hosting.core.thread.events import Cancelled, Completed, Terminal
from hosting.core.thread.run import Ended, Run
from hosting.core.thread_log import ThreadLog
from hosting.errors import InvalidFieldError, UnknownRunError
from hosting.features.a2a import names
from hosting.features.a2a.fold import CANCELED, CANCELS, COMPLETED, FAILED, INPUT_REQUIRED, TaskFold
from hosting.features.a2a.names import UnsupportedOperationError
from hosting.features.a2a.objects import timestamp
from hosting.features.a2a.requests import Call, OfReceivers
from hosting.features.a2a.tasks import Tasks
from hosting.features.webhooks.delivery import WebhookOrder
from hosting.features.webhooks.push_configs import MOST_CONFIGS, PushConfig
from hosting.features.webhooks.webhooks import Webhooks
from hosting.http.json_rpc import result_reply
from hosting.http.replies import Reply
from hosting.http.request import HttpRequest
from hosting.plan import AgentPlan


class Receivers:
    """The receivers of an app's tasks."""

    def __init__(self, log: ThreadLog, webhooks: Webhooks, tasks: Tasks) -> None:
        self._log = log
        self._webhooks = webhooks
        self._configs = webhooks.pushes
        self._tasks = tasks
        webhooks.task_update = task_update
        self.methods = {
            "CreateTaskPushNotificationConfig": self._create,
            "GetTaskPushNotificationConfig": self._get,
            "ListTaskPushNotificationConfigs": self._list,
            "DeleteTaskPushNotificationConfig": self._delete,
        }

    async def keep(self, request: HttpRequest, agent: AgentPlan, fold: TaskFold, config: PushConfig) -> PushConfig:
        """Have a receiver notified of the task, and return it with its id.

        Raises `UnsupportedOperationError` for a task of which nobody can be notified, and `InvalidFieldError` for one
        that has too many receivers.
        """
        begun, epoch = await self._task(fold)
        config = config.model_copy(update={"id": _id(config.id, fold, begun)})
        await self._webhooks.set_receiver(fold.address, epoch)
        there = await self._configs.of_task(fold.address, epoch, begun)
        if config.id not in there and len(there) >= MOST_CONFIGS:
            raise InvalidFieldError(f"The task has {MOST_CONFIGS} receivers. Delete one first.")
        await self._configs.put(fold.address, epoch, begun, config)
        fold = await self._tasks.find(request, agent, fold.id)
        if isinstance(fold.run.state, Ended):
            await WebhookOrder(fold.address, fold.run.run_id, "request").signal(request.caller.client)
        return config

    async def _create(self, request: HttpRequest, agent: AgentPlan, call: Call, wanted: OfReceivers) -> Reply:
        assert wanted.config is not None
        fold = await self._tasks.find(request, agent, wanted.task_id)
        kept = await self.keep(request, agent, fold, wanted.config)
        return result_reply(call.id, _shown(fold.id, kept))

    async def _get(self, request: HttpRequest, agent: AgentPlan, call: Call, wanted: OfReceivers) -> Reply:
        fold = await self._tasks.find(request, agent, wanted.task_id)
        begun, epoch = await self._task(fold)
        configs = await self._configs.of_task(fold.address, epoch, begun)
        config = configs.get(_id(wanted.config_id, fold, begun))
        if config is None:
            raise UnknownRunError(f"The task has no receiver {wanted.config_id[:80]!r}. List them, or create it.")
        return result_reply(call.id, _shown(fold.id, config))

    async def _list(self, request: HttpRequest, agent: AgentPlan, call: Call, wanted: OfReceivers) -> Reply:
        fold = await self._tasks.find(request, agent, wanted.task_id)
        begun, epoch = await self._task(fold)
        configs = await self._configs.of_task(fold.address, epoch, begun)
        shown = [_shown(fold.id, config) for config in configs.values()]
        return result_reply(call.id, {"configs": shown, "nextPageToken": ""})

    async def _delete(self, request: HttpRequest, agent: AgentPlan, call: Call, wanted: OfReceivers) -> Reply:
        fold = await self._tasks.find(request, agent, wanted.task_id)
        begun, epoch = await self._task(fold)
        await self._configs.erase(fold.address, epoch, begun, _id(wanted.config_id, fold, begun))
        return result_reply(call.id, {})

    async def _task(self, fold: TaskFold) -> tuple[str, int]:
        """Return the run that began the task, and the life of its thread."""
        begun = fold.run.accepted.request.task_run(fold.run.run_id)
        if begun is None:
            raise UnsupportedOperationError(
                "This task sends no notifications: it did not start over A2A, or started before the app sent "
                "webhooks. Follow it with SubscribeToTask."
            )
        return begun, (await self._log.head(fold.address)).epoch


def task_update(run: Run, terminal: Terminal) -> dict[str, Any]:
    """Return the task's status after a run's end, as one message of a stream."""
    thread_id = run.accepted.thread_id
    begun = run.accepted.request.task_run(run.run_id) or run.run_id
    state = FAILED
    if isinstance(terminal, Cancelled) or (run.accepted.wire or {}).get(names.PATH, {}).get(CANCELS):
        state = CANCELED
    elif isinstance(terminal, Completed):
        state = INPUT_REQUIRED if terminal.approvals else COMPLETED
    status = {"state": state, "timestamp": timestamp(terminal.at)}
    return {"statusUpdate": {"taskId": names.task_id(begun, thread_id), "contextId": thread_id, "status": status}}


def _shown(task_id: str, config: PushConfig) -> dict[str, Any]:
    """Return a receiver as the protocol has it, without its credentials."""
    authentication = {"authentication": {"scheme": config.scheme}} if config.scheme else {}
    token = {"token": config.token} if config.token else {}
    return {"taskId": task_id, "id": config.id, "url": config.url, **token, **authentication}


def _id(config_id: str, fold: TaskFold, begun: str) -> str:
    """Return the id of a receiver: without an id of its own, or with the task's, it is the same at each repeat."""
    return begun if config_id in ("", fold.id) else config_id
