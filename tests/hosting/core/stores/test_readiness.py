"""Whether the log can be used, from what already happened: what is asked for that, and how often."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from hosting.core.stores.connection import StoreReadiness, Verb
from hosting.errors import LogUnavailableError
from tests.support.bench import CountingAgent
from tests.support.made_app import MEMORY, app_of, ask, served


class Log:
    """A log that is read to see whether it is there, and a clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0
        self.reads = 0
        self.is_away = False
        self.readiness = StoreReadiness(self.read, lambda: self.now)

    async def read(self) -> None:
        """Read it, and say how it went, as the threads' log does."""
        self.reads += 1
        await asyncio.sleep(0)
        if self.is_away:
            self.readiness.failed("read", "")
            raise LogUnavailableError()
        self.readiness.worked("read", "")

    async def is_ready(self) -> bool:
        """Ask."""
        try:
            await self.readiness.check()
        except LogUnavailableError:
            return False
        return True


@pytest.fixture
def log() -> Log:
    """One that nobody has used."""
    return Log()


@pytest.mark.behaviour("http.readiness")
async def test_a_log_that_nobody_has_used_is_read_once_however_many_ask(log: Log) -> None:
    received = [*await asyncio.gather(*(log.is_ready() for _ in range(5))), await log.is_ready()]

    assert (received, log.reads) == ([True] * 6, 1)


@pytest.mark.behaviour("http.readiness")
@pytest.mark.parametrize(("verb", "seconds"), [("read", 5.0), ("append", 30.0)])
async def test_a_failure_is_the_answer_for_a_while_and_then_one_read_decides(
    log: Log, verb: Verb, seconds: float
) -> None:
    log.readiness.failed(verb, "")
    log.now += seconds - 0.1
    early = [await log.is_ready() for _ in range(3)]
    asked_early = log.reads
    log.now += 0.2

    assert (early, asked_early) == ([False] * 3, 0)
    assert ([await log.is_ready(), await log.is_ready()], log.reads) == ([True, True], 1)


@pytest.mark.behaviour("http.readiness")
async def test_a_log_that_stays_away_is_read_once_in_each_while(log: Log) -> None:
    log.is_away = True
    received = []
    for _ in range(3):
        received += [await log.is_ready(), await log.is_ready()]
        log.now += 5.0

    assert (received, log.reads) == ([False] * 6, 3)


@pytest.mark.behaviour("http.readiness")
async def test_reads_that_work_take_nothing_back_of_an_append_that_failed(log: Log) -> None:
    """As on a full disk; the next append that works does."""
    log.readiness.failed("append", "")
    log.readiness.worked("read", "")
    full = await log.is_ready()
    log.readiness.worked("append", "")

    assert (full, await log.is_ready(), log.reads) == (False, True, 0)


@pytest.mark.slow
@pytest.mark.behaviour("http.readiness")
async def test_an_append_that_failed_beside_the_log_is_the_answer_too(tmp_path: Path) -> None:
    """What is too large for the log stands in the store of attachments, whose disk can be full alone."""
    path, away = tmp_path / "attachments.sqlite", tmp_path / "away"
    environ = {**MEMORY, "AGENT_ATTACHMENTS": f"sqlite:{path}"}
    async with served(app_of(CountingAgent(), environ=environ)) as (_, http):
        first = await ask(http, "x" * 100_000)
        path.rename(away)
        refused, ready = await ask(http, "x" * 100_000), await http.get("/api/health/ready")
        away.rename(path)
        again, ready_again = await ask(http, "x" * 100_000), await http.get("/api/health/ready")

    assert [first.status_code, again.status_code, ready_again.status_code] == [200, 200, 200]
    assert [(one.status_code, one.json()["code"]) for one in (refused, ready)] == [(503, "log_unavailable")] * 2
