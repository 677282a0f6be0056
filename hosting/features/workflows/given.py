"""The workflows that an app is given: each is looked at once at the start, and what cannot be hosted is refused.

Theory. The framework's `Workflow` is a graph that has state: one run at a time, and what a run leaves is met by the
next one. So each attempt of a run has a graph of its own: the function that the app is given builds it, or it is a copy
of the graph that the app is given. Two are made at the start, which must be alike and share no executor.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Literal

from agent_framework import (
    AgentExecutor,
    Executor,
    FanInEdgeGroup,
    FanOutEdgeGroup,
    FunctionalWorkflow,
    FunctionalWorkflowDefinition,
    Message,
    StepWrapper,
    SwitchCaseEdgeGroup,
    Workflow,
    WorkflowExecutor,
    WorkflowMessage,
)
from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter

from hosting.core.agent.framework_graphs import agents_of_workflow
from hosting.errors import ConfigurationError
from hosting.features.workflows.copies import copies_of
from hosting.features.workflows.functional import hosted_function
from hosting.workflows import GraphEdge, GraphExecutor, HostedWorkflow, WorkflowGraph, WorkflowInput

UNNAMED = "WorkflowBuilder-"
"""The prefixes of the framework's own names, which are new with each graph."""
_RANDOM = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
"""An id that the framework makes up, which is another one in each process."""
_TEXT = "text"


def hosted_workflow(given: object, name: str | None = None) -> HostedWorkflow:
    """Return a given graph, or the graph of a function; raises `ConfigurationError` for one that cannot be hosted.

    `name` is that of a graph which has none of its own.
    """
    if isinstance(given, FunctionalWorkflow | FunctionalWorkflowDefinition):
        return hosted_function(given)
    if isinstance(given, StepWrapper) or inspect.iscoroutinefunction(given):
        raise ConfigurationError(
            f"{getattr(given, '__name__', 'This')!r} is an asynchronous function. Give it the decorator workflow."
        )
    build = copies_of(given) if isinstance(given, Workflow) else given
    if not callable(build):
        raise ConfigurationError(
            f"A {type(build).__name__} is neither a Workflow nor a function that builds one. Give "
            "workflows=[build_review]."
        )
    shown = "It" if isinstance(given, Workflow) else f"{getattr(build, '__name__', type(build).__name__)}()"
    workflow, other = build(), build()
    if isinstance(workflow, FunctionalWorkflow | FunctionalWorkflowDefinition):
        return hosted_function(workflow)
    if not isinstance(workflow, Workflow) or not isinstance(other, Workflow):
        raise ConfigurationError(f"{shown} returned a {type(workflow).__name__}. Return the Workflow that it builds.")
    if workflow.name.startswith(UNNAMED):
        if name is None:
            raise ConfigurationError(
                f"The workflow of {workflow.start_executor_id!r} has no name. Give WorkflowBuilder(name='review', "
                "...), or name it in workflows={'review': ...}."
            )
        build = _named(build, name)
        workflow, other = build(), build()
    _check_builds(workflow, other, shown)
    return HostedWorkflow(
        workflow.name,
        workflow.description or f"Run the workflow {workflow.name}.",
        build,
        workflow.graph_signature_hash,
        _shape_of(workflow),
        _input_of(workflow.name, workflow),
        agents=lambda: agents_of_workflow(build()),
    )


def _check_builds(workflow: Workflow, other: Workflow, shown: str) -> None:
    """Raise `ConfigurationError` for two builds that share an executor, or are not the same graph."""
    shared = [one.id for one in workflow.executors.values() if one in other.executors.values()]
    if shared:
        raise ConfigurationError(
            f"{shown} gives executor {shared[0]!r} to every workflow {workflow.name!r} that it builds, and an "
            "executor keeps the state of its run. Create the executors inside the function; agents and clients may be "
            "created outside."
        )
    is_new = any(one not in other.executors or _RANDOM.search(one) for one in workflow.executors)
    if is_new or workflow.graph_signature_hash != other.graph_signature_hash:
        raise ConfigurationError(
            f"Workflow {workflow.name!r} has another graph each time it is built, so its runs could not continue in "
            "another process. Give each executor its own id, and each agent a name."
        )


def _named(build: Callable[[], Any], name: str) -> Callable[[], Workflow]:
    def named() -> Workflow:
        workflow: Workflow = build()
        workflow.name = name
        return workflow

    return named


def hosted_workflows(workflow: object, workflows: object) -> list[HostedWorkflow]:
    """Return the workflows that an app is given: one, several, or several by name."""
    hosted = [] if workflow is None else [hosted_workflow(workflow)]
    if isinstance(workflows, Mapping):
        for name, given in workflows.items():
            hosted.append(hosted_workflow(given, name))
            if hosted[-1].name != name:
                own = hosted[-1].name
                raise ConfigurationError(f"workflows has {name!r} for the workflow {own!r}. Use its own name.")
    elif isinstance(workflows, Sequence) and not isinstance(workflows, str):
        hosted += map(hosted_workflow, workflows)
    elif workflows is not None:
        raise ConfigurationError("workflows takes a list of workflows, or of functions that build them.")
    return hosted


def _input_of(name: str, workflow: Workflow) -> WorkflowInput:
    start = workflow.get_start_executor()

    def takes(value: Any) -> bool:
        return start.can_handle(WorkflowMessage(data=value, source_id=start.id))

    types: list[Any] = []
    taken: Sequence[Any] = start.input_types
    for each in taken:
        if each in (str, object, Message):
            continue
        with suppress(PydanticSchemaGenerationError, PydanticUserError, TypeError):
            TypeAdapter(each).json_schema()
            types.append(each)
    message = Message("user", [_TEXT])
    found = WorkflowInput(takes([message]), takes(_TEXT), tuple(types), takes(message))
    if not found.takes_words and not found.types:
        shown = ", ".join(getattr(each, "__name__", str(each)) for each in taken)
        raise ConfigurationError(
            f"The start executor {start.id!r} of workflow {name!r} takes {shown}, which a request cannot carry. Let "
            "it take str, list[Message], or a type with a JSON Schema such as a dataclass."
        )
    return found


def _shape_of(workflow: Workflow) -> WorkflowGraph:
    """Return the drawing of a workflow, without the framework's messages to itself."""
    known = workflow.executors
    executors: list[GraphExecutor] = [{"id": one.id, "kind": _kind_of(one)} for one in known.values()]
    edges: list[GraphEdge] = []
    for group in workflow.edge_groups:
        for edge in group.edges:
            if edge.source_id not in known:
                continue
            kind: Literal["direct", "conditional", "fan_out", "fan_in", "switch"] = "direct"
            if isinstance(group, SwitchCaseEdgeGroup):
                kind = "switch"
            elif isinstance(group, FanInEdgeGroup):
                kind = "fan_in"
            elif edge.has_condition or (isinstance(group, FanOutEdgeGroup) and group.selection_func is not None):
                kind = "conditional"
            elif isinstance(group, FanOutEdgeGroup):
                kind = "fan_out"
            edges.append({"source": edge.source_id, "target": edge.target_id, "kind": kind})
    return {"start": workflow.start_executor_id, "executors": executors, "edges": edges}


def _kind_of(executor: Executor) -> Literal["agent", "workflow", "code"]:
    if isinstance(executor, WorkflowExecutor):
        return "workflow"
    return "agent" if isinstance(executor, AgentExecutor) else "code"
