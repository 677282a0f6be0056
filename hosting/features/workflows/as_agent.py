"""Agents that are workflows (`as_agent()`): an agent to their callers, run as the workflow that they stand for.

Theory. In the framework such an agent keeps its workflow from turn to turn: each turn gives it the whole conversation,
and its executors have what they kept in the turn before. So the state after a turn is a checkpoint in the session of
the thread, and the next turn begins with it. A turn that asks or fails leaves the state of the turn before. State of
another graph or framework is left out, for the conversation is given anyway.
"""

from __future__ import annotations

import base64
import logging
import zlib
from collections.abc import Callable
from typing import Any

from agent_framework import (
    AgentSession,
    Content,
    FunctionalWorkflowAgent,
    HistoryProvider,
    InMemoryHistoryProvider,
    WorkflowAgent,
    WorkflowCheckpoint,
)
from msgspec.structs import replace

from hosting.core.agent.framework import FRAMEWORK_VERSION
from hosting.core.agent.framework_graphs import read_checkpoint
from hosting.errors import CheckpointNotKeptError, ConfigurationError
from hosting.features.workflows.checkpoints import NewestCheckpoint
from hosting.features.workflows.functional import function_of_agent
from hosting.features.workflows.given import UNNAMED, hosted_workflow
from hosting.workflows import HostedWorkflow, WorkflowInput

logger = logging.getLogger(__name__)

STATE = "workflow"
"""Where a session has the state of its workflow. The name is stored."""
MOST_BYTES = 262_144


def hosted_as_agent(agent: WorkflowAgent | FunctionalWorkflowAgent, name: str | None = None) -> HostedWorkflow:
    """Return the workflow of an agent, under the agent's name or this one.

    Raises `ConfigurationError` for an agent that does more than its workflow, and as `hosted_workflow` does.
    """
    name = name or agent.name
    if not name or name.startswith(UNNAMED):
        raise ConfigurationError("An agent that is a workflow has no name. Name it: as_agent(name='review').")
    kind = WorkflowAgent if isinstance(agent, WorkflowAgent) else FunctionalWorkflowAgent
    if type(agent).run is not kind.run:
        raise ConfigurationError(
            f"Agent {name!r} ({type(agent).__name__}) is a workflow with a run() of its own, which would not be "
            "called. Put this code into an executor, and give the agent that as_agent() returns."
        )
    for provider in getattr(agent, "context_providers", None) or ():
        if not isinstance(provider, InMemoryHistoryProvider) and (
            not isinstance(provider, HistoryProvider) or provider.load_messages
        ):
            raise ConfigurationError(
                f"Agent {name!r} is a workflow with the context provider {provider.source_id!r} "
                f"({type(provider).__name__}), which a workflow cannot be given here. Give it to an agent of the "
                "workflow."
            )
    if isinstance(agent, WorkflowAgent):
        hosted = hosted_workflow(agent.workflow, name)
        takes = WorkflowInput(takes_messages=True, takes_text=False, types=())
    else:
        hosted = hosted_workflow(function_of_agent(agent), name)
        takes = hosted.input
    return replace(hosted, name=name, description=agent.description or hosted.description, agent=agent, input=takes)


def contents_of(hosted: HostedWorkflow) -> Callable[[Any], list[Content]] | None:
    """Return how an agent's answer says a value that is no message; None for a workflow that is no agent."""
    if hosted.agent is None:
        return None
    return _of_value if hosted.functions else _of_values


def _of_values(value: Any) -> list[Content]:
    """Return the contents of an executor's value: of a list, those of each member."""
    if isinstance(value, list):
        return [content for item in value for content in _of_values(item)]
    return _of_value(value)


def _of_value(value: Any) -> list[Content]:
    return [value if isinstance(value, Content) else Content.from_text(str(value))]


def with_state(hosted: HostedWorkflow, session: dict[str, Any] | None, session_id: str, text: str) -> dict[str, Any]:
    """Return a session with the state of its workflow; raises `CheckpointNotKeptError` for one that is too large."""
    packed = base64.b64encode(zlib.compress(text.encode())).decode()
    if len(packed) > MOST_BYTES:
        raise CheckpointNotKeptError(
            f"The state of agent {hosted.name!r} after this run has {len(packed)} bytes, of at most {MOST_BYTES}: it "
            "is a workflow whose agents keep the whole conversation. Continue on a new thread."
        )
    kept = AgentSession.from_dict({**(session or {}), "session_id": session_id})
    kept.state[STATE] = {"graph": hosted.graph, "framework": FRAMEWORK_VERSION, "checkpoint": packed}
    return kept.to_dict()


class KeptState(NewestCheckpoint):
    """The storage from which a workflow gets the state of an earlier turn."""

    def __init__(self, checkpoint: WorkflowCheckpoint) -> None:
        super().__init__()
        self.restored = checkpoint
        self.checkpoint_id = checkpoint.checkpoint_id

    async def save(self, checkpoint: WorkflowCheckpoint) -> str:
        """Save nothing: nothing happens until the turn's message is there."""
        return checkpoint.checkpoint_id


def kept_state(hosted: HostedWorkflow, session: dict[str, Any] | None, allowed: frozenset[str]) -> KeptState | None:
    """Return the state after the last turn, or None: of a first turn, or where it does not fit this workflow."""
    state = ((session or {}).get("state") or {}).get(STATE)
    if not isinstance(state, dict):
        return None
    if (state.get("graph"), state.get("framework")) != (hosted.graph, FRAMEWORK_VERSION):
        logger.info("Agent %s begins anew with its conversation: its state is of another version.", hosted.name)
        return None
    try:
        text = zlib.decompress(base64.b64decode(state["checkpoint"])).decode()
        return KeptState(read_checkpoint(text, allowed))
    except Exception:  # whatever a damaged one makes the framework raise
        logger.exception("Agent %s begins anew with its conversation: its state cannot be read.", hosted.name)
        return None
