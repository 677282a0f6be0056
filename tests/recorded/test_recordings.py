"""The recordings of the real host, replayed on the local one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.recorded.compare import compare
from tests.recorded.hosted import ALL, RECORDINGS, Recording
from tests.recorded.listed import known_differences

pytestmark = pytest.mark.skipif(not RECORDINGS.is_dir(), reason="the recordings are not beside this checkout")


@pytest.mark.slow(seconds=120)
@pytest.mark.behaviour("devhost.recordings")
@pytest.mark.behaviour("engine.wire-shapes")
@pytest.mark.parametrize("recording", ALL, ids=lambda recording: recording.name)
def test_a_recorded_exchange_comes_out_the_same_or_stands_on_the_list(recording: Recording, tmp_path: Path) -> None:
    """In both directions: what differs is listed, and what is listed differs."""
    known = known_differences()

    reports = compare(recording, tmp_path)

    found = {one.name: ([each.label for each in one.unknown(known)], one.stale(known)) for one in reports}
    assert found == {name: ([], []) for name in recording.hosts}
