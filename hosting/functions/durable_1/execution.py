"""One execution of an orchestration, under a name that no repeated episode makes anew.

Theory. On Azure Storage the engine sends an episode's messages before it writes its history. A host that dies between
the two leaves messages that are out, and the episode is made again: at another time, so the SDK's `new_uuid` gives
other ids, and whoever is called is called twice, by two names. So ids are made of the execution's name and a counter.

A client starts an execution under an id that is in the engine before the first episode, and that a rewind keeps. That
names it. Any other execution gets its id from an episode that may be repeated: one that continues as new, and a
sub-orchestration. Those are named after the execution that began them, which hands the name on with the input, because
nothing else reaches them. A sub-orchestration has its place among the parent's tasks in its name, too: another attempt
of a retried one is another execution.

An orchestration sees the input that was given to it, and never the name around it.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid5

import azure.durable_functions as df
import azure.functions as func
from azure.durable_functions.models.history import HistoryEventType
from azure.durable_functions.models.Task import TaskBase
from msgspec import Struct

_NAMES = UUID("3b1f5a52-6c0e-5d0f-8a55-0a1f6f1c7d0e")
_CONTINUED = "durable-agents/execution"
"""The member of a stored input that names the execution itself; the one below names its parent."""
_OF_PARENT = "durable-agents/parent"
_INPUT = "input"


class _Given(Struct, frozen=True):
    """The input of an execution, and the `name` that is handed on to it, or that of its `parent`."""

    input: object
    name: str | None = None
    parent: str | None = None


def _read(stored: object) -> _Given:
    """Return the value of a stored input, JSON text as the SDK takes it."""
    if not (isinstance(stored, str) and (_CONTINUED in stored or _OF_PARENT in stored)):
        return _Given(stored)
    value = json.loads(stored)
    if not isinstance(value, dict) or value.keys() not in ({_CONTINUED, _INPUT}, {_OF_PARENT, _INPUT}):
        return _Given(stored)
    return _Given(json.dumps(value[_INPUT]), value.get(_CONTINUED), value.get(_OF_PARENT))


def _name(of: str, relation: str, value: object) -> str:
    return str(uuid5(_NAMES, json.dumps([of, relation, value])))


class Execution(df.DurableOrchestrationContext):  # type: ignore[misc]  # the SDK carries no types
    """The SDK's context, whose `new_uuid` returns the same ids in every replay of an episode."""

    def __init__(
        self,
        history: list[dict[str, Any]],
        instanceId: str,
        isReplaying: bool,
        parentInstanceId: str | None,
        input: object = None,
        **others: Any,
    ) -> None:
        given = _read(input)
        super().__init__(history, instanceId, isReplaying, parentInstanceId, given.input, **others)
        self.input_type: type | None = None
        self._name = self._named(given)
        self._ids = 0

    def _named(self, given: _Given) -> str:
        started = next(event for event in self.histories if event.event_type == HistoryEventType.EXECUTION_STARTED)
        # A client's start has a generation. Where it restarts an instance, its input names an execution that is over.
        is_handed_on = getattr(started, "Generation", None) is None
        if is_handed_on and given.name is not None:
            return given.name
        if is_handed_on and given.parent is not None and started.ParentInstance:
            return _name(given.parent, "task", started.ParentInstance["TaskScheduleId"])
        return _name(self.instance_id, "execution", started.OrchestrationInstance["ExecutionId"])

    def new_uuid(self) -> str:
        """Return the next id of this execution, the same one at every repetition."""
        self._ids += 1
        return _name(self._name, "id", self._ids)

    def new_guid(self) -> UUID:
        """Return `new_uuid` as an object."""
        return UUID(self.new_uuid())

    def get_input(self, expected_type: type | None = None) -> Any:
        """Return the input."""
        return super().get_input(expected_type or self.input_type)

    def continue_as_new(self, input_: Any) -> None:
        """Continue with that input, under a name that follows from this one's."""
        super().continue_as_new({_CONTINUED: _name(self._name, "continued", ""), _INPUT: input_})

    def call_sub_orchestrator(self, name: Any, input_: Any = None, *others: Any, **options: Any) -> TaskBase:
        """Return the task of a sub-orchestration with that input."""
        return super().call_sub_orchestrator(name, self._handed_on(input_), *others, **options)

    def call_sub_orchestrator_with_retry(
        self, name: Any, retry_options: df.RetryOptions, input_: Any = None, *others: Any, **options: Any
    ) -> TaskBase:
        """Return the task of a sub-orchestration with that input, tried again as the options say."""
        given = self._handed_on(input_)
        return super().call_sub_orchestrator_with_retry(name, retry_options, given, *others, **options)

    def _handed_on(self, given: Any) -> dict[str, Any]:
        return {_OF_PARENT: self._name, _INPUT: given}


def naming(handle: Callable[..., str]) -> Callable[..., str]:
    """Return the handler of an orchestrator, which then has an `Execution` as its context."""
    orchestrator = handle.orchestrator_function  # type: ignore[attr-defined]  # the SDK's name for what it wraps

    @functools.wraps(handle)
    def named(context: func.OrchestrationContext) -> str:
        execution = Execution.from_json(getattr(context, "body", context))
        execution.input_type = getattr(handle, "_df_input_type", None)
        answer: str = df.Orchestrator(orchestrator).handle(execution)
        return answer

    return named
