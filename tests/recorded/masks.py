"""What two runs of the same app can never share, masked: addresses, ids, times, keys and measured durations."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping

_MASKS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?<![\w.])(?:127\.0\.0\.1|localhost):\d+"), "ADDRESS"),
    (re.compile(r"(?<![0-9a-f])[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}(?![0-9a-f])"), "DASHED-ID"),
    (re.compile(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])"), "ID"),
    (re.compile(r"(?!0001)\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(Z|[+-]\d\d:\d\d)?"), r"TIME\1"),
    (re.compile(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT"), "TIME"),
    (re.compile(r"[?&]?code=<key>"), ""),
    (re.compile(r", StackTrace: +at System\..*?(?=\")"), ""),
    (re.compile(r"[a-z0-9]{16}\|[a-z0-9]{16}"), "SESSION"),
    (re.compile(r"(?:function|ThreadPoolExecutor-0)_\d+"), "THREAD"),
    (re.compile(r"x{50,}"), "x..."),
    (re.compile(r"\b1[78]\d{8}\.\d+"), "SECONDS"),
    (re.compile(r"(aiohttp/)[\d.]+"), r"\1VERSION"),
    (re.compile(r'(\\*"(?:duration|startTime|processUptime|pid)\\*": ?)\d+'), r"\1N"),
)
_TRANSPORT = frozenset({"date", "server", "transfer-encoding", "connection", "keep-alive"})
_HOSTS_OWN = frozenset({"StackTrace", "maximumShortTimerDuration", "longRunningTimerIntervalDuration"})
_UNORDERED = frozenset({"headers", "route_params", "params", "p"})
_DOTNET = re.compile(r'failed:(?P<gap> +)(?P<text>(?:(?!failed: )[^\n])*?) \n \{"\$type":"System\.(?:[^{}]*\}|.*)')
_NAMES = re.compile(r"(?<=functions: )'\w+'(?:, '\w+')*")


def masked(text: str) -> str:
    """Return the text with everything masked that differs from run to run."""
    for pattern, replacement in _MASKS:
        text = pattern.sub(replacement, text)
    return text


def comparable(text: str) -> str:
    """Return a body for comparison: JSON on one line with its keys in their order, other text as it is; masked.

    JSON inside of texts is opened, however deep: hosts space it differently. Headers, lists of instances and of
    function names have no order that means anything, nor have the ends of activities that ran at once. What .NET tells
    of its own exceptions (their type, stack and dozen other members) is reduced to the message, which is the app's.
    """
    return masked(json.dumps(_opened(text), ensure_ascii=False))


def _opened(value: object) -> object:
    if isinstance(value, str):
        return _opened_text(value)
    if isinstance(value, Mapping):
        return {key: _member(key, inner) for key, inner in value.items()}
    if isinstance(value, list):
        items = _ends_in_order([_opened(inner) for inner in value])
        are_instances = all(isinstance(item, Mapping) and "instanceId" in item for item in items)
        return sorted(items, key=_masked_json) if are_instances else items
    return value


def _ends_in_order(items: list[object]) -> list[object]:
    """Return a history's events with ends of activities that follow on each other sorted, other items as they are."""

    def ends(item: object) -> bool:
        return isinstance(item, Mapping) and item.get("EventType") in ("TaskCompleted", "TaskFailed")

    runs = (list(run) for _, run in itertools.groupby(items, key=ends))
    return [item for run in runs for item in (sorted(run, key=_masked_json) if ends(run[0]) else run)]


def _masked_json(item: object) -> str:
    return masked(json.dumps(item))


def _member(key: str, value: object) -> object:
    if key in _HOSTS_OWN:
        return "-"
    if key in _UNORDERED and isinstance(value, Mapping):
        return _in_order(value)
    return _opened(value)


def _in_order(value: Mapping[str, object]) -> object:
    named = {name.lower(): inner for name, inner in value.items()}
    return {name: named[name] for name in sorted(named) if name not in _TRANSPORT}


def _opened_text(text: str) -> object:
    """Return JSON text as what it holds, beside the words before it (`event: message\\ndata: {...}`)."""
    text = _DOTNET.sub(r"failed:\g<gap>\g<text> \n \g<text>", text)
    text = _NAMES.sub(lambda found: ", ".join(sorted(found[0].split(", "))), text)
    start = min((place for mark in "{[" if (place := text.find(mark)) >= 0), default=-1)
    if start < 0:
        return text
    try:
        held = json.loads(text[start:])
    except ValueError:
        return text
    if isinstance(held, Mapping) and str(held.get("$type")).startswith("System."):
        return text[:start] + str(held["Message"]).strip()
    return {"words": text[:start], "held": _opened(held)}
