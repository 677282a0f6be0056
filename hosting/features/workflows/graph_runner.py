"""One attempt of one run of a workflow: the framework's own runner, on a graph that is built for the attempt.

Theory. To the rest of the house a workflow is an agent: its runs are claimed, stopped, timed and ended like an agent's.
Only what happens in an attempt is another. The runner is always pulled event by event, as a stream: between two
supersteps nothing happens until the next event is asked for, so the reader of the events decides whether it goes on.

After each superstep the framework's checkpoint is a step of the run, with the values yielded since the last. A
later attempt restores the newest and goes on behind it. The framework only logs that a checkpoint was not saved. So
each superstep's end is held against the appended checkpoint, and a run without its checkpoint goes no further.

The superstep that was under way is made again. The calls of its agents are recorded like those of agents that are
tools, known by superstep, executor and message, and are replayed. What an executor's own code does is done again.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import is_dataclass
from enum import Enum
from typing import Any

from agent_framework import Agent, AgentResponseUpdate, Executor, Message, Workflow, WorkflowCheckpoint, WorkflowEvent
from pydantic import BaseModel

from hosting.core.agent.agent_loop import AgentLoop
from hosting.core.agent.agent_runner import AgentAnswer, AgentFailure, AgentRunner, Attempt, AttemptOutcome
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
    read_checkpoint,
    watch_within,
)
from hosting.core.agent.steps import WITHIN, ExecutorSteps, StepRecorder, attach_steps
from hosting.core.thread.events import Checkpointed
from hosting.core.thread.messages import request_messages
from hosting.core.thread.run import Run
from hosting.core.thread.run_request import Decision, RunRequest
from hosting.errors import (
    CheckpointNotKeptError,
    InvalidInputError,
    RunCancelledError,
    RunFailedError,
    WorkflowChangedError,
)
from hosting.features.workflows.answer import WorkflowAnswer
from hosting.features.workflows.executor_calls import ExecutorCalls
from hosting.features.workflows.hitl_context import entered
from hosting.features.workflows.requests import Requests, check_response, pending_requests, responses
from hosting.names import Address, thread_key
from hosting.workflows import HostedWorkflow
from state.json_values import to_json_value

logger = logging.getLogger(__name__)


class GraphRunner(AgentRunner):
    """Runs one workflow on the agent loop."""

    kind = "Workflow"

    def __init__(self, workflow: HostedWorkflow, loop: AgentLoop, route_prefix: str = "api") -> None:
        self._workflow = workflow
        self._route_prefix = route_prefix
        self.name = workflow.name
        self._loop = loop
        self._types = _types_of(workflow.build())
        self.journaled = None
        self._opened = []
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

    def check_answer(self, requested: Run, decision: Decision) -> None:
        """Raise `InvalidInputError` for an answer that the type which an executor asked for does not take."""
        if requested.checkpoint is None:
            return
        try:
            checkpoint = _restored(self._workflow, requested, requested.checkpoint, self._types)
        except (WorkflowChangedError, CheckpointNotKeptError):
            return  # the run that is to go on ends so
        check_response(requested.run_id, checkpoint.pending_request_info_events, decision)

    async def _answer(self, attempt: Attempt) -> AttemptOutcome:
        assert attempt.recorder is not None
        recorder = attempt.recorder

        def pass_on(update: AgentResponseUpdate) -> None:
            if attempt.deltas is not None:
                attempt.deltas.write(update, is_known=False)
            if attempt.listener is not None:
                attempt.listener.add(update)

        answer, workflow = WorkflowAnswer(pass_on), self._workflow.build()
        checkpoints = RunCheckpoints(self._workflow, recorder, answer, self._types)
        pass_requests_on(workflow)
        run = recorder.held.run
        name_sessions(workflow, lambda executor_id: thread_key(run.address, run.epoch, executor_id))
        watch_within(workflow, checkpoints.calls.add)
        for executor in executors_within(workflow):
            _record(executor, recorder, checkpoints)
        for agent in self._all_agents(workflow):
            tool_servers(agent)
        try:
            begin = await checkpoints.restore(attempt) or {"message": self._given(attempt)}
        except (InvalidInputError, RunCancelledError, WorkflowChangedError, CheckpointNotKeptError) as error:
            return AgentFailure(error)
        try:
            own = [agent for agent in self._all_agents(workflow) if agent not in self._lasting]
            with entered(run, self.name, self._route_prefix), self._loop.lifespans.leaving(own):
                async with workflow.run(**begin, stream=True, checkpoint_storage=checkpoints) as events:
                    async for event in events:
                        answer.add(event)
                        checkpoints.check(event)
        except BaseException:
            if recorder.cause is None:
                raise
        if recorder.cause is not None:
            raise recorder.cause
        try:
            requests = pending_requests(attempt.run_id, checkpoints.requests)
        except RunFailedError as error:
            return AgentFailure(error)
        return AgentAnswer(answer.response(), None, requests=requests)

    def _given(self, attempt: Attempt) -> Any:
        """Return the start executor's input: the conversation, the text, or the value in its JSON text."""
        request, takes = attempt.request, self._workflow.input
        refuse_options(request)
        takes.check(request.message, is_json=request.is_json, has_contents=bool(request.contents))
        if request.is_json or not takes.takes_words:
            return takes.value(request.message)
        if takes.takes_messages:
            return [_plain(message) for message in (*attempt.history, *request_messages(request))]
        return request.message


