"""Hosts of the app `functions`, which only answer: one for all that ask it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from tests.support.running_host import APPS, GUARD_SECONDS, RunningHost


@contextmanager
def started(folder: Path, *options: str) -> Iterator[RunningHost]:
    shutil.copytree(APPS / "functions", folder / "app", ignore=shutil.ignore_patterns(".devhost"))
    environ = {"FUNCTIONS_REQUEST_BODY_SIZE_LIMIT": "1000000"}
    with RunningHost(folder / "app", "--port", "0", *options, environ=environ) as host:
        yield host


@pytest.fixture(scope="package")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    with started(tmp_path_factory.mktemp("functions")) as host:
        yield host


@pytest.fixture(scope="package")
def signed_in_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    """The host that signs requests in as ada."""
    with started(tmp_path_factory.mktemp("signed_in"), "--principal", "ada") as host:
        yield host


@pytest.fixture(scope="package")
def client(host: RunningHost) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=host.origin, timeout=GUARD_SECONDS) as client:
        yield client
