"""What the durable engine and the MCP endpoint ask of the hosted app: the one seam between them and the worker side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, Protocol

DurableKind = Literal["orchestrator", "activity", "entity"]


class FunctionFailedError(Exception):
    """The app's function raised, timed out or answered something that its binding cannot carry.

    `message` is what the real worker puts on the wire, "TypeName: text" (host contract 1.7); `stack` is the Python
    traceback. Neither is meant for the callers of the app: hosts log them.
    """

    def __init__(self, message: str, stack: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.stack = stack


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
