"""For a conftest.py of small tests of a test: the hosts of the pytest plugin are forks of a warm Python.

In a process of pytest that has one anyway; where the tests have a process of their own, hosts start as a user's do.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hosting.testing.agent_app import AppHosts
from tests.support.warm_python import start_python


@pytest.fixture(scope="session")
def _agent_app_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppHosts]:
    hosts = AppHosts(
        tmp_path_factory.mktemp("agent-app"),
        lambda program, folder, environ: start_python(*program, folder=folder, environ=environ or {}),
    )
    yield hosts
    hosts.end_all()
