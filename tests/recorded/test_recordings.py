"""The recordings of the real host, replayed on the local one."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.recorded.compare import compare, known_differences
from tests.recorded.hosted import ALL, RECORDINGS
from tests.recorded.masks import comparable


@pytest.mark.skipif(not RECORDINGS.is_dir(), reason="the recordings are not beside this checkout")
@pytest.mark.slow(seconds=60)
@pytest.mark.behaviour("devhost.recordings")
@pytest.mark.behaviour("engine.wire-shapes")
def test_a_recorded_exchange_comes_out_the_same_or_stands_on_the_list(tmp_path: Path) -> None:
    """In both directions: what differs is listed, and what is listed differs.

    The recordings are driven at once, for their drivers wait for most of their time.
    """
    known = known_differences()
    with ThreadPoolExecutor() as threads:
        compared = list(threads.map(lambda recording: compare(recording, tmp_path / recording.name), ALL))
    reports = [report for of_recording in compared for report in of_recording]

    found = {one.name: ([each.label for each in one.unknown(known)], one.stale(known)) for one in reports}
    assert found == {name: ([], []) for recording in ALL for name in recording.hosts}


def history(*events: str) -> str:
    """Return an instance with a history of events, each a type and a result."""
    pairs = [event.split() for event in events]
    return json.dumps({"historyEvents": [{"EventType": kind, "Result": result} for kind, result in pairs]})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("at 2026-11-21T10:23:20Z", "at 2026-11-21T10:23:20"),
        ("0001-01-01T00:00:00", "2026-11-21T10:23:20"),
        ("84e8088f-19db-4b75-95ba-9a586e49a824", "84e8088f19db4b7595ba9a586e49a824"),
        ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}'),
        ('{"a": 1}', '{"a": "1"}'),
        (json.dumps({"input": '{"a": 1}'}), json.dumps({"input": {"a": 1}})),
        (history("TaskCompleted 0", "TimerFired 1"), history("TimerFired 1", "TaskCompleted 0")),
        (history("EventRaised 0", "EventRaised 1"), history("EventRaised 1", "EventRaised 0")),
    ],
)
def test_what_means_something_is_not_masked(one: str, other: str) -> None:
    """Zones, kinds of ids, the order of keys and of events, JSON inside of text."""
    assert comparable(one) != comparable(other)
