"""Names of agents and of what is registered for them (design.md section 4: agent names, one id alphabet)."""

from __future__ import annotations

import re

from hosting.errors import ConfigurationError

MAX_ENTITY_ID_LENGTH = 100
"""Characters of `@dafx-<agent>@<thread>`, the engine's documented limit for an instance id."""

GENERATED_THREAD_ID_LENGTH = 32
_AGENT_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*\Z")
_MAX_AGENT_NAME_LENGTH = MAX_ENTITY_ID_LENGTH - len("@dafx-@") - GENERATED_THREAD_ID_LENGTH


def check_agent_name(name: object) -> str:
    """Return the name when it can stand in a function, an entity and a URL; else refuse it with a sentence."""
    if not isinstance(name, str) or not name:
        raise ConfigurationError("An agent has no name. Give each agent a name: Agent(..., name='assistant').")
    if not _AGENT_NAME.match(name):
        raise ConfigurationError(
            f"Agent name {name!r} cannot be a function's name. "
            "Begin with a letter and use letters, digits, '_' and '-'."
        )
    if len(name) > _MAX_AGENT_NAME_LENGTH:
        raise ConfigurationError(
            f"Agent name {name!r} has {len(name)} characters; "
            f"the engine leaves room for {_MAX_AGENT_NAME_LENGTH}. Shorten it."
        )
    return name


def entity_name(agent: str) -> str:
    """Return the entity that holds the conversations of an agent."""
    return f"dafx-{agent}"


def http_function(agent: str) -> str:
    """Return the function behind `POST agents/<agent>/run`."""
    return f"http-{agent}"


def mcp_function(agent: str) -> str:
    """Return the function behind the agent's MCP tool."""
    return f"mcptool-{agent}"


def max_thread_id_length(agent: str) -> int:
    """Return how many characters a thread id of this agent may have."""
    return min(64, MAX_ENTITY_ID_LENGTH - len(f"@{entity_name(agent)}@"))
