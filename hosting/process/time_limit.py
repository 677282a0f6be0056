"""How long one attempt of a run may take: what the app's author chose, inside what the platform gives a function.

The platform ends a function at `functionTimeout` by ending its worker, and with it every other run there. So a run
must be stopped by us before: a limit that leaves no time to stop the agent and to write the outcome is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hosting.errors import ConfigurationError
from hosting.process.host_json import host_value

MARGIN_SECONDS = 15.0
"""Between a run's limit and the function's: the agent's last words (5 s) and the log's last retries (7.6 s)."""

DEFAULT_FUNCTION_TIMEOUT_SECONDS = 1800.0
"""Where host.json says nothing: the Flex Consumption plan's (host contract 6.1)."""

_DURATION = re.compile(r"(?:(\d+)\.)?(\d{1,2}):(\d{2}):(\d{2})\Z")


@dataclass(frozen=True)
class TimeLimit:
    """The limit of runs unless an agent has its own, and the platform's, which is None when it has none."""

    default_seconds: float
    function_seconds: float | None

    def of(self, agent: str, own_seconds: float | None) -> float:
        """Return the limit of one agent's runs; raises `ConfigurationError` for one that is none or does not fit."""
        seconds = self.default_seconds if own_seconds is None else own_seconds
        name = "AGENT_RUN_TIMEOUT_SECONDS" if own_seconds is None else f"run_timeout_seconds of agent {agent!r}"
        if not 0 < seconds <= 86_400:
            raise ConfigurationError(f"{name} is {seconds:g} s: it must be above 0 and at most 86400.")
        if self.function_seconds is not None and seconds + MARGIN_SECONDS > self.function_seconds:
            raise ConfigurationError(
                f"{name} is {seconds:g} s and the platform ends a function after {self.function_seconds:g} s. "
                f"Choose at most {self.function_seconds - MARGIN_SECONDS:g}, or raise functionTimeout in host.json."
            )
        return float(seconds)


def function_timeout_seconds(folder: Path, environ: Mapping[str, str]) -> float | None:
    """Return the platform's limit: the app setting that overrides host.json, else host.json of `folder`, else Flex's.

    None stands for no limit. Raises `ConfigurationError` for a value that the platform would not take either.
    """
    value = host_value(folder, environ, "functionTimeout")
    if value is None:
        return DEFAULT_FUNCTION_TIMEOUT_SECONDS
    if value in ("-1", -1):
        return None
    match = _DURATION.match(value) if isinstance(value, str) else None
    if match is None:
        raise ConfigurationError(f'functionTimeout is {value!r}: it must be "-1" or hh:mm:ss.')
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
