"""samples/reliable_streaming/follow.py against what a host that is just starting answers."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.samples.folders import SAMPLES
from tests.support.broken_stream import BrokenStream
from tests.support.running_host import START_GUARD_SECONDS


@pytest.mark.slow
@pytest.mark.behaviour("streams.starting-again")
def test_the_sample_s_reader_goes_on_behind_a_500_of_a_worker_that_starts_again() -> None:
    """It loses a connection, is answered 500 without a body, and reads the rest behind the last event."""
    with BrokenStream(SAMPLES) as server:
        ended = subprocess.run(
            [sys.executable, SAMPLES / "reliable_streaming" / "follow.py", server.origin, "hello"],
            capture_output=True,
            text=True,
            timeout=START_GUARD_SECONDS,
            check=False,
        )

    assert ended.stdout.splitlines()[1:] == ["one two three", "completed"], ended.stderr
    assert server.followed_behind == ["1", "2", "2"]
