"""One attempt of one run of a workflow: the framework's own runner, on a graph that is built for the attempt.

Theory. The runner is always pulled event by event, as a stream: between two supersteps nothing happens until the next
event is asked for, so the reader of the events decides whether it goes on.

After each superstep the framework's checkpoint is a step of the run, with the values yielded since the last. A
later attempt restores the newest and goes on behind it. The framework only logs that a checkpoint was not saved. So
each superstep's end is held against the appended checkpoint, and a run without its checkpoint goes no further.

The superstep that was under way is made again. The calls of its agents are recorded like those of agents that are
tools, known by superstep, executor and message, and are replayed. What an executor's own code does is done again.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable
from typing import Any

from agent_framework import Agent, AgentResponseUpdate, Executor, Workflow, WorkflowCheckpoint, WorkflowEvent

from hosting.core.agent.agent_loop import AgentLoop
from hosting.core.agent.agent_runner import Attempt
from hosting.core.agent.connections import tool_servers
from hosting.core.agent.framework import FRAMEWORK_VERSION, agents_within, clear_session, keeps_journal
from hosting.core.agent.framework_graphs import (
    agents_of_executor,
    agents_of_workflow,
    asked_types,
    checkpoint_text,
    executors_within,
    modules_of_executor,
    name_sessions,
    pass_requests_on,
    watch_within,
)
from hosting.core.agent.step_recorder import StepRecorder
from hosting.core.agent.steps import WITHIN, ExecutorSteps, attach_steps
from hosting.core.thread.events import Checkpointed
from hosting.core.thread.run import Run
from hosting.errors import (
    CheckpointNotKeptError,
)
from hosting.features.workflows.answer import WorkflowAnswer
from hosting.features.workflows.as_agent import KeptState, kept_state, with_state
from hosting.features.workflows.checkpoints import NewestCheckpoint, restored, types_in, unreadable
from hosting.features.workflows.executor_calls import ExecutorCalls
from hosting.features.workflows.requests import responses
from hosting.features.workflows.runner import WorkflowRunner
from hosting.names import Address, thread_key
from hosting.workflows import HostedWorkflow
from state.json_values import to_json_value

logger = logging.getLogger(__name__)


class GraphRunner(WorkflowRunner):
    """Runs a graph on the agent loop."""

    def __init__(self, workflow: HostedWorkflow, loop: AgentLoop, route_prefix: str = "api") -> None:
        super().__init__(workflow, loop, route_prefix, _types_of(workflow.build()))
        again = self._all_agents(workflow.build())
        self._lasting = [agent for agent in self._all_agents(workflow.build()) if agent in again]

    def _all_agents(self, workflow: Workflow) -> list[Agent[Any]]:
        """Return the agents of a graph's executors, and those that are their tools."""
        return [inner for agent in agents_of_workflow(workflow) for inner in agents_within(agent)]

    async def clear(self, address: Address, epoch: int) -> None:
        """Have the context providers of all executors' agents erase their data; raises as `clear_session` does."""
        for executor in executors_within(self._workflow.build()):
            agents, session_id = agents_of_executor(executor), thread_key(address, epoch, executor.id)
            await self._loop.run(clear_session(agents, session_id))

    def prepared(self, workflow: Workflow, recorder: StepRecorder, answer: WorkflowAnswer) -> RunCheckpoints:
        """Have the calls of the graph's agents recorded in its next run, and return the storage of its checkpoints."""
        checkpoints = RunCheckpoints(self._workflow, recorder, answer, self._types)
        pass_requests_on(workflow)
        run = recorder.held.run
        name_sessions(workflow, lambda executor_id: thread_key(run.address, run.epoch, executor_id))
        watch_within(workflow, checkpoints.calls.add)
        for executor in executors_within(workflow):
            _record(executor, recorder, checkpoints)
        for prepare in self._workflow.prepare:
            prepare(agents_of_workflow(workflow))
        for agent in self._all_agents(workflow):
            tool_servers(agent)
        return checkpoints

    async def take_events(
        self, workflow: Workflow, begin: dict[str, Any], checkpoints: RunCheckpoints, answer: WorkflowAnswer
    ) -> None:
        """Run the graph, superstep by superstep."""
        own = [agent for agent in self._all_agents(workflow) if agent not in self._lasting]
        with self._loop.lifespans.leaving(own):
            if (kept := checkpoints.kept) is not None:
                await workflow.run(checkpoint_id=kept.checkpoint_id, checkpoint_storage=kept)
            async with workflow.run(**begin, stream=True, checkpoint_storage=checkpoints) as events:
                async for event in events:
                    answer.add(event)
                    checkpoints.check(event)


