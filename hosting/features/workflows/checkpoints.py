"""The framework's checkpoints as steps of a run: the newest is kept, and read again where the workflow is the same."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable
from dataclasses import is_dataclass
from enum import Enum
from typing import Any

from agent_framework import WorkflowCheckpoint
from pydantic import BaseModel

from hosting.core.agent.agent_runner import Attempt
from hosting.core.agent.framework import FRAMEWORK_VERSION
from hosting.core.agent.framework_graphs import read_checkpoint
from hosting.core.thread.events import Checkpointed
from hosting.core.thread.run import Run
from hosting.errors import CheckpointNotKeptError, WorkflowChangedError
from hosting.features.workflows.answer_types import MARKS, original
from hosting.features.workflows.requests import Requests
from hosting.workflows import HostedWorkflow

logger = logging.getLogger(__name__)


class NewestCheckpoint:
    """The framework's storage of checkpoints for one attempt: a run has its newest alone.

    `requests` are the questions with which the attempt ends.
    """

    def __init__(self) -> None:
        self.requests: Requests = {}
        self.restored: WorkflowCheckpoint | None = None

    async def restore(self, attempt: Attempt) -> dict[str, Any]:
        """Return how the workflow is run from the newest checkpoint; nothing where there is none.

        A run that brings answers begins with that of the run that asked. Raises `WorkflowChangedError` for a checkpoint
        of another workflow or framework, `CheckpointNotKeptError` for an unreadable one, `InvalidInputError`, and
        `RunCancelledError` where a question was given up.
        """
        raise NotImplementedError

    def session(self, attempt: Attempt) -> dict[str, Any] | None:
        """Return the thread's session after the run: as it was before, unless it has the workflow's state."""
        return attempt.session

    async def load(self, checkpoint_id: str) -> WorkflowCheckpoint:
        """Return the restored checkpoint."""
        assert self.restored is not None
        return self.restored

    async def list_checkpoints(self, *, workflow_name: str) -> list[WorkflowCheckpoint]:
        """Return nothing: a run has its newest alone."""
        return []

    async def delete(self, checkpoint_id: str) -> bool:
        """Delete nothing: it goes with its thread."""
        return False

    async def get_latest(self, *, workflow_name: str) -> WorkflowCheckpoint | None:
        """Return the restored checkpoint."""
        return self.restored

    async def list_checkpoint_ids(self, *, workflow_name: str) -> list[str]:
        """Return nothing, as `list_checkpoints`."""
        return []


def restored(hosted: HostedWorkflow, run: Run, event: Checkpointed, allowed: frozenset[str]) -> WorkflowCheckpoint:
    """Return a run's newest checkpoint; raises `WorkflowChangedError` and `CheckpointNotKeptError`."""
    if (event.graph, event.framework) != (hosted.graph, FRAMEWORK_VERSION):
        what = "graph" if event.graph != hosted.graph else f"agent-framework ({event.framework})"
        raise WorkflowChangedError(
            f"The run started with another {what} of workflow {hosted.name!r}, and its state does not fit this one. "
            "Finish these runs on the deployment where they started."
        )
    try:
        checkpoint = read_checkpoint(event.checkpoint, allowed | MARKS)
        checkpoint.pending_request_info_events = original(checkpoint.pending_request_info_events)
        return checkpoint
    except Exception as error:  # whatever a damaged one makes the framework raise
        raise unreadable(run) from error


def unreadable(run: Run) -> CheckpointNotKeptError:
    logger.exception("A checkpoint of run %s cannot be read.", run.run_id)
    return CheckpointNotKeptError("The state of the run after its last superstep cannot be read.")


def types_in(declared: Iterable[Any], modules: Iterable[str]) -> frozenset[str]:
    """Return the names of the declared types, and of the plain ones of these modules, as far as they are here."""
    named = [sys.modules[module] for module in modules if module in sys.modules]
    written = [kind for module in named for kind in vars(module).values() if _is_plain(kind)]
    types = (kind for kind in (*declared, *written) if isinstance(kind, type))
    return frozenset(f"{kind.__module__}:{kind.__qualname__}" for kind in types)


def _is_plain(value: Any) -> bool:
    """Return whether a value is a type that holds data and does nothing."""
    return isinstance(value, type) and (is_dataclass(value) or issubclass(value, BaseModel | Enum))
