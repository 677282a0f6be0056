"""Limits of an agent: the requests and tokens of a caller in a minute, and the runs of a process at once.

What is refused by a limit was not started, and nothing of it is stored. Requests and tokens are counted at one place
for all processes (`minutes`), runs in each process for itself (`limiter`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hosting.amounts import LimitState
from hosting.errors import ConfigurationError, LimitExceededError

WINDOW_SECONDS = 60
_MOST = {"requests_per_minute": 1_000_000, "tokens_per_minute": 1_000_000_000, "runs_at_once": 1_000_000}


@dataclass(frozen=True)
class Limit:
    """So many requests and tokens of each caller in any minute, and so many runs at once in each process; some or all.

    Raises `ConfigurationError`.
    """

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    runs_at_once: int | None = None

    def __post_init__(self) -> None:
        given = {name: getattr(self, name) for name in _MOST}
        for name, value in given.items():
            if value is not None and (type(value) is not int or not 1 <= value <= _MOST[name]):
                raise ConfigurationError(f"{name} of a Limit is {str(value)[:80]!r}. Give 1 to {_MOST[name]:,}.")
        if not self.allowed:
            raise ConfigurationError(f"A Limit limits nothing. Give {' or '.join(f'{name}=...' for name in given)}.")

    @property
    def allowed(self) -> dict[str, int]:
        """The limits that it has, by their names."""
        return {name: value for name in _MOST if (value := getattr(self, name)) is not None}

    @property
    def has_minutes(self) -> bool:
        """Whether anything of a caller is counted by the minute."""
        return self.requests_per_minute is not None or self.tokens_per_minute is not None


def checked_limit(agent: str, limit: object) -> Limit | None:
    """Return the limit of an agent; raises `ConfigurationError` for another value."""
    if limit is not None and not isinstance(limit, Limit):
        raise ConfigurationError(
            f"limit of agent {agent!r} is a {type(limit).__name__}. Give Limit(runs_at_once=...) or leave it out."
        )
    return limit


def too_many_requests(most: int, seconds: int) -> LimitExceededError:
    """Return the refusal of a request; the caller's next one is accepted in so many seconds."""
    sentence = f"You may send {most} of these requests in a minute, and have. Try again in {seconds} s."
    return _refusal(sentence, {"of": "requests", "per": "owner/minute", "most": most, "left": 0}, seconds)


def too_many_tokens(most: int, used: int, seconds: int) -> LimitExceededError:
    """Return the refusal of a caller that has used its tokens; the next request is accepted in so many seconds."""
    sentence = f"You may use {most} tokens of the model in a minute, and have used {used}. Try again in {seconds} s."
    return _refusal(sentence, {"of": "tokens", "per": "owner/minute", "most": most, "left": 0}, seconds)


def too_many_runs(agent: str, most: int) -> LimitExceededError:
    """Return the refusal of a run of an agent that has as many in this process as it may."""
    sentence = f"Agent {agent!r} is running {most} threads in this process, which is all it may. Try again soon."
    return _refusal(sentence, {"of": "runs", "per": "process", "most": most, "left": 0}, 1)


def _refusal(sentence: str, state: LimitState, seconds: int) -> LimitExceededError:
    return LimitExceededError(sentence, dict(state), seconds, limit_headers([Standing(state, seconds)]))


class Standing(NamedTuple):
    """How a limit stands, and in how many `seconds` there is more of it, where that is known."""

    state: LimitState
    seconds: int | None = None


_POLICIES = {
    "requests": f"w={WINDOW_SECONDS}",
    "tokens": f'qu="tokens";w={WINDOW_SECONDS}',
    "runs": 'qu="concurrent-requests"',
}
"""The unit of each count: in a window of seconds, or at once. Without `qu` it is requests."""


def limit_headers(standings: Sequence[Standing]) -> dict[str, str]:
    """Return the policies, `q` for each window `w`, and how they stand: `r` are left, and more are in `t` seconds.

    They are of the IETF's draft-ietf-httpapi-ratelimit-headers-11 (RateLimit header fields for HTTP), which is no
    standard yet: lists of structured fields (RFC 9651). Clients that do not know them have `Retry-After` (RFC 9110).
    """
    policies = [f'"{state["of"]}";q={state["most"]};{_POLICIES[state["of"]]}' for state, _ in standings]
    left = [
        f'"{state["of"]}";r={state["left"]}' + ("" if seconds is None else f";t={seconds}")
        for state, seconds in standings
    ]
    return {"ratelimit-policy": ", ".join(policies), "ratelimit": ", ".join(left)}
