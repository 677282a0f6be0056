"""The state that a page shares with an agent: any JSON value, which both read and change (AG-UI's `state`).

Theory. It stands in the session of a run, beside the state of context providers. So it is kept with the thread by the
run's end, a tool's change by the record of its call, and it is copied, taken back and erased with the rest. It stands
there as JSON text: agent-framework makes an object of each mapping in a session that has the `type` of one of its
classes, and what a page sends must become none.

A run begins with the state that its request brought, otherwise with the thread's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agent_framework import Agent, AgentSession

from state.json_values import portable_value

KEY = "shared_state"
MOST_STATE_BYTES = 65_536
"""Of the state as JSON text: each record of a tool's call that changes it has it whole."""


def read_state(session: AgentSession | None) -> Any:
    """Return the state of this session, None where there is none; a changed copy counts once it is written."""
    text = None if session is None else session.state.get(KEY)
    return json.loads(text) if isinstance(text, str) else None


def write_state(session: AgentSession | None, value: Any) -> None:
    """Make a JSON value the state of this session: pages that follow the run get it when the tool has ended.

    Raises `ValueError` for a value that is not JSON or is too large, and without a session.
    """
    if session is None:
        raise ValueError("This call has no session, so it has no shared state. Run the agent with a session.")
    session.state[KEY] = state_text(value)


def state_text(value: Any) -> str:
    """Return a state as JSON text; raises `ValueError` for a value that is not JSON or is too large."""
    try:
        text = json.dumps(portable_value(value), ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"The shared state is not JSON: {error}") from error
    if size > MOST_STATE_BYTES:
        raise ValueError(f"The shared state has {size:,} bytes as JSON; the limit is {MOST_STATE_BYTES:,}.")
    return text


def takes_state(agent: object) -> bool:
    """Return whether the tools and context providers of the agent get a session that the app keeps."""
    return isinstance(agent, Agent)


def with_shared(session: AgentSession, text: str | None) -> AgentSession:
    """Return the session with the state of a request, if it brought any."""
    if text is not None:
        session.state[KEY] = text
    return session


def text_in(session: Mapping[str, Any] | None) -> str | None:
    """Return the state in a session in serialized form, as JSON text."""
    text = ((session or {}).get("state") or {}).get(KEY)
    return text if isinstance(text, str) else None
