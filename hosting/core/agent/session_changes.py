"""A tool call's changes of its run's session, so that a later attempt has them without another call.

Tools of context providers keep what they do in the session: a list of todos, a mode, which skills were loaded. A later
attempt gets the recorded result of such a call, and the call does nothing again; so the result has the change, too.
What providers and middleware do around the calls, they do again.
"""

from __future__ import annotations

import json
from typing import Any

from agent_framework import AgentSession

from hosting.core.agent.history import has_messages
from hosting.errors import UnstorableAnswerError


class SessionChanges:
    """The state in one session, without that of its history: as it was, and the changes since."""

    def __init__(self, session: AgentSession | None) -> None:
        self._session = session
        self._before = self._texts()

    def since(self) -> dict[str, Any] | None:
        """Return the state of each provider that changed since, in serialized form; None where nothing has."""
        changed = {source: text for source, text in self._texts().items() if self._before.get(source) != text}
        return {source: json.loads(text) for source, text in changed.items()} or None

    def _texts(self) -> dict[str, str]:
        """Return the state of each provider as JSON text. Raises `UnstorableAnswerError` for other values."""
        state = {} if self._session is None else self._session.state
        session = AgentSession(session_id="")
        session.state = {source: value for source, value in state.items() if value and not has_messages(value)}
        values: dict[str, Any] = session.to_dict()["state"]
        return {source: json.dumps(value, allow_nan=False, default=refuse_type) for source, value in values.items()}


def put_back(session: AgentSession | None, changes: dict[str, Any]) -> None:
    """Give the session this state of its providers; each keeps the mapping that it may hold already."""
    if session is None:
        return
    for source, value in AgentSession.from_dict({"session_id": "", "state": changes}).state.items():
        state = session.state.get(source)
        if isinstance(state, dict) and isinstance(value, dict):
            state.clear()
            state.update(value)
        else:
            session.state[source] = value


def refuse_type(value: object) -> Any:
    """Raise `UnstorableAnswerError` for a value of a session that is not JSON."""
    raise UnstorableAnswerError(
        f"The agent's session has a {type(value).__name__}, which is not JSON. Register that type with "
        "agent-framework (register_state_type), or store only plain values."
    )
