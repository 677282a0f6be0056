"""A functional workflow that an app is given: its function, its steps, and its input, read once at the start.

Theory. A function has no graph. What it takes is the type of its parameter. Its steps are found as its code names
them, and so are the agents of both. A `FunctionalWorkflow` keeps the state of its last run: each attempt has another.
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, Union, get_args, get_origin, get_type_hints

from agent_framework import (
    FunctionalWorkflow,
    FunctionalWorkflowAgent,
    FunctionalWorkflowDefinition,
    Message,
    RunContext,
    StepWrapper,
)
from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter

from hosting.core.agent.framework import agents_among, named_in
from hosting.errors import ConfigurationError
from hosting.features.workflows.checkpoints import types_in
from hosting.tools import IDEMPOTENT
from hosting.workflows import HostedWorkflow, WorkflowGraph, WorkflowInput

Function = FunctionalWorkflow | FunctionalWorkflowDefinition
_Step = StepWrapper[Any]
_TEXTS = (str, object, Any, inspect.Parameter.empty)
"""The types of a parameter that take a text."""


def hosted_function(workflow: Function) -> HostedWorkflow:
    """Return a functional workflow as it is hosted; raises `ConfigurationError` for one that cannot be."""
    name, function = workflow.name, decorated(workflow)

    def build() -> FunctionalWorkflow:
        return FunctionalWorkflow(function, name=name, description=workflow.description)

    steps = steps_of(function)
    for step in steps:
        _check_step(name, step)
    return HostedWorkflow(
        name,
        workflow.description or f"Run the workflow {name}.",
        build,
        build().graph_signature_hash,
        _shape_of(name, steps),
        _input_of(name, function),
        functions=_functions_of(function),
        agents=lambda: agents_among(named_in(_functions_of(function))),
    )


def function_of_agent(agent: FunctionalWorkflowAgent) -> FunctionalWorkflow:
    """Return the functional workflow that the agent stands for (`as_agent()`)."""
    return agent._workflow


def decorated(workflow: Function | _Step) -> Callable[..., Any]:
    """Return the function that has the decorator."""
    function: Callable[..., Any] = workflow.__wrapped__  # type: ignore[union-attr]  # as `functools` names it
    return function


def steps_of(function: Callable[..., Any]) -> list[_Step]:
    """Return the steps that a workflow's function calls, and those that they call, each once."""
    return [value for value in _named_by(function, StepWrapper) if isinstance(value, StepWrapper)]


def _functions_of(function: Callable[..., Any]) -> tuple[Callable[..., Any], ...]:
    """Return a workflow's function, those of its steps and of workflows that it calls, each once."""
    kinds = (StepWrapper, FunctionalWorkflow, FunctionalWorkflowDefinition)
    named = (decorated(value) for value in _named_by(function, kinds) if isinstance(value, kinds))
    return tuple(dict.fromkeys((function, *named)))


def idempotent_steps(function: Callable[..., Any]) -> frozenset[str]:
    """Return the names of the steps that may be run again: all steps of the name are declared so."""
    steps = steps_of(function)
    once = {step.name for step in steps if not getattr(step, IDEMPOTENT, False)}
    return frozenset(step.name for step in steps) - once


def types_of(function: Callable[..., Any]) -> frozenset[str]:
    """Return the types that results and state may have: those declared, and the plain ones of the steps' modules."""
    functions = [function, *map(decorated, steps_of(function))]
    declared = [kind for each in functions for hint in _hints_of(each).values() for kind in _within(hint)]
    return types_in(declared, {each.__module__ for each in functions})


def errors_of(function: Callable[..., Any]) -> dict[str, type[Exception]]:
    """Return the classes of errors in the modules of a workflow's function and its steps, by their names."""
    modules = {each.__module__ for each in (function, *map(decorated, steps_of(function)))} & sys.modules.keys()
    values = [value for module in sorted(modules) for value in vars(sys.modules[module]).values()]
    return {value.__name__: value for value in values if isinstance(value, type) and issubclass(value, Exception)}


def _named_by(function: Callable[..., Any], within: Any) -> Iterator[Any]:
    """Iterate over the values that a function names, and those that the functions of this kind among them do."""
    waiting: list[Any] = [function]
    for candidate in waiting:  # grows meanwhile
        for value in (item for named in named_in([candidate]) for item in _items(named)):
            if isinstance(value, within):
                if value in waiting:
                    continue
                waiting.append(value)
            yield value


def _items(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list | tuple | set | frozenset) else (value,)


def _within(hint: Any) -> Iterator[Any]:
    """Iterate over a type and those within it: `Order` in `list[Order]`."""
    yield hint
    for inner in get_args(hint):
        yield from _within(inner)


def _hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the types of a function's parameters and of its result, as far as they can be resolved."""
    try:
        return get_type_hints(function)
    except Exception:  # names that are there for type checkers only: the framework does without them too
        return {}


def _check_step(workflow: str, step: _Step) -> None:
    """Raise `ConfigurationError` for a step whose calls would be unknown in another process."""
    if step._replay_key is None and not step._wrapper_identity_is_durable:
        raise ConfigurationError(
            f"Step {step.name!r} of workflow {workflow!r} uses values from around it that may change, so its calls "
            "cannot be known again in another process. Name each call: @step(replay_key=lambda order: order.id)."
        )


def _shape_of(name: str, steps: list[_Step]) -> WorkflowGraph:
    """Return the drawing: the function, which leads to each of its steps."""
    names = sorted({step.name for step in steps} - {name})
    return {
        "start": name,
        "executors": [{"id": each, "kind": "code"} for each in (name, *names)],
        "edges": [{"source": name, "target": each, "kind": "direct"} for each in names],
    }


def _input_of(name: str, function: Callable[..., Any]) -> WorkflowInput:
    hints = _hints_of(function)
    kinds = [
        hints.get(parameter.name, Any)
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name != "ctx"
        and hints.get(parameter.name) is not RunContext
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    if not kinds:
        raise ConfigurationError(
            f"The function of workflow {name!r} takes no input, and agent-framework begins none without. Give it a "
            "parameter, such as text: str."
        )
    is_union = get_origin(kinds[0]) in (Union, types.UnionType)
    members = get_args(kinds[0]) if is_union else kinds[:1]
    values: list[Any] = []
    for kind in members:
        if kind in (*_TEXTS, Message, list[Message], type(None)):
            continue
        with suppress(PydanticSchemaGenerationError, PydanticUserError, TypeError):
            TypeAdapter(kind).json_schema()
            values.append(kind)
    takes_text = any(kind in _TEXTS for kind in members)
    found = WorkflowInput(list[Message] in members, takes_text, tuple(values), Message in members)
    if not found.takes_words and not values:
        shown = ", ".join(getattr(kind, "__name__", str(kind)) for kind in members)
        raise ConfigurationError(
            f"The function of workflow {name!r} takes {shown}, which a request cannot carry. Let it take str, "
            "list[Message], or a type with a JSON Schema such as a dataclass."
        )
    return found