class RunCheckpoints:
    """The framework's storage of checkpoints for one attempt: each is appended to the run, the newest is restored."""

    def __init__(
        self, hosted: HostedWorkflow, recorder: StepRecorder, answer: WorkflowAnswer, allowed: frozenset[str]
    ) -> None:
        self.superstep = 0
        self.requests: Requests = {}
        self._hosted = hosted
        self._recorder = recorder
        self._answer = answer
        self._saved = 0
        self.calls = ExecutorCalls(recorder.held.clocks.wall, recorder.held.note)
        self._restored: WorkflowCheckpoint | None = None
        self._allowed = allowed

    async def restore(self, attempt: Attempt) -> dict[str, Any]:
        """Return how the workflow is run from the newest checkpoint; nothing where there is none.

        A run that brings answers begins with that of the run that asked. Raises `WorkflowChangedError` for a checkpoint
        of another graph or framework, `CheckpointNotKeptError` for an unreadable one, and `InvalidInputError`.
        """
        run, decisions = self._recorder.held.run, attempt.request.decisions
        if run.checkpoint is not None:
            self._restored, updates = self._read(run, run.checkpoint)
            self.requests = self._restored.pending_request_info_events
            self._saved = run.checkpoint.superstep
            self._answer.restore(updates, run.values)
            if attempt.deltas is not None:
                for update in updates:
                    attempt.deltas.write(update, is_known=True)
            return {"checkpoint_id": self._restored.checkpoint_id}
        if not decisions:
            return {}
        before = await self._recorder.held.run_before()
        if before is None or before.checkpoint is None:
            raise CheckpointNotKeptError("The log no longer has the state of the run that asked.")
        self._restored, _ = self._read(before, before.checkpoint)
        self._saved = before.checkpoint.superstep
        answers = responses(before.run_id, self._restored.pending_request_info_events, decisions)
        return {"checkpoint_id": self._restored.checkpoint_id, "responses": answers}

    def _read(self, run: Run, event: Checkpointed) -> tuple[WorkflowCheckpoint, list[AgentResponseUpdate]]:
        """Return a run's newest checkpoint, and the values yielded until then; raises as `restore` does."""
        checkpoint = _restored(self._hosted, run, event, self._allowed)
        try:
            return checkpoint, [AgentResponseUpdate.from_dict(dict(update)) for update in run.yielded]
        except Exception as error:  # whatever a damaged one makes the framework raise
            raise _unreadable(run) from error

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
        self._saved = checkpoint.iteration_count
        self.requests = dict(checkpoint.pending_request_info_events)
        return checkpoint.checkpoint_id

    async def load(self, checkpoint_id: str) -> WorkflowCheckpoint:
        """Return the restored checkpoint."""
        assert self._restored is not None
        return self._restored

    async def list_checkpoints(self, *, workflow_name: str) -> list[WorkflowCheckpoint]:
        """Return nothing: a run has its newest alone."""
        return []

    async def delete(self, checkpoint_id: str) -> bool:
        """Delete nothing: it goes with its thread."""
        return False

    async def get_latest(self, *, workflow_name: str) -> WorkflowCheckpoint | None:
        """Return the restored checkpoint."""
        return self._restored

    async def list_checkpoint_ids(self, *, workflow_name: str) -> list[str]:
        """Return nothing, as `list_checkpoints`."""
        return []


def _restored(hosted: HostedWorkflow, run: Run, event: Checkpointed, allowed: frozenset[str]) -> WorkflowCheckpoint:
    """Return a run's newest checkpoint; raises `WorkflowChangedError` and `CheckpointNotKeptError`."""
    if (event.graph, event.framework) != (hosted.graph, FRAMEWORK_VERSION):
        what = "graph" if event.graph != hosted.graph else f"agent-framework ({event.framework})"
        raise WorkflowChangedError(
            f"The run started with another {what} of workflow {hosted.name!r}, and its state does not fit this one. "
            "Finish these runs on the deployment where they started."
        )
    try:
        return read_checkpoint(event.checkpoint, allowed)
    except Exception as error:  # whatever a damaged one makes the framework raise
        raise _unreadable(run) from error


def _unreadable(run: Run) -> CheckpointNotKeptError:
    logger.exception("A checkpoint of run %s cannot be read.", run.run_id)
    return CheckpointNotKeptError("The state of the run after its last superstep cannot be read.")


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


def _plain(message: Message) -> Message:
    """Return a message of the framework's own type, for a checkpoint has none of ours."""
    return Message(message.role, list(message.contents), author_name=message.author_name, message_id=message.message_id)


def _types_of(workflow: Workflow) -> frozenset[str]:
    """Return the types that the executors declare, and the plain ones of the modules that they are written in."""
    executors = list(executors_within(workflow))
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
    written = [kind for module in modules for kind in vars(sys.modules[module]).values() if _is_plain(kind)]
    types = (kind for kind in (*declared, *written) if isinstance(kind, type))
    return frozenset(f"{kind.__module__}:{kind.__qualname__}" for kind in types)


def _is_plain(value: Any) -> bool:
    """Return whether a value is a type that holds data and does nothing."""
    is_class = issubclass(type(value), type)  # on Python 3.10 `isinstance` takes `list[int]` for one
    return is_class and (is_dataclass(value) or issubclass(value, BaseModel | Enum))


def refuse_options(request: RunRequest) -> None:
    """Raise `InvalidInputError` for options that only agents take."""
    if request.response_format is not None or not request.enable_tool_calls:
        raise InvalidInputError(
            "A workflow takes neither response_format nor enable_tool_calls: its executors decide. Leave them out."
        )
