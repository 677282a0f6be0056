"""An attempt of a run of any workflow: how it begins, what its events come to, and which answers are taken.

Theory. To the rest of the house a workflow is an agent: its runs are claimed, stopped, timed and ended like an agent's.
Only what happens in an attempt is another: it begins with the newest checkpoint, and ends with an answer or questions.
"""

from __future__ import annotations

from typing import Any

from agent_framework import AgentResponseUpdate, Message

from hosting.core.agent.agent_loop import AgentLoop
from hosting.core.agent.agent_runner import AgentAnswer, AgentFailure, AgentRunner, Attempt, AttemptOutcome
from hosting.core.agent.step_recorder import StepRecorder
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
from hosting.features.workflows.as_agent import contents_of
from hosting.features.workflows.checkpoints import NewestCheckpoint, restored
from hosting.features.workflows.hitl_context import entered
from hosting.features.workflows.requests import check_response, pending_requests
from hosting.workflows import HostedWorkflow


class WorkflowRunner(AgentRunner):
    """Runs one workflow on the agent loop. Its checkpoints may hold values of the types that `types` names."""

    kind = "Workflow"

    def __init__(self, workflow: HostedWorkflow, loop: AgentLoop, route_prefix: str, types: frozenset[str]) -> None:
        self._workflow = workflow
        self._route_prefix = route_prefix
        self.name = workflow.name
        self._loop = loop
        self._types = types
        if workflow.agent is not None:
            self.kind = "Agent"
        self.journaled = None
        self._opened = []

    def check_answer(self, requested: Run, decision: Decision) -> None:
        """Raise `InvalidInputError` for an answer that the type which the workflow asked for does not take."""
        if requested.checkpoint is None:
            return
        try:
            checkpoint = restored(self._workflow, requested, requested.checkpoint, self._types)
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

        hosted = self._workflow
        answer, workflow = WorkflowAnswer(pass_on, contents_of(hosted)), hosted.build()
        checkpoints = self.prepared(workflow, recorder, answer)
        try:
            begin = await checkpoints.restore(attempt) or {"message": self._given(attempt)}
        except (InvalidInputError, RunCancelledError, WorkflowChangedError, CheckpointNotKeptError) as error:
            return AgentFailure(error)
        try:
            with entered(recorder.held.run, self.name, self._route_prefix, is_agent=hosted.agent is not None):
                await self.take_events(workflow, begin, checkpoints, answer)
        except BaseException:
            if recorder.cause is None:
                raise
        if recorder.cause is not None:
            raise recorder.cause
        try:
            requests, session = pending_requests(attempt.run_id, checkpoints.requests), checkpoints.session(attempt)
        except (RunFailedError, CheckpointNotKeptError) as error:
            return AgentFailure(error)
        return AgentAnswer(answer.response(), session, requests=requests)

    def prepared(self, workflow: Any, recorder: StepRecorder, answer: WorkflowAnswer) -> NewestCheckpoint:
        """Have the workflow recorded in its next run, and return the storage of its checkpoints."""
        raise NotImplementedError

    async def take_events(self, workflow: Any, begin: dict[str, Any], checkpoints: Any, answer: WorkflowAnswer) -> None:
        """Run the workflow, and take its events to the answer."""
        raise NotImplementedError

    def _given(self, attempt: Attempt) -> Any:
        """Return the workflow's input: the conversation, the text, or the value in its JSON text."""
        request, takes = attempt.request, self._workflow.input
        _refuse_options(request)
        takes.check(request.message, is_json=request.is_json, has_contents=bool(request.contents))
        if request.is_json or not takes.takes_words:
            return takes.value(request.message)
        if takes.takes_messages:
            is_alone = self._workflow.agent is not None and self._workflow.functions
            before = () if is_alone else attempt.history
            return [_plain(message) for message in (*before, *request_messages(request))]
        if takes.takes_message and (request.contents or not takes.takes_text):
            return _plain(request_messages(request)[-1])
        return request.message


def _plain(message: Message) -> Message:
    """Return a message of the framework's own type, for a checkpoint has none of ours."""
    return Message(message.role, list(message.contents), author_name=message.author_name, message_id=message.message_id)


def _refuse_options(request: RunRequest) -> None:
    """Raise `InvalidInputError` for options that only agents take."""
    if request.response_format is not None or not request.enable_tool_calls:
        raise InvalidInputError(
            "A workflow takes neither response_format nor enable_tool_calls: its executors decide. Leave them out."
        )
