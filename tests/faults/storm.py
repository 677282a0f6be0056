"""A storm: clients ask an app for all that it does while its processes are killed; and what must be true afterwards."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from hosting.core.thread import head, rows
from hosting.host_settings import task_hub
from hosting.settings import read_settings
from hosting.store_choice import choose_thread_store
from tests.faults.storm_clients import GUARD_SECONDS, Client, Thread, Turn
from tests.support.grouped_app import GroupedApp, GroupHost
from tests.support.seeds import repeated

CLIENTS = 8
LIFE_SECONDS = (0.5, repeated(2, exploring=4))
"""How long processes are left alone between two kills."""
DEATH_SECONDS = (0.0, 1.5)
REDEEM_SECONDS = 90.0
_REQUEST_SECONDS = 10.0
"""Shorter than a process sleeps here: whoever waits at one that does asks another."""
_SHOWN = 60
"""How many letters of a text a sentence about it shows."""
INSTANCES = "/runtime/webhooks/durabletask/instances/{}"
START = "/runtime/webhooks/durabletask/orchestrators/bill/{}"
LONGEST_PAUSE_SECONDS = 0.3
INTERRUPTED = {"run_interrupted", "run_crashed", "run_lost"}
"""The codes of runs that a kill may end."""

Disturb = Callable[[GroupedApp, random.Random, asyncio.Event], Coroutine[Any, Any, None]]
"""Does harm to the processes, and leaves all of them alive; the event says that all turns were sent."""


@dataclass(frozen=True)
class Stormed:
    """What the clients were told, how often each thing was charged, and what the app then shows of each thread."""

    clients: Sequence[Client]
    charged: Counter[str]
    shown: Mapping[str, list[str]]
    statuses: Mapping[str, int]

    @property
    def turns(self) -> list[Turn]:
        """All turns that somebody waited for."""
        return [turn for thread in self.threads for turn in (*thread.deleted, *thread.turns)]

    @property
    def threads(self) -> list[Thread]:
        return [thread for client in self.clients for thread in client.threads]

    @property
    def left(self) -> list[Turn]:
        """The turns that nobody asks for."""
        return [turn for client in self.clients for turn in client.left]


async def is_over(over: asyncio.Event, seconds: float) -> bool:
    """Tell whether all turns were sent, after so long or as soon as they are."""
    with suppress(TimeoutError):
        await asyncio.wait_for(over.wait(), seconds)
    return over.is_set()


async def kill_at_random(app: GroupedApp, chance: random.Random, over: asyncio.Event) -> None:
    """Kill one of the processes and start it again, until all turns were sent; say how often."""
    kills = 0
    while not await is_over(over, chance.uniform(*LIFE_SECONDS)):
        host = chance.choice((*app.http, app.durable))
        host.kill()
        await asyncio.sleep(chance.uniform(*DEATH_SECONDS))
        await asyncio.to_thread(host.start)
        kills += 1
    print(f"{kills} kills")


async def kill_workers(app: GroupedApp, chance: random.Random, over: asyncio.Event, times: int) -> None:
    """Kill durable hosts so often, first the one that works, and start each again behind those that wait."""
    line = list(app.workers)
    for number in range(times):
        await is_over(over, chance.uniform(*LIFE_SECONDS))
        host = line.pop(chance.randrange(len(line)) if number else 0)
        host.kill()
        await asyncio.sleep(chance.uniform(*DEATH_SECONDS))
        await asyncio.to_thread(host.start)
        line.append(host)


async def storm(
    app: GroupedApp,
    charges: Path,
    chance: random.Random,
    turns: int,
    disturb: Disturb = kill_at_random,
    *,
    has_owners: bool = False,
) -> Stormed:
    """Have clients send so many turns in all, and more while the app is disturbed; return what came of it."""
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
    async with httpx.AsyncClient(timeout=_REQUEST_SECONDS, limits=limits) as http:
        origins = [host.origin for host in app.http]
        clients = [
            Client(n, origins, random.Random(chance.getrandbits(64)), http, has_owners=has_owners)
            for n in range(CLIENTS)
        ]
        over = asyncio.Event()
        disturbing = asyncio.create_task(disturb(app, random.Random(chance.getrandbits(64)), over))
        lives = [asyncio.create_task(client.live(lambda: over.is_set() and disturbing.done())) for client in clients]
        lives.append(asyncio.create_task(_until_sent(clients, turns, over)))
        try:
            await asyncio.gather(*lives)
        finally:
            for life in lives:
                life.cancel()
            over.set()
            await disturbing
        shown = {one.place: await client.messages_of(one) for client in clients for one in client.threads}
        deleted = [(client, turn) for client in clients for one in client.threads for turn in one.deleted]
        statuses = {turn.run_id: (await client.status_of(turn)).status_code for client, turn in deleted if turn.run_id}
    return Stormed(clients, Counter(charges.read_text(encoding="utf-8").split()), shown, statuses)


async def _until_sent(clients: Sequence[Client], turns: int, over: asyncio.Event) -> None:
    """Say when they have sent so many together: whoever waits for a process that is dead keeps no storm going."""
    while sum(client.sent for client in clients) < turns:  # noqa: ASYNC110
        await asyncio.sleep(0.05)  # what they do is their own
    over.set()


def lost(stormed: Stormed) -> list[str]:
    """Say which turns have no end, a complaint, an error that no kill explains, or another answer than theirs."""
    found = []
    for turn in stormed.turns:
        if not turn.is_over:
            found.append(f"no end: {turn}")
        elif turn.complaint:
            found.append(f"{turn.complaint}: {turn}")
        elif turn.code and not _is_explained(turn):
            found.append(f"failed: {turn}")
        elif turn.is_success and turn.kind not in ("approve", "recall") and turn.name not in turn.response:
            found.append(f"another's answer, {turn.response[-_SHOWN:]!r}: {turn}")
        elif turn.screen is not None and turn.is_success and turn.screen != turn.response:
            found.append(f"on the screen {turn.screen[-_SHOWN:]!r} and not {turn.response[-_SHOWN:]!r}: {turn}")
    return found


def _is_explained(turn: Turn) -> bool:
    if turn.code in INTERRUPTED:
        return True
    return turn.code == "run_cancelled" and turn.kind == "cancel"


def doubled(stormed: Stormed) -> list[str]:
    """Say what was charged twice, or though it was denied, or not though its run said so."""
    twice = [f"charged {count} times: {name}" for name, count in stormed.charged.items() if count > 1]
    output = [turn for turn in stormed.turns if turn.response == f"charged {turn.name}"]
    twice += [f"charged, and denied: {turn}" for turn in stormed.turns if turn.is_denied and stormed.charged[turn.name]]
    return twice + [f"told, and not charged: {turn}" for turn in output if not stormed.charged[turn.name]]


def disordered(stormed: Stormed) -> list[str]:
    """Say which conversations are not what succeeded since they were emptied, once each and in its order.

    A message whose run failed or was cancelled may be shown, and is no part of what the model is told.
    """
    failed = {turn.message for turn in stormed.turns if turn.code}
    shown = {place: [text for text in texts if text not in failed] for place, texts in stormed.shown.items()}
    return [
        f"{thread.place} has {_ends(shown[thread.place])} and not {_ends(thread.expected)}"
        for thread in stormed.threads
        if shown[thread.place] != thread.expected
    ]


def _ends(texts: Sequence[str]) -> list[str]:
    return [text[-_SHOWN:] for text in texts]


def returned(stormed: Stormed) -> list[str]:
    """Say which runs of deleted threads answer anything but that they are gone."""
    return [f"{run_id} answers {status}" for run_id, status in stormed.statuses.items() if status != 410]


async def unredeemed(stormed: Stormed, folder: Path, environ: Mapping[str, str]) -> list[str]:
    """Say which turns that nobody asked for have no end in the log, or are not in the stored conversation.

    Both are read past the app, so that this is no question that would make it go on.
    """
    end = time.monotonic() + REDEEM_SECONDS
    while (missing := await _unredeemed(stormed, folder, environ)) and time.monotonic() < end:  # noqa: ASYNC110
        await asyncio.sleep(1)  # other processes tell nobody
    return missing


async def _unredeemed(stormed: Stormed, folder: Path, environ: Mapping[str, str]) -> list[str]:
    documents = _documents(folder)
    kept = (turn for turn in stormed.left if turn.name in documents.get(turn.address.entity[1], ""))
    ended = await _ended_in_log(stormed.left, folder, environ)
    applied = {turn.run_id for turn in kept}
    return [f"not in the log: {turn}" for turn in stormed.left if turn.run_id not in ended] + [
        f"not in the document: {turn}" for turn in stormed.left if turn.run_id in ended - applied
    ]


async def _ended_in_log(turns: Sequence[Turn], folder: Path, environ: Mapping[str, str]) -> set[str]:
    hub = task_hub(folder, environ)
    store = choose_thread_store(read_settings(environ), folder, environ, hub)
    ended = set()
    try:
        for turn in turns:
            stored, row = (
                await store.head(turn.address),
                await store.row(turn.address, rows.RunRow.name_of(turn.run_id)),
            )
            if stored is not None and row is not None:
                found = rows.decode(rows.RunRow, row.payload, head.decode(stored.payload))
                ended |= {turn.run_id} if isinstance(found, rows.RunRow) and found.last is not None else set()
    finally:
        await store.close()
    return ended


def _documents(folder: Path) -> dict[str, str]:
    """Return the stored conversations by thread, as the local host's engine has them."""
    with closing(sqlite3.connect(next(folder.rglob("durable.db")))) as connection:
        found = connection.execute("SELECT entity_id, state FROM entities WHERE state IS NOT NULL").fetchall()
    return {entity_id.split("@", 2)[2]: state for entity_id, state in found}


