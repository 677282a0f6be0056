"""What the durable engine and the MCP endpoint ask of the hosted app: the one seam between them and the worker side."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from typing import Literal, Protocol

DurableKind = Literal["orchestrator", "activity", "entity"]
FunctionNames = Mapping[DurableKind, Mapping[str, str]]


class FunctionFailedError(Exception):
    """The app's function raised, timed out or answered something that its binding cannot carry.

    `message` is what the real worker puts on the wire, "TypeName: text"; `stack` is the Python
    traceback. Neither is meant for the callers of the app: hosts log them. `is_exit` says that what was raised is no
    `Exception`, a cancellation or an exit: nothing between the code that raised it and the host has caught it.
    """

    def __init__(self, message: str, stack: str = "", *, is_exit: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.stack = stack
        self.is_exit = is_exit

    @classmethod
    def of(cls, error: BaseException) -> FunctionFailedError:
        """Return the app's exception as the worker reports it: "TypeName: text", with its traceback."""
        stack = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        return cls(f"{type(error).__name__}: {error}", stack, is_exit=not isinstance(error, Exception))


class DurableFunctions(Protocol):
    """The app's durable functions, by the names the durable protocol uses."""

    def names(self, kind: DurableKind) -> Mapping[str, str]:
        """Return the functions of one kind: lower-cased durable name to the name as it was declared."""
        ...

    async def call(self, kind: DurableKind, name: str, payload: str) -> str:
        """Invoke one function with its trigger's text and return the text of its answer.

        Sync functions run in the worker's thread pool, async ones on the event loop. Raises `FunctionFailedError`
        when the function raised, ran past `functionTimeout`, or returned what its binding cannot carry; `KeyError`
        when there is no such function (callers look into `names` first).
        """
        ...


def function_names(functions: DurableFunctions) -> FunctionNames:
    """Return the app's durable functions by kind; they do not change while the host runs."""
    kinds: tuple[DurableKind, ...] = ("orchestrator", "activity", "entity")
    return {kind: functions.names(kind) for kind in kinds}


def is_missing(names: FunctionNames, kind: DurableKind, name: str) -> bool:
    """Say whether the app has no such function, whatever the case of the name."""
    return name.lower() not in names[kind]


def missing_function(names: FunctionNames, kind: DurableKind, name: str) -> str:
    """Return the real host's sentence, with the functions of that kind that there are."""
    known = ", ".join(f"'{declared}'" for declared in names[kind].values())
    hint = f"The following are the known {kind} functions: {known}." if known else f"There are no {kind} functions."
    return f"The function '{name}' doesn't exist, is disabled, or is not an {kind} function. Additional info: {hint}"
