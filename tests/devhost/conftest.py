"""Hosts that many tests share: started once per module, as no test changes what they serve."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.running_host import APPS, RunningHost


@pytest.fixture(scope="module")
def classic_host() -> Iterator[RunningHost]:
    with RunningHost(APPS / "classic") as host:
        yield host


@pytest.fixture(scope="module")
def streaming_host() -> Iterator[RunningHost]:
    with RunningHost(APPS / "streaming") as host:
        yield host
