"""How long a run may take, and each of its attempts: what the app's author chose, inside what the platform gives.

Theory. The platform ends a function at `functionTimeout` by ending its worker, and with it every other run there. So no
attempt may take as long, and a run takes as many as it needs. Behind half of that time its holder releases the run at
the next step boundary, and the thread's entity claims it again: a step has the other half at least. An attempt that
is in the middle of a step at its end is given up: the step is made again by the next one, with all of the time, where
that does no harm.

A run's limit counts the time in which a process has it, measured by that process alone and written down with each
append: two machines' clocks are never compared, and what nobody works at does not become older.
"""

from __future__ import annotations

import math

from msgspec import Struct

from hosting.core.thread_log import PATIENCE_SECONDS
from hosting.errors import ConfigurationError
from hosting.settings import LONGEST_RUN_SECONDS, Settings

STOPPING_SECONDS = 5.0
"""For so long an agent that was cancelled may clean up."""

ENDING_SECONDS = STOPPING_SECONDS + PATIENCE_SECONDS
"""The time of an attempt after its limit: the agent's clean-up, and a log that is away while its end is appended."""

MARGIN_SECONDS = ENDING_SECONDS + PATIENCE_SECONDS
"""Between an attempt's limit and the function's: its end, and a log that is away before its agent starts."""

LEAST_SECONDS = 5.0
"""What an attempt must have besides, for its steps."""


class AttemptTimes(Struct, frozen=True):
    """How long an attempt works until it is handed on behind its next step, and until it is stopped (s).

    Its run may take `run_seconds` in all.
    """

    work_seconds: float = math.inf
    longest_seconds: float = math.inf
    run_seconds: float = math.inf


UNLIMITED = AttemptTimes()
"""Where the platform lets a function work for as long as it likes."""


class TimeLimit(Struct, frozen=True):
    """The limit of runs unless an agent has its own, and the platform's, which is None when it has none.

    `attempt_seconds` is how long an attempt works, 0 for half of what the platform leaves it.
    """

    default_seconds: float
    function_seconds: float | None
    attempt_seconds: float = 0.0

    @classmethod
    def of_app(cls, settings: Settings, function_seconds: float | None) -> TimeLimit:
        """Return the limits of an app with these settings."""
        return cls(settings.run_timeout_seconds, function_seconds, settings.attempt_seconds)

    @property
    def working_seconds(self) -> float:
        """The time in which an entity may work before its held runs must end."""
        return math.inf if self.function_seconds is None else self.function_seconds - ENDING_SECONDS

    @property
    def attempts(self) -> AttemptTimes:
        """The times of attempts; raises `ConfigurationError` where the platform leaves no time for them."""
        if self.function_seconds is None:
            return AttemptTimes(self.attempt_seconds or math.inf)
        longest = self.function_seconds - MARGIN_SECONDS
        if longest < LEAST_SECONDS:
            raise ConfigurationError(
                f"functionTimeout is {self.function_seconds:.12g} s: an attempt of a run needs at least "
                f"{MARGIN_SECONDS + LEAST_SECONDS:g}. Raise it in host.json."
            )
        if self.attempt_seconds > longest:
            raise ConfigurationError(
                f"AGENT_ATTEMPT_SECONDS is {self.attempt_seconds:.12g} s and the platform ends a function after "
                f"{self.function_seconds:.12g} s. Choose at most {longest:.12g}, or raise functionTimeout in host.json."
            )
        return AttemptTimes(self.attempt_seconds or longest / 2, longest)

    def of(self, agent: str, own_seconds: float | None) -> float:
        """Return the limit of one agent's runs; raises `ConfigurationError` if it is invalid."""
        seconds = self.default_seconds if own_seconds is None else own_seconds
        name = "AGENT_RUN_TIMEOUT_SECONDS" if own_seconds is None else f"run_timeout_seconds of agent {agent!r}"
        if not 0 < seconds <= LONGEST_RUN_SECONDS:
            raise ConfigurationError(
                f"{name} is {seconds:.12g} s: it must be above 0 and at most {LONGEST_RUN_SECONDS} (30 days)."
            )
        return float(seconds)
