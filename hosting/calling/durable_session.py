"""A conversation as an orchestration holds it: an agent's name and a thread id, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from hosting.errors import InvalidFieldError


@dataclass(frozen=True)
class DurableAgentSession:
    """One thread of one agent; runs with the same session are one conversation.

    Not a subclass of the framework's `AgentSession`: what somebody wrote into that one's `state` would be lost, for
    the state of a hosted session lives in the agent's entity.
    """

    agent: str
    thread_id: str

    @property
    def session_id(self) -> str:
        """The thread's id under the framework's name."""
        return self.thread_id


def check_session(session: object, agent: str) -> DurableAgentSession:
    """Return the session when it is one of this agent; else raise `InvalidFieldError`."""
    if not isinstance(session, DurableAgentSession):
        raise InvalidFieldError(
            f"session is a {type(session).__name__}. Give one of this agent's create_session() or get_session(id)."
        )
    if session.agent.lower() != agent.lower():
        raise InvalidFieldError(
            f"The session is one of agent {session.agent!r} and cannot be used with {agent!r}. "
            f"Give one of {agent!r}, made by its create_session()."
        )
    return session
