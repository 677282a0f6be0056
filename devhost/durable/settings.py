"""The engine's limits and names, read once from `extensions.durableTask` of host.json."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from devhost.durable.records import TargetKind
from devhost.errors import SettingsError

_DEFAULT_CONCURRENCY = 10 * (os.cpu_count() or 1)
_HUB_NAME_LETTERS = 45
_TIMESPAN = re.compile(r"(\d{1,2}):(\d{2}):(\d{2})")
_COUNTS = {
    "maxConcurrentActivityFunctions": "max_concurrent_activities",
    "maxConcurrentOrchestratorFunctions": "max_concurrent_orchestrators",
    "maxConcurrentEntityFunctions": "max_concurrent_entities",
    "maxEntityOperationBatchSize": "max_entity_operation_batch_size",
}
_VISIBILITIES = {
    "controlQueueVisibilityTimeout": "control_queue_visibility_seconds",
    "workItemQueueVisibilityTimeout": "work_item_queue_visibility_seconds",
}
_VISIBILITY_RANGES = {"controlQueueVisibilityTimeout": (60, 3600), "workItemQueueVisibilityTimeout": (1, 86_399)}


@dataclass(frozen=True)
class DurableSettings:
    """How much runs at once, the task hub's name, and the key that its addresses carry (None: no key is asked for).

    `queue_poll_seconds` is the longest time between two looks for messages of other processes; None is for one process.
    The visibility is how long a message stays hidden whose worker died (`devhost.durable.unkind`).
    """

    hub_name: str = "TestHubName"
    webhook_key: str | None = None
    max_concurrent_activities: int = _DEFAULT_CONCURRENCY
    max_concurrent_orchestrators: int = _DEFAULT_CONCURRENCY
    max_concurrent_entities: int = _DEFAULT_CONCURRENCY
    max_entity_operation_batch_size: int = 5000
    default_version: str | None = None
    queue_poll_seconds: float | None = None
    control_queue_visibility_seconds: float = 300.0
    work_item_queue_visibility_seconds: float = 300.0

    def visibility_seconds(self, kind: TargetKind) -> float:
        """Return the visibility timeout of the queue that has messages for targets of this kind."""
        if kind is TargetKind.ACTIVITY:
            return self.work_item_queue_visibility_seconds
        return self.control_queue_visibility_seconds

    @classmethod
    def from_host_json(cls, section: Mapping[str, object], environ: Mapping[str, str]) -> DurableSettings:
        """Return the settings that host.json names, with the real host's defaults for the others.

        Keys that mean nothing on one machine (storage provider, tracing) are left alone. Raises `SettingsError`,
        naming the setting, the value and the accepted range.
        """
        counts: dict[str, Any] = {
            name: _count(section, key) for key, name in _COUNTS.items() if section.get(key) is not None
        }
        provider = section.get("storageProvider")
        times: dict[str, Any] = {
            name: _visibility_seconds(provider, key)
            for key, name in _VISIBILITIES.items()
            if isinstance(provider, Mapping) and provider.get(key) is not None
        }
        return cls(
            hub_name=_hub_name(section.get("hubName"), environ),
            default_version=_version(section.get("defaultVersion")),
            **counts,
            **times,
        )


def _count(section: Mapping[str, object], key: str) -> int:
    value = section[key]
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise SettingsError(f"host.json: extensions.durableTask.{key} is {value!r}; give a whole number from 1 up.")
    return value


def _visibility_seconds(provider: Mapping[str, object], key: str) -> float:
    value = provider[key]
    match = _TIMESPAN.fullmatch(value) if isinstance(value, str) else None
    hours, minutes, seconds = map(int, match.groups()) if match else (0, 0, 0)
    total = (hours * 60 + minutes) * 60 + seconds
    least, most = _VISIBILITY_RANGES[key]
    if not least <= total <= most:
        raise SettingsError(
            f"host.json: extensions.durableTask.storageProvider.{key} is {value!r}; give hh:mm:ss from "
            f"{timedelta(seconds=least)} to {timedelta(seconds=most)}."
        )
    return float(total)


def _version(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise SettingsError(
            f"host.json: extensions.durableTask.defaultVersion is {value!r}; give a text such as '1.0'."
        )
    return value or None


def _hub_name(value: object, environ: Mapping[str, str]) -> str:
    if value is None:
        return re.sub(r"[^A-Za-z0-9]", "", environ.get("WEBSITE_SITE_NAME", ""))[:_HUB_NAME_LETTERS] or "TestHubName"
    name = value if isinstance(value, str) else ""
    name = re.sub(r"%([^%]+)%", lambda match: environ.get(match[1], ""), name)
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9]{2,44}", name):
        raise SettingsError(
            f"host.json: extensions.durableTask.hubName is {value!r}; give 3 to 45 letters and digits, a letter first."
        )
    return name
