"""One engine and one worker for all tests that kill none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.hosting.console.console import Console
from tests.hosting.console.orchestrators import console_worker
from tests.hosting.console.task_hub import task_hub


@pytest.fixture(scope="package")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """The engine and its worker."""
    folder = tmp_path_factory.mktemp("console")
    with task_hub() as address, console_worker(address, environ={}, folder=folder):
        yield Console(address, folder)
