"""`extensions.queues` and `extensions.blobs` of host.json, with the real host's defaults."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass

from devhost.errors import SettingsError

_DURATION = re.compile(r"(\d{1,2}):(\d{2}):(\d{2})(\.\d{1,7})?")
HIDDEN_SECONDS = 600
"""How long a message is hidden while it is worked on, whatever `visibilityTimeout` says; renewed at half of it."""
_MOST_IN_A_BATCH = 32


@dataclass(frozen=True)
class QueueSettings:
    """How queues are polled. `visibility_seconds` is the pause after a failed delivery."""

    batch_size: int
    new_batch_threshold: int
    max_dequeue_count: int
    visibility_seconds: int
    longest_pause_seconds: float
    is_base64: bool


@dataclass(frozen=True)
class BlobSettings:
    """How many blobs are worked on at once, and after how many failures one is given up."""

    at_once: int
    poison_threshold: int

    def queue(self) -> QueueSettings:
        """Return how the host's own queue of blobs is polled: a scan that found something wakes it."""
        half = max(1, min(_MOST_IN_A_BATCH, self.at_once // 2))
        return QueueSettings(half, self.at_once - half, self.poison_threshold, 0, 60.0, True)


def read_queue_settings(content: Mapping[str, object], environ: Mapping[str, str]) -> QueueSettings:
    """Return the settings of queues; raise `SettingsError` naming setting, value and accepted range."""
    is_development = environ.get("AZURE_FUNCTIONS_ENVIRONMENT", "").lower() == "development"
    batch_size = _count(content, "queues.batchSize", 16, 1, _MOST_IN_A_BATCH)
    encoding = str(content.get("messageEncoding", "base64")).lower()
    if encoding not in ("base64", "none"):
        raise SettingsError(
            f"host.json: 'extensions.queues.messageEncoding' must be base64 or none, but is {encoding!r}."
        )
    return QueueSettings(
        batch_size=batch_size,
        new_batch_threshold=_count(content, "queues.newBatchThreshold", batch_size // 2 * (os.cpu_count() or 1), 0),
        max_dequeue_count=_count(content, "queues.maxDequeueCount", 5, 1),
        visibility_seconds=int(_seconds(content, "queues.visibilityTimeout", 0.0)),
        longest_pause_seconds=max(0.1, _seconds(content, "queues.maxPollingInterval", 2.0 if is_development else 60.0)),
        is_base64=encoding == "base64",
    )


def read_blob_settings(content: Mapping[str, object]) -> BlobSettings:
    """Return the settings of blobs; raise `SettingsError` naming setting, value and accepted range."""
    return BlobSettings(
        at_once=_count(content, "blobs.maxDegreeOfParallelism", 8 * (os.cpu_count() or 1), 1),
        poison_threshold=_count(content, "blobs.poisonBlobThreshold", 5, 1),
    )


def _count(content: Mapping[str, object], path: str, default: int, least: int, most: int | None = None) -> int:
    value = content.get(path.partition(".")[2], default)
    if isinstance(value, int) and not isinstance(value, bool) and least <= value and (most is None or value <= most):
        return value
    accepted = f"from {least}" + (f" to {most}" if most else "")
    raise SettingsError(f"host.json: 'extensions.{path}' must be a whole number {accepted}, but is {value!r}.")


def _seconds(content: Mapping[str, object], path: str, default: float) -> float:
    value = content.get(path.partition(".")[2])
    if value is None:
        return default
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise SettingsError(f"host.json: 'extensions.{path}' must be hh:mm:ss, but is {value!r}.")
    hours, minutes, seconds = (int(part) for part in match.groups()[:3])
    return hours * 3600 + minutes * 60 + seconds + float(match[4] or 0)
