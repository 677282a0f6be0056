"""How far a run is, as its own code says: a share from 0 to 1, and a text for people.

Tools, executors, context providers and middleware say it by `hosting.tools.current().progress(...)`. The model does not
get it. Whoever runs the code sets `REPORT`; `hosting.features.progress` writes what is reported.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextvars import ContextVar

from typing_extensions import TypedDict

LONGEST_TEXT = 200
"""Characters of the text of a progress."""

REPORT: ContextVar[Callable[[float, str], None] | None] = ContextVar("hosting_report", default=None)
"""Takes the progress of the run that is at work, from any thread, and returns at once; None outside of a run."""


class Progress(TypedDict):
    """How far a run is that has not ended, as its own code says: a `share` from 0 to 1, and a `text`, maybe empty."""

    share: float
    text: str


class Reported(Awaitable[None]):
    """A progress that was taken. There is nothing to wait for, so code that is not asynchronous leaves `await` out."""

    def __await__(self) -> Generator[None, None, None]:
        yield from ()


def report_progress(share: float, text: str) -> Reported:
    """Take the progress of the run that is at work.

    Raises `ValueError` for a share or a text that is none, and `LookupError` outside of a run, or after its end.
    """
    is_number = isinstance(share, int | float) and not isinstance(share, bool)
    if not is_number or not 0 <= share <= 1:
        raise ValueError(f"progress() got the share {share!r:.80}. Give a number from 0 to 1.")
    if not isinstance(text, str):
        raise ValueError(f"progress() got a {type(text).__name__} as text. Give a str.")
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"progress() got a text of {len(text)} characters. Give at most {LONGEST_TEXT}.")
    if (write := REPORT.get()) is None:
        raise LookupError("current().progress() works only inside a run of this app's agents.")
    write(float(share), text)
    return Reported()
