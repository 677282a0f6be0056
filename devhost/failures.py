"""A Python exception of the app as the worker reports it (host contract 1.7)."""

from __future__ import annotations

import traceback

from devhost.ports import FunctionFailedError


def failure_of(error: BaseException) -> FunctionFailedError:
    """Return the error as "TypeName: text" with its traceback."""
    stack = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    return FunctionFailedError(f"{type(error).__name__}: {error}", stack)