class Bills:
    """Orchestrations of ids that no other has; HTTP hosts take them, whether a durable one is there or not."""

    def __init__(self, hosts: Sequence[GroupHost]) -> None:
        self._hosts = hosts
        self.names: list[str] = []

    async def start(self, chance: random.Random, count: int) -> None:
        """Start so many, one behind another at times that chance chooses."""
        async with httpx.AsyncClient(timeout=GUARD_SECONDS) as http:
            for number in range(count):
                name = f"bill-{number}-{chance.getrandbits(32):08x}"
                self.names.append(name)
                answer = await http.post(chance.choice(self._hosts).origin + START.format(name))
                assert answer.status_code == 202, answer.text
                await asyncio.sleep(chance.uniform(0, LONGEST_PAUSE_SECONDS))

    async def wrong(self, charges: Path) -> list[str]:
        """Say which have no end, or another than theirs, or charged more than once, or not though they say so."""
        async with httpx.AsyncClient(base_url=self._hosts[0].origin, timeout=GUARD_SECONDS) as http:
            outputs = {name: await _output(http, name) for name in self.names}
        charged = Counter(charges.read_text(encoding="utf-8").split())
        print(f"{len(outputs)} orchestrations, {sum(charged[name] for name in outputs)} of them charged")
        return [
            f"{name} ended with {output!r} and was charged {charged[name]} times"
            for name, output in outputs.items()
            if (output, charged[name]) != (f"charged {name}", 1) and not (output in INTERRUPTED and charged[name] < 2)
        ]


async def _output(http: httpx.AsyncClient, name: str) -> str:
    """Return the output of an instance once it has ended, its whole status if that is no success, under the guard."""
    end = time.monotonic() + GUARD_SECONDS
    while (answer := await http.get(INSTANCES.format(name))).status_code == 202:
        assert time.monotonic() < end, answer.text
        await asyncio.sleep(0.05)
    status = answer.json()
    return str(status["output"] if status["runtimeStatus"] == "Completed" else status)
