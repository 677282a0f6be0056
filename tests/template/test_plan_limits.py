"""host.json against what the plan can do and what the app promises: every limit is possible, and they fit together."""

import json
from datetime import timedelta
from typing import Any

import pytest

from hosting.core.agent.time_limits import MARGIN_SECONDS
from hosting.settings import Settings
from tests.template.bicep import ROOT

HOST: dict[str, Any] = json.loads((ROOT / "host.json").read_text(encoding="utf-8"))
DURABLE: dict[str, Any] = HOST["extensions"]["durableTask"]
STORAGE: dict[str, Any] = DURABLE["storageProvider"]
FRONT_END_IDLE_SECONDS = 230
MOST_BUFFERED = 1000  # AzureStorageOptions.ControlQueueBufferThreshold, its page
LARGEST_BODY_BYTES = 100 * 1024 * 1024


def seconds(text: str) -> float:
    hours, minutes, rest = map(float, text.split(":"))
    return timedelta(hours=hours, minutes=minutes, seconds=rest).total_seconds()


def largest(setting: str) -> float:
    """The greatest value that `hosting.settings` takes for a setting."""
    bounds = [getattr(part, "le", None) for part in Settings.model_fields[setting].metadata]
    return float(next(bound for bound in bounds if bound is not None))


@pytest.mark.behaviour("template.plan-limits")
def test_a_run_ends_before_the_platform_ends_the_function() -> None:
    """The default run and its margin fit into functionTimeout, which on this plan has no upper bound."""
    assert Settings().run_timeout_seconds + MARGIN_SECONDS < seconds(HOST["functionTimeout"])


@pytest.mark.behaviour("template.plan-limits")
def test_a_request_is_answered_before_the_front_end_cuts_it() -> None:
    """Also with the longest wait that the settings take."""
    assert largest("wait_seconds") < FRONT_END_IDLE_SECONDS


@pytest.mark.behaviour("template.plan-limits")
def test_a_body_that_the_app_takes_passes_the_platform() -> None:
    """Else the caller sees an empty 500 of the host instead of our 413."""
    assert largest("max_body_bytes") <= LARGEST_BODY_BYTES


@pytest.mark.behaviour("template.plan-limits")
def test_as_many_slow_runs_go_at_once_as_are_promised() -> None:
    """Entities share the orchestrators' limit on Azure Storage, and 200 runs must not wait for each other."""
    limits = {name: DURABLE[f"maxConcurrent{name}Functions"] for name in ("Activity", "Entity", "Orchestrator")}

    assert min(limits.values()) >= 200
    assert max(limits.values()) <= STORAGE["controlQueueBufferThreshold"] <= MOST_BUFFERED
