"""The name of an execution of an orchestration, which no repeated episode makes anew.

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

import json
from typing import Any
from uuid import UUID, uuid5

from msgspec import Struct

_NAMES = UUID("3b1f5a52-6c0e-5d0f-8a55-0a1f6f1c7d0e")
_CONTINUED = "durable-agents/execution"
"""The member of a stored input that names the execution itself; the one below names its parent."""
_OF_PARENT = "durable-agents/parent"
_INPUT = "input"


class GivenInput(Struct, frozen=True):
    """The input of an execution, and the `name` that is handed on to it, or that of its `parent`."""

    input: object
    name: str | None = None
    parent: str | None = None


def read_input(stored: object) -> GivenInput:
    """Return the value of a stored input, JSON text as the SDK takes it."""
    if not (isinstance(stored, str) and (_CONTINUED in stored or _OF_PARENT in stored)):
        return GivenInput(stored)
    value = json.loads(stored)
    if not isinstance(value, dict) or value.keys() not in ({_CONTINUED, _INPUT}, {_OF_PARENT, _INPUT}):
        return GivenInput(stored)
    return GivenInput(json.dumps(value[_INPUT]), value.get(_CONTINUED), value.get(_OF_PARENT))


class ExecutionName(Struct, frozen=True):
    """The name of one execution, of which all its ids are made."""

    text: str

    @classmethod
    def of_start(cls, instance_id: str, execution_id: str) -> ExecutionName:
        """Return that of an execution that a client started."""
        return cls(_made(instance_id, "execution", execution_id))

    @classmethod
    def of_child(cls, parent: str, task_id: int) -> ExecutionName:
        """Return that of a sub-orchestration, the task of that number of its parent."""
        return cls(_made(parent, "task", task_id))

    def id(self, number: int) -> str:
        """Return the id of that number."""
        return _made(self.text, "id", number)

    def for_next(self, value: Any) -> dict[str, Any]:
        """Return the input of the execution that this one continues as, with the name that follows from this one's."""
        return {_CONTINUED: _made(self.text, "continued", ""), _INPUT: value}

    def for_child(self, value: Any) -> dict[str, Any]:
        """Return the input of a sub-orchestration, with this name."""
        return {_OF_PARENT: self.text, _INPUT: value}


def _made(of: str, relation: str, value: object) -> str:
    return str(uuid5(_NAMES, json.dumps([of, relation, value])))
