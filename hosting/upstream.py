"""The options of Microsoft's package that are none of ours, and what each means here.

An app that was written for `agent-framework-azurefunctions`, as it was released or for its next version, starts here.
What such an option asks for is so anyway, or it is named in one line at the start with what to do instead. A value that
the other package would refuse is refused. docs/guides/moving.md has them all in tables.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from hosting.errors import ConfigurationError
from hosting.start_up import warn


class UpstreamOption(Struct, frozen=True):
    """What to do `instead` of an option, which `values` it may have, in words, and for which of them nothing is to do.

    An option without any is refused. What is `done` for a value is what the other package does for it.
    """

    instead: str
    values: str = ""
    is_value: Callable[[Any], bool] = lambda value: False
    is_done: Callable[[Any], bool] = lambda value: False


_LARGEST = 2**63


def _one_of(*words: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and value in words


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < _LARGEST


def _is_share(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1


_WATERMARK = UpstreamOption(
    "AGENT_RECENT_BYTES says how much of a conversation stays in its entity.",
    "a number above 0, at most 1",
    _is_share,
)
_RETENTION: Mapping[str, UpstreamOption] = {
    "retention": UpstreamOption(
        "A conversation keeps every message, the older ones in the archive; ttl_seconds ends a thread.",
        "'keep_all' or 'follow_compaction'",
        _one_of("keep_all", "follow_compaction"),
        is_done=_one_of("keep_all"),
    ),
    "max_state_bytes": UpstreamOption(
        "One limit is for all threads: give max_state_bytes to AgentFunctionApp, or set AGENT_STATE_LIMIT_BYTES.",
        "a whole number above 0",
        _is_count,
    ),
    "high_watermark": _WATERMARK,
    "low_watermark": _WATERMARK,
    "response_delivery_window_seconds": UpstreamOption(
        "A run can be read for AGENT_LOG_DAYS, and its answer as long as its conversation.",
        "a whole number above 0",
        _is_count,
    ),
}
APP_OPTIONS: Mapping[str, UpstreamOption] = {
    "deployment_mode": UpstreamOption(
        "Leave it out: a thread of schema 2.0.0 is refused and stays as it is, in any mode.",
        "'isolated_v2'",
        _one_of("isolated_v2"),
    ),
    **_RETENTION,
    "max_state_bytes": replace(_RETENTION["max_state_bytes"], is_done=_is_count),  # `settings.with_state_limit`
    **{f"workflow_{name}": option for name, option in _RETENTION.items()},
}
AGENT_OPTIONS: Mapping[str, UpstreamOption] = {
    "entity_id": UpstreamOption("An agent's entity is 'dafx-<agent name>' and cannot be named. Leave entity_id out."),
    "workflow_name": UpstreamOption("A workflow has its own name: WorkflowBuilder(name=...). Leave workflow_name out."),
    **_RETENTION,
}
WORKFLOW_OPTIONS = _RETENTION


class UpstreamMethods:
    """The methods of the other package's app that do nothing here."""

    def configure_large_payloads(self, payload_store: object = None) -> None:
        """Name what keeps large contents here, in one line; what is large in a task hub is the engine's to keep."""
        warn(
            "configure_large_payloads does nothing here: large contents are kept beside their threads, as "
            "AGENT_ATTACHMENTS says. See docs/guides/moving.md."
        )


def take_options(where: str, options: Mapping[str, Any], known: Mapping[str, UpstreamOption]) -> None:
    """Print one line that names the options which do nothing here, each with what to do instead.

    None is as good as absent. Raises `ConfigurationError` for a name that is not `known`, and for a value that is none
    of its option's.
    """
    given = {name: value for name, value in options.items() if value is not None or name not in known}
    for name, value in given.items():
        _check(where, name, value, known)
    for prefix in ("", "workflow_"):
        low, high = (given.get(f"{prefix}{end}_watermark") for end in ("low", "high"))
        if low is not None and high is not None and low >= high:
            raise ConfigurationError(
                f"{prefix}low_watermark of {where} is {low:.12g}: it must be below {prefix}high_watermark, {high:.12g}."
            )
    idle = {name: value for name, value in given.items() if not known[name].is_done(value)}
    if idle:
        sentences = " ".join(f"{name}={value!r}: {known[name].instead}" for name, value in idle.items())
        warn(f"{where} has options that do nothing here. {sentences} See docs/guides/moving.md.")


def _check(where: str, name: str, value: Any, known: Mapping[str, UpstreamOption]) -> None:
    option = known.get(name)
    if option is None:
        raise ConfigurationError(f"{where} has no option {name!r}. See docs/reference/hosting.md for its options.")
    if not option.values:
        raise ConfigurationError(option.instead)
    if not option.is_value(value):
        raise ConfigurationError(f"{name} of {where} is {value!r:.80}: it must be {option.values}, or None.")