class RunCheckpoints(NewestCheckpoint):
    """The framework's storage of checkpoints for one attempt: each is appended to the run, the newest is restored."""

    def __init__(
        self, hosted: HostedWorkflow, recorder: StepRecorder, answer: WorkflowAnswer, allowed: frozenset[str]
    ) -> None:
        super().__init__()
        self.superstep = 0
        self._hosted = hosted
        self._recorder = recorder
        self._answer = answer
        self._saved = 0
        self.calls = ExecutorCalls(recorder.held.clocks.wall, recorder.held.note)
        self._allowed = allowed
        self.kept: KeptState | None = None
        self._newest = ""

    def session(self, attempt: Attempt) -> dict[str, Any] | None:
        """Return the session with the state of a workflow that is an agent, where the run is a whole turn."""
        if self._hosted.agent is None or self.requests:
            return attempt.session
        return with_state(self._hosted, attempt.session, attempt.session_id, self._newest)

    async def restore(self, attempt: Attempt) -> dict[str, Any]:
        """Return how the graph is run, with the values that were yielded until the newest checkpoint."""
        run, decisions = self._recorder.held.run, attempt.request.decisions
        if run.checkpoint is not None:
            self.restored, updates = self._read(run, run.checkpoint)
            self.requests = self.restored.pending_request_info_events
            self._saved, self._newest = run.checkpoint.superstep, run.checkpoint.checkpoint
            self._answer.restore(updates, run.values)
            if attempt.deltas is not None:
                for update in updates:
                    attempt.deltas.write(update, is_known=True)
            return {"checkpoint_id": self.restored.checkpoint_id}
        if not decisions:
            if self._hosted.agent is not None:
                self.kept = kept_state(self._hosted, attempt.session, self._allowed)
            return {}
        before = await self._recorder.held.run_before()
        if before is None or before.checkpoint is None:
            raise CheckpointNotKeptError("The log no longer has the state of the run that asked.")
        self.restored, _ = self._read(before, before.checkpoint)
        self._saved = before.checkpoint.superstep
        answers = responses(before.run_id, self.restored.pending_request_info_events, decisions)
        return {"checkpoint_id": self.restored.checkpoint_id, "responses": answers}

    def _read(self, run: Run, event: Checkpointed) -> tuple[WorkflowCheckpoint, list[AgentResponseUpdate]]:
        """Return a run's newest checkpoint, and the values yielded until then; raises as `restore` does."""
        checkpoint = restored(self._hosted, run, event, self._allowed)
        try:
            return checkpoint, [AgentResponseUpdate.from_dict(dict(update)) for update in run.yielded]
        except Exception as error:  # whatever a damaged one makes the framework raise
            raise unreadable(run) from error

    def check(self, event: WorkflowEvent[Any]) -> None:
        """Follow the supersteps, and end the attempt at a superstep without a saved checkpoint."""
        self.calls.add(event)
        if event.type == "superstep_started":
            self.superstep = event.iteration or 0
        elif event.type == "superstep_completed" and self._saved != event.iteration:
            raise self._recorder.ended(
                CheckpointNotKeptError(
                    f"The state of workflow {self._hosted.name!r} after superstep {event.iteration} cannot be stored; "
                    f"the log has the cause at run {self._recorder.held.run_id}. Keep values of types that the "
                    "executors declare, or register the types (register_checkpoint_type)."
                )
            )

    async def save(self, checkpoint: WorkflowCheckpoint) -> str:
        """Append the checkpoint; the first superstep needs none, because the request has its state."""
        if checkpoint.iteration_count == 0:
            return checkpoint.checkpoint_id
        held = self._recorder.held
        try:
            text = await asyncio.to_thread(checkpoint_text, checkpoint, self._allowed)
        except Exception:
            logger.exception("A checkpoint of run %s cannot be stored.", held.run_id)
            raise
        updates, values = self._answer.take()
        await self._recorder.append(
            Checkpointed(
                at=held.clocks.wall(),
                run_id=held.run_id,
                superstep=checkpoint.iteration_count,
                framework=FRAMEWORK_VERSION,
                graph=self._hosted.graph,
                checkpoint=text,
                updates=[to_json_value(update.to_dict(exclude_none=True)) for update in updates],
                values=values,
                calls=self.calls.take(),
            )
        )
        self._saved, self._newest = checkpoint.iteration_count, text
        self.requests = dict(checkpoint.pending_request_info_events)
        return checkpoint.checkpoint_id


def _record(executor: Executor, recorder: StepRecorder, checkpoints: RunCheckpoints) -> None:
    """Have the calls of the executor's agents recorded, by the superstep and how many messages it took there."""
    for agent in agents_of_executor(executor):
        if keeps_journal(agent):
            attach_steps(agent)
    execute: Callable[..., Any] = executor.execute
    messages: Counter[int] = Counter()

    async def recorded(*arguments: Any, **keywords: Any) -> None:
        messages[checkpoints.superstep] += 1
        within = f"{checkpoints.superstep}.{messages[checkpoints.superstep]}/{executor.id}"
        token = WITHIN.set(ExecutorSteps(recorder, within))
        try:
            await execute(*arguments, **keywords)
        finally:
            WITHIN.reset(token)

    executor.execute = recorded  # type: ignore[method-assign]


def _types_of(workflow: Workflow) -> frozenset[str]:
    """Return the types that executors declare, those in which agents answer, and the plain ones of their modules."""
    executors = list(executors_within(workflow))
    options = (getattr(agent, "default_options", None) or {} for agent in agents_of_workflow(workflow))
    formats = [kind for chosen in options if isinstance(kind := chosen.get("response_format"), type)]
    declared = [
        kind
        for executor in executors
        for kind in (
            *executor.input_types,
            *executor.output_types,
            *executor.workflow_output_types,
            *asked_types(executor),
        )
    ]
    modules = {module for executor in executors for module in modules_of_executor(executor)}
    return types_in([*declared, *formats], {*modules, *(kind.__module__ for kind in formats)})
