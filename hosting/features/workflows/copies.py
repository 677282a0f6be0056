"""Copies of a workflow that an app has as one graph, so that each attempt of a run has its own.

Theory. A graph is written once, as it is at the start, and read for each attempt. What its copies share is left out and
put in again: code, types, the event loop of an earlier run, and what may be made once, agents and chat clients. All
else that executors keep is copied. The bytes never leave the process.
"""

from __future__ import annotations

import io
import logging
import pickle
from asyncio import AbstractEventLoop
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import BuiltinFunctionType, FunctionType, GenericAlias, ModuleType, UnionType
from typing import Any, Union, cast

from agent_framework import (
    AgentMiddleware,
    AgentSession,
    ChatMiddleware,
    Executor,
    FunctionMiddleware,
    SupportsAgentRun,
    SupportsChatGetResponse,
    Workflow,
)

from hosting.errors import ConfigurationError

_SHARED = (
    *(FunctionType, BuiltinFunctionType, ModuleType, type, GenericAlias, UnionType, type(Union[int, str])),  # noqa: UP007
    *(logging.Logger, AbstractEventLoop, SupportsAgentRun, SupportsChatGetResponse),
)

_OF_AGENTS = (AgentMiddleware, ChatMiddleware, FunctionMiddleware)
"""What executors and their agents have in common, as hand-overs do: the copy of an executor would know of none."""


def copies_of(workflow: Workflow) -> Callable[[], Workflow]:
    """Return a maker of copies of a graph as it is now; raises `ConfigurationError` if it cannot be copied."""
    try:
        data, shared = _written(workflow)
    except Exception as error:
        where, kind = _uncopied(workflow)
        raise ConfigurationError(
            f"Workflow {workflow.name!r} is one graph, and each run needs its own: {where} is a {kind}, which cannot "
            "be copied. Give the function that builds the workflow: workflows=[build_review]."
        ) from error

    def copy() -> Workflow:
        return cast(Workflow, _Copied(data, shared).load())

    return copy


class _Copying(pickle.Pickler):
    """Writes a graph without the parts that its copies share; each copy gets its own sessions for its agents."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.shared: list[Any] = []

    def persistent_id(self, obj: Any) -> int | None:
        if isinstance(obj, _OF_AGENTS):
            raise pickle.PicklingError("the agents, which copies share, have this one and not its copies")
        if not isinstance(obj, _SHARED) or isinstance(obj, Workflow | Executor):
            return None
        self.shared.append(obj)
        return len(self.shared) - 1

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, AgentSession):
            return _another_session, (obj.service_session_id, obj.state)
        return NotImplemented


class _Alone(_Copying):
    """Writes a value without the executors that it leads to, as their handlers do."""

    def persistent_id(self, obj: Any) -> int | None:
        return 0 if isinstance(obj, Executor) else super().persistent_id(obj)


class _Copied(pickle.Unpickler):
    """Reads the output of `_Copying`, in this process."""

    def __init__(self, data: bytes, shared: Sequence[Any]) -> None:
        super().__init__(io.BytesIO(data))
        self._shared = shared

    def persistent_load(self, pid: int) -> Any:
        return self._shared[pid]


def _another_session(service_session_id: Any, state: dict[str, Any]) -> AgentSession:
    session = AgentSession(service_session_id=service_session_id)
    session.state.update(state)
    return session


def _written(value: Any, kind: type[_Copying] = _Copying) -> tuple[bytes, list[Any]]:
    file = io.BytesIO()
    copying = kind(file)
    copying.dump(value)
    return file.getvalue(), copying.shared


def _uncopied(workflow: Workflow) -> tuple[str, str]:
    """Return where something stands that cannot be copied, and its type."""
    for executor in workflow.executors.values():
        for name, value in vars(executor).items():
            copied = False
            with suppress(Exception):
                _written(value, _Alone)
                copied = True
            if not copied:
                return f"{name} of executor {executor.id!r}", type(value).__name__
    return "what it keeps", type(workflow).__name__
