"""The versions of events, heads and rows: how this code writes them, and how it reads those of other versions.

Theory. Members that a reader does not know are ignored, so most new members need no version. A value that is written
again, as a head with each append, keeps them: an older version that comes between two turns of a newer one loses
nothing. Kinds of events that an older version of the code must not decide on have the newer one, and so does the head
after them: only threads that have any are kept from that code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from hosting.errors import NewerVersionError

VERSION = 1
NEWEST_VERSION = 12
"""As this code writes events and heads, and the newest that it reads."""

T = TypeVar("T")


class _Version(BaseModel):
    v: int = 0


def read_versioned(text: bytes, read: Callable[[bytes], T]) -> T:
    """Return the result of `read` for a stored event, head or row.

    Raises `NewerVersionError` for one of a newer version, `pydantic.ValidationError` for anything else.
    """
    value: Any = None
    try:
        value = read(text)
        version = value.v
    except ValidationError:
        version = _Version.model_validate_json(text).v
        if version <= NEWEST_VERSION:
            raise
    if value is None or version > NEWEST_VERSION:
        raise NewerVersionError(
            "A newer version of this app works on the thread. Try again; the newer one will answer."
        )
    return cast(T, value)
