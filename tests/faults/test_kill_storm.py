"""An app of three processes in a storm: they are killed, they sleep past their leases, their clocks disagree, the one
that works is away, the account fails. Nothing is lost, nothing doubled, and what was deleted stays so.

The gate has a short form of each. With `--explore` a storm has 2,500 turns, processes sleep and are away for longer,
and each storm comes over each kind of log.
"""

from __future__ import annotations

import asyncio
import math
import random
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from devhost.durable.unkind import VARIABLE
from tests.faults.storm import (
    Bills,
    Disturb,
    Stormed,
    disordered,
    doubled,
    kill_at_random,
    kill_workers,
    lost,
    returned,
    storm,
    unredeemed,
)
from tests.faults.storm_kept import left_over
from tests.support.azurite import Azurite
from tests.support.fault_proxy import FaultProxy
from tests.support.grouped_app import GroupedApp, grouped_app
from tests.support.kept_in import HUB, over, settings_of
from tests.support.running_host import ROOT
from tests.support.seeds import repeated

pytestmark = [
    pytest.mark.slow(seconds=20),
    pytest.mark.skipif(sys.platform == "win32", reason="no process can be stopped and continued there"),
]

TURNS = repeated(80, exploring=2500)
"""How many the clients of a storm send together; each client sends what it can."""
WORKER_KILLS = repeated(1, exploring=4)
WORKED_TURNS = repeated(40, exploring=352)
BILLS = repeated(8, exploring=71)
FAILING_TURNS = repeated(40, exploring=2500)
"""Fewer than of other storms in the gate: each asks an account that fails, and an emulator of it works for that."""
QUIET_TURNS = repeated(40, exploring=150)
SHOWN = 5
"""So many of the turns that took longest are printed."""
RETRIED_SECONDS = 60
"""So long the engine may take to try an operation again that the account failed."""
FASTER = 60
"""What a dead process had taken is seen again after a second."""
WAITED_FOR = {"wait", "charge", "stream"}
"""What clients do most, and wait for."""
FROZEN_SECONDS = repeated(4, exploring=30)
"""Longer than a short lease and a half."""
ABSENT_SECONDS = repeated(4, exploring=60)
RARE = repeated(8, exploring=5) / 1000
"""Each fault must fire, in a short storm too."""
ACCOUNT_FAULTS: list[tuple[float, str, dict[str, float]]] = [
    (0.02, "request lost", {}),
    (0.02, "answer dropped", {}),
    (0.02, "failed after the commit", {}),
    (0.02, "busy", {"retry_after": 1}),
    (0.02, "busy", {"status": 429}),
    (0.02, "slow", {"seconds": 0.5}),
    (RARE, "slow", {"seconds": 4.0}),
    (RARE, "silent", {}),
]
"""How many of the account's requests fail, and how; the last two for longer than a call is waited for."""
HOUR = {"CLOCK_AHEAD": "3600"}
LEASE = {"LEASE_SECONDS": "4"}
"""Shorter than processes live here: whoever takes a run over has seen its holder silent for a lease and a half."""
SHORT_LEASE = {"LEASE_SECONDS": "2"}


@dataclass(frozen=True)
class StormApp:
    """The app in a folder, the settings of all its processes, and the file that counts what its tools did."""

    folder: Path
    environ: Mapping[str, str]
    charges: Path


@pytest.fixture
def made(request: pytest.FixtureRequest, tmp_path: Path, seed: int) -> StormApp:
    """The app over one kind of log, on an engine that does by chance what the real one may do."""
    folder, charges = tmp_path / "app", tmp_path / "charges.txt"
    folder.mkdir()
    charges.touch()
    shutil.copy(Path(__file__).parent / "storm_app" / "function_app.py", folder)
    shutil.copy(ROOT / "host.json", folder)
    unkind = {VARIABLE: f"{seed}; faster {FASTER}"}
    environ = {**settings_of(request.param, request), "CHARGES": str(charges), **LEASE, **unkind}
    return StormApp(folder, environ, charges)


async def still_left_over(stormed: Stormed, made: StormApp) -> list[str]:
    """Return what is left over when each operation of an entity has been tried again, seconds after it failed."""
    deadline = time.monotonic() + RETRIED_SECONDS
    while (wrong := left_over(stormed, made.folder, made.environ, made.environ[HUB])) and time.monotonic() < deadline:  # noqa: ASYNC110 - files change, and nobody says so
        await asyncio.sleep(1)
    return wrong


