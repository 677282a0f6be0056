"""What every event of a thread's log has."""

from __future__ import annotations

from pydantic import ConfigDict

from hosting.core.thread.versions import VERSION
from state.models import RememberingModel


class LogEvent(RememberingModel):
    """One event: `v` is the version of the code that may decide on it, `at` its time in seconds since 1970 (UTC)."""

    model_config = ConfigDict(frozen=True, extra="ignore")
    v: int = VERSION
    at: float
