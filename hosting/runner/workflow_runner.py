"""One attempt of one run of a workflow: the framework's own runner, on a graph that is built for the attempt.

Theory. To the rest of the house a workflow is an agent: its runs are claimed, stopped, timed and ended like an agent's.
Only what happens in an attempt is another. The runner is always pulled event by event, as a stream: between two
supersteps nothing happens until the next event is asked for, so whoever reads the events decides whether it goes on.
"""

from __future__ import annotations

from typing import Any

from agent_framework import AgentResponseUpdate, Message

from hosting.errors import InvalidInputError, RunFailedError, RunInterruptedError
from hosting.request.run_request import RunRequest
from hosting.runner.agent_loop import AgentLoop
from hosting.runner.agent_runner import AgentAnswer, AgentFailure, AgentRunner, Attempt, AttemptOutcome
from hosting.runner.workflow_answer import WorkflowAnswer
from hosting.thread.messages import request_messages
from hosting.workflows import HostedWorkflow


class WorkflowRunner(AgentRunner):
    """Runs one workflow on the agent loop."""

    kind = "Workflow"

    def __init__(self, workflow: HostedWorkflow, loop: AgentLoop) -> None:
        self._workflow = workflow
        self._name = workflow.name
        self._loop = loop
        self.journaled = None

    async def _answer(self, attempt: Attempt) -> AttemptOutcome:
        if attempt.number > 1:
            return AgentFailure(
                RunInterruptedError(
                    f"The process ended while workflow {self._name!r} ran, and no executor is run twice. Send it again."
                )
            )
        try:
            given = self._given(attempt)
        except InvalidInputError as error:
            return AgentFailure(error)

        def pass_on(update: AgentResponseUpdate) -> None:
            if attempt.deltas is not None:
                attempt.deltas.write(update, is_known=False)
            if attempt.listener is not None:
                attempt.listener.add(update)

        answer, asks = WorkflowAnswer(pass_on), False
        async with self._workflow.build().run(given, stream=True) as events:
            async for event in events:
                answer.add(event)
                asks = asks or event.type == "request_info"
        if asks:
            return AgentFailure(
                RunFailedError(f"Workflow {self._name!r} asks a person (request_info), which is not served yet.")
            )
        return AgentAnswer(answer.response(), None)

    def _given(self, attempt: Attempt) -> Any:
        """Return what the start executor is given: the conversation, the text, or the value whose JSON text it is."""
        request, takes = attempt.request, self._workflow.input
        refuse_options(request)
        takes.check(request.message, is_json=request.is_json, has_contents=bool(request.contents))
        if request.is_json or not takes.takes_words:
            return takes.value(request.message)
        if takes.takes_messages:
            messages: list[Message] = [*attempt.history.own(), *request_messages(request)]
            return messages
        return request.message


def refuse_options(request: RunRequest) -> None:
    """Raise `InvalidInputError` for what only an agent does with a request."""
    if request.response_format is not None or not request.enable_tool_calls:
        raise InvalidInputError(
            "A workflow takes neither response_format nor enable_tool_calls: its executors decide. Leave them out."
        )
