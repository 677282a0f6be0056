"""The names under which background agents are hosted: entities, threads and figures have them. Stored."""

from __future__ import annotations

import hashlib

from hosting.errors import ConfigurationError
from hosting.names import check_agent_name

_DIGEST_LENGTH = 8


def hosted_name(parent: str, agent: str, *, has_owners: bool) -> str:
    """Return `<parent>_<agent>`, with a digest in place of an agent's name that is too long for it or no name of ours.

    Raises `ConfigurationError` for a parent whose name leaves no room.
    """
    try:
        return check_agent_name(f"{parent}_{agent}", has_owners=has_owners)
    except ConfigurationError:
        digest = hashlib.sha256(agent.lower().encode()).hexdigest()[:_DIGEST_LENGTH]
        return check_agent_name(f"{parent}_{digest}", has_owners=has_owners)
