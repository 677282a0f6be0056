"""Processes of an app that echoes, for tests by moved time."""

import pytest

from tests.support.cluster.cluster import AppProcess, Cluster


@pytest.fixture
def app(cluster: Cluster) -> AppProcess:
    """One process of the app."""
    return cluster.process()


@pytest.fixture
def two(cluster: Cluster) -> tuple[AppProcess, AppProcess]:
    """Two of them: what one appends the other finds."""
    return cluster.process(), cluster.process()