async def weathered(
    made: StormApp, app: GroupedApp, chance: random.Random, turns: int, disturb: Disturb
) -> tuple[Stormed, list[str]]:
    """Return what came of a storm, and what is wrong after it."""
    began = time.monotonic()
    stormed = await storm(app, made.charges, chance, turns, disturb, has_owners="OWNERS" in made.environ)
    kinds = {turn.kind: turn.code or "success" for turn in stormed.turns}
    print(f"{len(stormed.turns)} turns waited for, {len(stormed.left)} left, in {time.monotonic() - began:.0f} s")
    print(f"the last of each kind: {kinds}")
    slowest = sorted(((turn.ended_at - turn.began_at, str(turn)) for turn in stormed.turns), reverse=True)[:SHOWN]
    print("\n".join(f"{seconds:.1f} s: {turn}" for seconds, turn in slowest))
    over = time.monotonic()
    redeemed = await unredeemed(stormed, made.folder, made.environ)
    print(f"those that were left have ended {time.monotonic() - over:.0f} s later")
    wrong = [*lost(stormed), *doubled(stormed), *disordered(stormed), *returned(stormed), *redeemed]
    wrong += await still_left_over(stormed, made)
    print("\n".join(wrong))
    return stormed, wrong


@pytest.fixture
def chance(seed: int) -> random.Random:
    """What is chosen at random in a storm."""
    return random.Random(seed)


@pytest.mark.behaviour("storm.killed")
@pytest.mark.behaviour("storm.clocks")
@pytest.mark.behaviour("owners.by-construction")
@over("made", "redis")
@pytest.mark.timeout(1200)
async def test_nothing_is_lost_or_doubled_while_processes_are_killed(made: StormApp, chance: random.Random) -> None:
    """Two HTTP processes and the durable one, one of them dead at any time, and the clock of one an hour ahead: no
    deadline of one is read by the clock of another. All users name the same threads.
    """
    made = replace(made, environ={**made.environ, "OWNERS": "1"})
    with grouped_app(made.folder, log=made.environ, of_http=[HOUR]) as app:
        _, wrong = await weathered(made, app, chance, TURNS, kill_at_random)

    assert wrong == []


@pytest.mark.behaviour("storm.frozen")
@pytest.mark.behaviour("storm.durable-absent")
@over("made", "redis")
async def test_a_process_that_slept_changes_nothing_and_callers_are_answered_without_the_one_that_works(
    made: StormApp, chance: random.Random
) -> None:
    """One that holds callers sleeps past its lease, then the one that works: others end its runs, and it wakes behind
    that. Then it is away, and what nobody waits for is done when it is back.
    """
    away: list[float] = []

    async def freeze_each_and_keep_away(app: GroupedApp, _: random.Random, __: asyncio.Event) -> None:
        for host in (app.http[0], app.durable):
            with host.frozen():
                await asyncio.sleep(FROZEN_SECONDS)
        app.durable.kill()
        away.append(time.monotonic())
        await asyncio.sleep(ABSENT_SECONDS)
        away.append(time.monotonic())
        await asyncio.to_thread(app.durable.start)

    with grouped_app(made.folder, log={**made.environ, **SHORT_LEASE}) as app:
        stormed, wrong = await weathered(made, app, chance, QUIET_TURNS, freeze_each_and_keep_away)

    assert wrong == []
    assert {turn.kind for turn in stormed.turns if away[0] < turn.ended_at < away[1]} >= WAITED_FOR


@pytest.mark.behaviour("storm.two-durable")
@over("made", "sqlite")
async def test_nothing_is_lost_or_doubled_while_two_durable_processes_follow_each_other(
    made: StormApp, chance: random.Random
) -> None:
    """One works and the other waits, until it is killed; turns and orchestrations come meanwhile.

    Two workers have the partition of one of these for a while.
    """
    environ = {**made.environ, VARIABLE: f"{made.environ[VARIABLE]}; moved-partition bill"}
    with grouped_app(made.folder, durable=2, log=environ) as app:
        bills = Bills(app.http)

        async def kill_and_bill(app: GroupedApp, chance: random.Random, over: asyncio.Event) -> None:
            await asyncio.gather(kill_workers(app, chance, over, WORKER_KILLS), bills.start(chance, BILLS))

        _, wrong = await weathered(made, app, chance, WORKED_TURNS, kill_and_bill)
        wrong += await bills.wrong(made.charges)

    assert wrong == []


@pytest.mark.behaviour("storm.account")
@pytest.mark.parametrize("made", ["tables"], indirect=True)
async def test_nothing_is_lost_or_doubled_while_the_account_fails_and_processes_are_killed(
    made: StormApp, azurite: Azurite, chance: random.Random
) -> None:
    """Answers are dropped, late, or say 503, 429 and 500, whether the account did what was asked or not."""
    with failing(azurite, chance) as log, grouped_app(made.folder, log={**made.environ, **log}) as app:
        _, wrong = await weathered(made, app, chance, FAILING_TURNS, kill_at_random)

    assert wrong == []


@contextmanager
def failing(azurite: Azurite, chance: random.Random) -> Iterator[dict[str, str]]:
    """Give the setting of the account by way of a proxy; each of its faults has fired when the block ends."""
    with FaultProxy(azurite.origins) as proxy:
        for share, fault, options in ACCOUNT_FAULTS:
            proxy.set(fault, times=math.inf, share=share, chance=chance, **options)
        yield {"AzureWebJobsStorage": proxy.connection_string}
