"""A hosted workflow: what all of the app knows of it, without the framework's modules of workflows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Union

from msgspec import Struct, field
from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

from hosting.errors import InvalidInputError

if TYPE_CHECKING:
    from agent_framework import FunctionalWorkflow, FunctionalWorkflowDefinition, SupportsAgentRun, Workflow

AnyWorkflow: TypeAlias = "Workflow | FunctionalWorkflow | FunctionalWorkflowDefinition"
WorkflowSource: TypeAlias = "AnyWorkflow | Callable[[], AnyWorkflow]"
"""A workflow of an app: a graph, a function with the decorator `workflow`, or what builds one of them."""

_MOST_FAULTS = 3
_LONGEST_FAULT = 200


class WorkflowInput(Struct, frozen=True, dict=True):
    """The inputs of a workflow's start executor: `messages` of a conversation, a `text`, and values of `types`.

    One that takes a single message gets the newest.
    """

    takes_messages: bool
    takes_text: bool
    types: tuple[Any, ...]
    takes_message: bool = False

    @property
    def takes_words(self) -> bool:
        """Whether a message is taken as it is; else it is the JSON text of a value."""
        return self.takes_contents or self.takes_text

    @property
    def takes_contents(self) -> bool:
        """Whether pictures and files are taken: as parts of a message."""
        return self.takes_messages or self.takes_message

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        united: Any = Union[self.types]  # noqa: UP007  # of types that are known only here
        return TypeAdapter(united)

    @property
    def schema(self) -> Mapping[str, Any]:
        """The JSON Schema of `input`."""
        words: list[Mapping[str, Any]] = [{"type": "string"}] if self.takes_words else []
        if not self.types:
            return words[0]
        values = self._adapter.json_schema(ref_template="#/$defs/{model}")
        return {"anyOf": [*words, values]} if words else values

    def value(self, text: str) -> Any:
        """Return the value in this JSON text; raises `InvalidInputError`, without quoting it."""
        if not self.types:
            raise InvalidInputError("This workflow takes a message. Send message, or a string as input.")
        try:
            return self._adapter.validate_json(text)
        except ValidationError as error:
            raise InvalidInputError(
                f"The input does not fit this workflow: {faults_of(error, 'input')}. GET workflows has its "
                "input_schema."
            ) from None

    def check(self, text: str, *, is_json: bool, has_contents: bool) -> None:
        """Raise `InvalidInputError` for a message, or the JSON text of a value, that the workflow does not take."""
        if has_contents and not self.takes_contents:
            raise InvalidInputError("This workflow takes no pictures or files. Leave contents out.")
        if is_json or not self.takes_words:
            self.value(text)


class GraphExecutor(TypedDict):
    """An executor of a workflow: the author's own `code`, an agent, or another workflow."""

    id: str
    kind: Literal["agent", "workflow", "code"]


class GraphEdge(TypedDict):
    """A connection for messages between two executors: to all (fan-out), to one (switch), or on a condition."""

    source: str
    target: str
    kind: Literal["direct", "conditional", "fan_out", "fan_in", "switch"]


class WorkflowGraph(TypedDict):
    """The executors of a workflow and their connections; `start` receives the input."""

    start: str
    executors: list[GraphExecutor]
    edges: list[GraphEdge]


class HostedWorkflow(Struct, frozen=True):
    """A workflow by its name. `build` makes a new graph each time.

    `graph` is the digest of how they are connected, and `shape` what a drawing of it shows. Of a functional workflow
    it is the digest of its code, and the shape is its function, which leads to each of its steps. `functions` are its
    function, those of its steps, and those of workflows that it calls. To its callers it is the `agent`, if it was
    given as one (`as_agent()`). `agents` returns those that a new graph calls; each of `prepare` is called with those
    of each attempt, before its first call.
    """

    name: str
    description: str
    build: Callable[[], Any]
    graph: str
    shape: WorkflowGraph
    input: WorkflowInput
    agent: SupportsAgentRun | None = None
    functions: tuple[Callable[..., Any], ...] = ()
    agents: Callable[[], Sequence[Any]] = tuple
    prepare: list[Callable[[Sequence[Any]], object]] = field(default_factory=list)


def faults_of(error: ValidationError, whole: str) -> str:
    """Return a type's complaints about a value, without the value; those about no member are of the `whole`."""
    found = error.errors(include_url=False, include_input=False, include_context=False)[:_MOST_FAULTS]
    faults = (f"{'.'.join(map(str, fault['loc'])) or whole}: {fault['msg']}"[:_LONGEST_FAULT] for fault in found)
    return "; ".join(faults)


def json_text(value: Any) -> str:
    """Return a value as the JSON text that a run keeps of it."""
    return json.dumps(value, ensure_ascii=False)
