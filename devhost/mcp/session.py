"""The state that the extension keeps in the client's `Mcp-Session-Id` header (host contract 5.3).

The server is stateless: the header carries a client id and the id of the host instance, open text without keys.
"""

from __future__ import annotations

import re
import secrets
import string

_STATE = re.compile(r"[A-Za-z0-9]{1,64}\|[A-Za-z0-9]{1,64}")
_ALPHABET = string.ascii_lowercase + string.digits


def new_state(instance_id: str) -> str:
    """Return the state for a client that initializes."""
    return f"{_identifier()}|{instance_id}"


def new_instance_id() -> str:
    """Return an id for this run of the host."""
    return _identifier()


def is_state(text: str) -> bool:
    """Tell whether the header's text can be a state; any host's will do, as nothing is kept here."""
    return _STATE.fullmatch(text) is not None


def _identifier() -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(16))
