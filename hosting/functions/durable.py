"""Durable Functions as our ports: its client, entity triggers, and agents inside orchestrations.

Of the two versions of the SDK the installed one is taken. Two of its offers are not used. Its decorator for entities
would hold a worker thread for each run; ours is an asynchronous handler on a generic trigger, which speaks the batch
protocol. Its retry around an entity call would run the agent again for an outcome that is recorded, and on the real
host `task_all` with retries loses track.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import azure.durable_functions as df
import azure.functions as func

from hosting.core.entity.called_run import AgentCall
from hosting.invocation import begin_invocation
from hosting.orchestrations import ENGINE, Engine
from hosting.ports import ClockClient

if TYPE_CHECKING or not hasattr(df, "DurableFunctionsClient"):  # which 2.x has
    from hosting.functions.durable_1.agent_task import AgentTask, is_over, result_of
    from hosting.functions.durable_1.batches import ENTITY_MARK, of_texts
    from hosting.functions.durable_1.client import DurableClient, EntityId, sdk_client
    from hosting.functions.durable_1.execution import naming
else:
    from hosting.functions.durable_2.agent_task import AgentTask, is_over, result_of
    from hosting.functions.durable_2.batches import ENTITY_MARK, of_texts
    from hosting.functions.durable_2.client import DurableClient, EntityId, sdk_client
    from hosting.functions.durable_2.execution import naming

__all__ = [
    "AgentTask",
    "CallingOrchestration",
    "DurableClient",
    "EntityId",
    "enter_invocation",
    "is_over",
    "naming",
    "register_entity",
    "result_of",
]


def enter_invocation(sdk: df.DurableOrchestrationClient | str, context: object = None) -> DurableClient:
    """Begin the invocation and return its durable client, by which tools of its runs reach orchestrations.

    `sdk` is the SDK's client, or the text that the host gives for one.
    """
    begin_invocation(context)
    client = DurableClient(sdk_client(sdk) if isinstance(sdk, str) else sdk)
    ENGINE.set(Engine(client, asyncio.get_running_loop()))
    return client


def register_entity(
    app: df.DFApp, name: str, answer: Callable[[str, ClockClient], Awaitable[str]], function: str | None = None
) -> None:
    """Register the entity of that name, as that `function` or under its own name.

    `answer` takes the text of a batch, and a durable client, and returns the text of its results.
    The parameter has no annotation, for the worker refuses `str` for an entity trigger, and is not called `context`,
    which is where the worker gives the invocation (recordings: "Seen, worth knowing").
    """
    answered = of_texts(answer)

    async def handle(batch, client: Any, context: func.Context):  # type: ignore[no-untyped-def]
        durable = enter_invocation(client, context)
        return await answered(batch if isinstance(batch, str) else str(batch.body), durable)

    trigger = app.generic_trigger(arg_name="batch", type="entityTrigger", entityName=name, **ENTITY_MARK)
    app.function_name(function or name)(trigger(app.durable_client_input(client_name="client")(handle)))


class CallingOrchestration:
    """A running orchestration, for the proxies in it."""

    def __init__(self, context: df.DurableOrchestrationContext, knows: Callable[[str], bool]) -> None:
        """`knows` says whether this instance has an agent of that name."""
        self._context = context
        self._knows = knows

    @property
    def orchestration_id(self) -> str:
        """The orchestration's id."""
        return str(self._context.instance_id)

    def new_id(self) -> str:
        """Return the next id, which a replay and a repeated episode make the same (`execution.Execution`)."""
        return str(self._context.new_uuid()).replace("-", "")

    def call(self, call: AgentCall, fields: Mapping[str, Any]) -> AgentTask:
        """Return the task that calls the agent's entity."""
        return AgentTask(self._context, call, fields, self._knows)
