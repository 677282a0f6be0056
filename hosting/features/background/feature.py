"""Background agents of an app's agents: hosted within them, ended and erased with them."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace
from typing_extensions import TypedDict

from hosting.core.agent.agent_loop import RUN
from hosting.core.agent.held_run import HeldRun
from hosting.core.hooks import ENTITY, NO_HOOKS, AgentHooks, Signal, ThreadData, key_of
from hosting.core.runs import Runs
from hosting.core.stores.stores import Stores
from hosting.core.thread.events import Completed, Terminal
from hosting.core.thread_log import ThreadLog
from hosting.core.threads import Threads
from hosting.errors import InvalidFieldError, ThreadDeletingError, UnknownThreadError
from hosting.feature import EntityOperation, Feature
from hosting.features.background.names import hosted_name
from hosting.features.background.tasks import LINK, BackgroundTasks
from hosting.features.background.usage import UsageOfTasks
from hosting.names import Address
from hosting.orchestrations import ENGINE
from hosting.plan import AgentPlan, Plan, WithinPlan
from hosting.ports import ClockClient

_PROVIDER = "agent_framework._harness._background_agents"
"""The module of `BackgroundAgentsProvider`: an agent that has one has imported it."""
_END = "background_end"
"""The operation that ends the tasks of a run. Stored."""
_FOR_EVER = 1e11


class BackgroundTask(TypedDict):
    """A task, as the export of its parent's thread has it: `begun_by` are the runs of the parent that asked for it.

    `thread` is the export of its own thread, without the contents of attachments; null where it is gone.
    """

    agent: str
    thread_id: str
    begun_by: list[str]
    thread: Any


class BackgroundFeature(Feature):
    """The background agents of one app."""

    name = "background"
    absent = "No agent of this app has background agents: none has a BackgroundAgentsProvider."

    def __init__(
        self, log: ThreadLog, runs: Runs, threads: Threads, stores: Stores, *, held: Mapping[str, HeldRun], plan: Plan
    ) -> None:
        """`held` are the runs of this process."""
        self._log = log
        self._threads = threads
        self._held = held
        self._plan = plan
        self._tasks = BackgroundTasks(log, runs, stores)
        self._parents: set[str] = set()
        self._hosted: set[str] = set()
        self.usage = UsageOfTasks(log, self._tasks, self._parents, self._hosted)

    @property
    def is_on(self) -> bool:
        """Whether any agent has background agents."""
        return bool(self._parents)

    def within(self, agent: AgentPlan) -> Sequence[WithinPlan]:
        """Return the background agents of an agent or a workflow's agents, and of those that are their tools."""
        if _PROVIDER not in sys.modules:
            return ()
        if agent.workflow is None:
            hosted = self._host(agent.name, [agent.agent])
        else:
            hosted = self._host(agent.name, agent.workflow.agents())
            agent.workflow.prepare.append(partial(self._host, agent.name))
        options = replace(agent.options, mcp=False, tool_name=None, tool_description=None, webhook=None)
        options = replace(options, callback=None, busy="queue", ttl_seconds=0.0, within=agent.name)
        return [WithinPlan(name, inner, options) for name, inner in hosted]

    def _host(self, parent: str, agents: Sequence[Any]) -> list[tuple[str, Any]]:
        """Have the tasks of these agents be those of the parent, and return the background agents by their names."""
        from hosting.features.background.provider import durable_tasks

        hosted = list[tuple[str, Any]]()
        for agent in agents:
            for provider in durable_tasks(agent, lambda: self._held.get(RUN.get("")), self._tasks):
                names = {
                    key: hosted_name(parent, inner.name, has_owners=self._plan.has_owners)
                    for key, inner in provider.agents.items()
                }
                provider.host(parent, names)
                self._parents.add(parent.lower())
                self._hosted.update(map(str.lower, names.values()))
                known = [inner for _, inner in hosted]
                hosted += [(names[key], inner) for key, inner in provider.agents.items() if inner not in known]
        return hosted

    def hooks(self, agent: AgentPlan) -> AgentHooks:
        """Return what ends the tasks of a run that ends without an answer."""
        return AgentHooks(on_end=[_ends]) if agent.name.lower() in self._parents else NO_HOOKS

    def durable(self) -> Sequence[EntityOperation]:
        """Return the operation that ends the tasks of a run."""
        return (EntityOperation(_END, self._end),)

    def thread_data(self) -> ThreadData:
        """Return the links of a thread to its tasks. The tasks' own threads are exported and erased with it."""

        async def clocks(address: Address, epoch: int) -> Sequence[str]:
            return ()

        return ThreadData(
            prefixes=(LINK,),
            keeps_seconds=_FOR_EVER,
            members={"background_tasks": list[BackgroundTask]},
            export=self._export,
            counts={"background_tasks": LINK},
            erase=self._erase,
            clocks=clocks,
            clock_prefix=LINK,
        )

    async def _export(self, address: Address, epoch: int) -> Mapping[str, Any]:
        tasks = dict[Address, BackgroundTask]()
        for link in await self._tasks.links(address, epoch):
            place = link.address(address.owner)
            if place not in tasks:
                thread = await self._exported(link.agent, place)
                tasks[place] = BackgroundTask(agent=link.agent, thread_id=link.thread_id, begun_by=[], thread=thread)
            tasks[place]["begun_by"].append(link.run_id)
        return {"background_tasks": [*tasks.values()]}

    async def _exported(self, agent: str, address: Address) -> Any:
        from hosting.http.thread_replies import export_fields
        from state.codec import write

        try:
            export = await self._threads.export(address, ENGINE.get().client)
        except (UnknownThreadError, ThreadDeletingError):
            return None
        conversation = None if export.conversation is None else json.loads(write(export.conversation))
        return {**export_fields(agent, export, self._log.clocks.wall()), "conversation": conversation}

    async def _erase(self, address: Address, epoch: int) -> None:
        for task in {link.address(address.owner) for link in await self._tasks.links(address, epoch)}:
            await self._threads.delete(task, ENGINE.get().client, 0.0)

    async def _end(self, fields: Any, client: ClockClient) -> None:
        try:
            address = Address.of(fields["agent"], fields["thread_id"], fields["owner"])
            run_id = str(fields["run_id"])
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise InvalidFieldError(f"The operation {_END!r} takes the ids of a run.") from error
        await self._tasks.cancel(address, run_id, client)


def _ends(address: Address, ended: Sequence[Terminal]) -> list[Signal]:
    """Return the signals that end the tasks of these runs: what they had in their session is lost with them."""
    ids = {"agent": address.agent, "thread_id": address.thread_id, "owner": address.owner}
    unanswered = [end.run_id for end in ended if not isinstance(end, Completed)]
    return [Signal(ENTITY, key_of(run_id), _END, {**ids, "run_id": run_id}) for run_id in unanswered]
