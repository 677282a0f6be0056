"""Thread ids and run ids: how they are made and the one alphabet they are held to (http-api.md section 1)."""

from __future__ import annotations

import hashlib
import re
import uuid

from hosting.errors import InvalidThreadIdError
from hosting.events import Place
from hosting.names import max_thread_id_length

MAX_ID_LENGTH = 64
_DIGEST_LENGTH = 12


def id_pattern(most: int = MAX_ID_LENGTH) -> str:
    """Return the alphabet, at most so many characters of it, as a regular expression that JSON Schema reads too."""
    return rf"[A-Za-z0-9._~-]{{0,{most - 1}}}[A-Za-z0-9_~-]"


_ID = re.compile(id_pattern())


def new_id() -> str:
    """Return a fresh id of 32 hexadecimal digits, for a run, a thread or a fencing token."""
    return uuid.uuid4().hex


def place_digest(place: Place) -> str:
    """Return the 12 hexadecimal digits with which the ids of a thread's runs begin."""
    return hashlib.sha256(f"{place.agent}/{place.thread_id}".encode()).hexdigest()[:_DIGEST_LENGTH]


def new_run_id(place: Place) -> str:
    """Return a fresh run id of 32 hexadecimal digits, which leads a store from the thread to its runs."""
    return place_digest(place) + new_id()[_DIGEST_LENGTH:]


def is_id(value: str) -> bool:
    """Tell whether a text is of the alphabet that thread ids and run ids share."""
    return bool(_ID.fullmatch(value))


def check_thread_id(value: str, agent: str) -> str:
    """Return the thread id when this agent's entity can carry it; else raise `InvalidThreadIdError`."""
    limit = max_thread_id_length(agent)
    if is_id(value) and len(value) <= limit:
        return value
    shown = value if len(value) <= 80 else value[:80] + "…"
    raise InvalidThreadIdError(
        f"Thread id {shown!r} is not valid. "
        f"Use 1 to {limit} of the characters A-Z a-z 0-9 . _ ~ - and no '.' at the end."
    )
