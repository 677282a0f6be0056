"""The parts of agent-framework's workflows that we use without its promise, in one place.

They are apart from those of agents (`framework.py`), because an app without workflows imports neither this module nor
the framework's of workflows.
"""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

from agent_framework import (
    Agent,
    AgentExecutor,
    AgentSession,
    Executor,
    SubWorkflowRequestMessage,
    Workflow,
    WorkflowCheckpoint,
    WorkflowEvent,
    WorkflowExecutor,
)
from agent_framework._workflows._checkpoint_encoding import decode_checkpoint_value, encode_checkpoint_value

from hosting.core.agent.framework import MODULES, agents_among, named_in

_TYPES = frozenset({"types:GenericAlias"})
"""A checkpoint's content besides values: the type of an executor's requested answer, such as `list[Message]`."""


def executors_within(workflow: Workflow) -> Iterator[Executor]:
    """Iterate over the executors of a workflow, and of those that are executors of it."""
    for executor in workflow.executors.values():
        yield executor
        if isinstance(executor, WorkflowExecutor):
            yield from executors_within(executor.workflow)


def agents_of_workflow(workflow: Workflow) -> list[Agent[Any]]:
    """Return the agents that the executors of a workflow call."""
    return [agent for executor in executors_within(workflow) for agent in agents_of_executor(executor)]


def agents_of_executor(executor: Executor) -> list[Agent[Any]]:
    """Return the agents that an executor calls: its own, those among its attributes, and those that its code names."""
    return agents_among((*vars(executor).values(), *named_in(code_of(executor))))


def code_of(executor: Executor) -> list[Any]:
    """Return the functions of an executor that its author wrote."""
    classes = [kind for kind in type(executor).__mro__ if not kind.__module__.startswith(MODULES.rstrip("."))]
    return [*(value for kind in classes for value in vars(kind).values()), getattr(executor, "_original_func", None)]


def modules_of_executor(executor: Executor) -> set[str]:
    """Return the names of the modules that an executor is written in, as far as they are here."""
    written = (type(executor), getattr(executor, "_original_func", None))
    return {name for definition in written if (name := getattr(definition, "__module__", None)) in sys.modules}


def asked_types(executor: Executor) -> list[Any]:
    """Return the types of an executor's questions to a person, and of the answers."""
    return [hint for pair in getattr(executor, "_response_handlers", ()) for hint in pair]


async def asked_last(context: Any) -> str | None:
    """Return the framework's id of the newest request in an executor's context, or None."""
    requests = await context._runner_context.get_pending_request_info_events()
    return next(reversed(requests), None)


def pass_requests_on(workflow: Workflow) -> None:
    """Send the questions of an inner workflow to a person, if no executor beside it takes such requests."""
    beside = list(workflow.executors.values())
    is_taken = any(SubWorkflowRequestMessage in executor.input_types for executor in beside)
    for executor in beside:
        if isinstance(executor, WorkflowExecutor):
            executor._propagate_request |= not is_taken
            pass_requests_on(executor.workflow)


def watch_within(workflow: Workflow, on_event: Callable[[WorkflowEvent[Any], str], None], path: str = "") -> None:
    """Have the events of the workflows within this one passed to `on_event`, each with the path to its own: `inner/`.

    Of those the framework passes on what they yield and ask, and not which of their executors did it.
    """
    for executor in workflow.executors.values():
        if isinstance(executor, WorkflowExecutor):
            _watch(executor.workflow, on_event, f"{path}{executor.id}/")


def _watch(workflow: Workflow, on_event: Callable[[WorkflowEvent[Any], str], None], path: str) -> None:
    context: Any = workflow._runner_context
    add = context.add_event

    async def passed_on(event: WorkflowEvent[Any]) -> None:
        on_event(event, path)
        await add(event)

    context.add_event = passed_on
    watch_within(workflow, on_event, path)


def name_sessions(workflow: Workflow, id_of: Callable[[str], str]) -> None:
    """Give each agent executor its own session with the id of `id_of(executor.id)`, and its author's state.

    The framework gives them new ids with each graph. Whatever was kept under one by an attempt would be found by none.
    """
    for executor in executors_within(workflow):
        if isinstance(executor, AgentExecutor):
            original = executor._session
            session = AgentSession(session_id=id_of(executor.id), service_session_id=original.service_session_id)
            session.state = copy.deepcopy(original.state)
            executor._session = session


def checkpoint_text(checkpoint: WorkflowCheckpoint, allowed: frozenset[str]) -> str:
    """Return a checkpoint as JSON text; raises whatever its values raise, also where they could not be read again."""
    text = json.dumps(encode_checkpoint_value(checkpoint.to_dict()))
    read_checkpoint(text, allowed)
    return text


def read_checkpoint(text: str, allowed: frozenset[str]) -> WorkflowCheckpoint:
    """Return the checkpoint that `checkpoint_text` wrote.

    Its values are pickles. Only types of the framework, of Python's own values, and those of `allowed`
    (`module:qualname`) or `register_checkpoint_type` are made; any other raises.
    """
    return WorkflowCheckpoint.from_dict(decode_checkpoint_value(json.loads(text), allowed_types=allowed | _TYPES))
