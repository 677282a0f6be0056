"""Runs that are answered before they are claimed: watched by their process, and marked for a sweep.

Theory. While a deployment goes on, an older instance may be handed the operation of an agent that it does not have. The
signal is gone then, and neither the engine nor the log says so. So the process that answers 202 about a run looks after
a while whether the run's entity has it, and signals again if not, as long as this process lives.

The logs of all threads cannot be listed. So the run is marked next to the attachments, which are listed by time, before
it is answered. A sweep reads the heads of marked threads, signals for what stands still, and takes away the marks of
runs that have ended. A mark is a call of the store, which a deployment is worth and nothing else is: a process leaves
them in its first hour, and later where its look found the run without a holder. None is left of a run that ends while
its caller waits.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterable

from msgspec import Struct
from msgspec.structs import astuple

from hosting.core.agent.held_run import LEASE_MARGIN_SECONDS
from hosting.core.thread.head import Head
from hosting.core.thread_log import ThreadLog
from hosting.errors import HostingError
from hosting.names import Address, StoreKey, agent_in_key, key_prefix, store_space
from hosting.ports import AFTER_ALL, AHEAD_SECONDS, EntityClient, ObjectStore

logger = logging.getLogger(__name__)

DEPLOYING_SECONDS = 3600.0
"""For so long after the start of a process, instances of another version may be there."""
LOOK_SECONDS = 15.0
"""After so long this process looks whether a run that it answered about is at work, and after twice as long again."""
LONGEST_LOOK_SECONDS = 60.0
SWEPT_SECONDS = 45.0
"""A sweep skips younger marks: their process still watches. One of a clock ahead may be older."""
_MOST_WATCHED = 1000
_MARK_SECONDS = 2.0
_KEPT_SECONDS = 30 * 86_400.0
"""The time for which the mark of a run is kept if the app lacks its agent."""
_MARK = "run"


class _Watched(Struct):
    """A run that this process looks after; it looks at `next_at` by `Clocks.awake`, and then after a longer pause."""

    address: Address
    client: EntityClient
    next_at: float
    pause: float
    is_marked: bool


class PromisedRun(Struct, frozen=True):
    """A run that has a mark, of that key, since `marked_at`."""

    address: Address
    run_id: str
    key: str
    marked_at: float


class PromisedRuns:
    """The runs that one app has answered about, for one event loop; `hub` is its task hub."""

    def __init__(
        self, log: ThreadLog, attachments: ObjectStore, hub: str, *, look_seconds: float = LOOK_SECONDS
    ) -> None:
        self._log = log
        self._attachments = attachments
        self._marks = store_space(hub, "promised")
        self._look_seconds = look_seconds
        self._began_at = log.clocks.awake()
        self._watched: dict[str, _Watched] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._looking: asyncio.Task[None] | None = None

    @property
    def watched(self) -> int:
        """How many runs this process looks after."""
        return len(self._watched)

    async def keep(self, address: Address, run_id: str, client: EntityClient) -> None:
        """Look after a run that is about to be answered; raises nothing, for the answer does not hang on it."""
        now = self._log.clocks.awake()
        is_young = now - self._began_at < DEPLOYING_SECONDS
        is_marked = is_young and await self.mark(address, run_id)
        if len(self._watched) < _MOST_WATCHED:
            pause = self._look_seconds
            self._watched[run_id] = _Watched(address, client, now + pause, 2 * pause, is_marked)
            self._wait()

    async def close(self) -> None:
        """Watch nothing more; a sweep finds the marked runs."""
        self._watched.clear()
        if self._timer is not None:
            self._timer.cancel()
        if self._looking is not None:
            await asyncio.wait([self._looking])

    async def marked(self, agent: str | None = None, owner: str | None = None) -> list[PromisedRun]:
        """Return the runs that have a mark, oldest first: of all agents and owners, or of those.

        Raises `AttachmentsUnavailableError`.
        """
        prefix = "" if agent is None else f"{agent_in_key(agent.lower())}."
        if agent is not None and owner is not None:
            prefix = key_prefix(agent.lower(), owner)
        marks = await self._attachments.put_between(self._marks, 0.0, AFTER_ALL)
        runs = list[PromisedRun]()
        for marked_at, key in marks:
            texts = await self._attachments.read(StoreKey(self._marks, key), [_MARK]) if key.startswith(prefix) else {}
            for text in texts.values():
                *address, run_id = json.loads(text)
                runs.append(PromisedRun(Address(*address), run_id, key, marked_at))
        return runs

    async def forget(self, run: PromisedRun) -> None:
        """Take the mark of a run away. Raises `AttachmentsUnavailableError`."""
        await self._attachments.erase(StoreKey(self._marks, run.key))

    async def mark(self, address: Address, run_id: str) -> bool:
        text = json.dumps([*astuple(address), run_id]).encode()
        put = self._attachments.put(StoreKey(self._marks, f"{address.key}/{run_id}"), {_MARK: text})
        try:
            await asyncio.wait_for(put, _MARK_SECONDS)
        except (TimeoutError, HostingError):
            logger.warning("Run %s of agent %s is not marked: no store of attachments.", run_id, address.agent)
            return False
        return True

    def _wait(self) -> None:
        if self._timer is None and self._watched:
            self._timer = asyncio.get_running_loop().call_later(self._look_seconds / 2, self._begin_looks)

    def _begin_looks(self) -> None:
        self._looking = asyncio.ensure_future(self._look_after())

    async def _look_after(self) -> None:
        now = self._log.clocks.awake()
        for run_id, watched in [item for item in self._watched.items() if item[1].next_at <= now]:
            watched.next_at, watched.pause = now + watched.pause, min(2 * watched.pause, LONGEST_LOOK_SECONDS)
            try:
                await self._look(run_id, watched)
            except HostingError as error:
                logger.warning("Run %s cannot be checked now: %s", run_id, error.code)
            except Exception:
                logger.exception("Run %s is no longer checked.", run_id)
                self._watched.pop(run_id, None)
        self._timer = None
        self._wait()

    async def _look(self, run_id: str, watched: _Watched) -> None:
        cached = self._log.remembered(watched.address)  # what ended in this process is not read again
        is_over = cached is not None and cached.newest > 0 and cached.run(run_id) is None
        head = cached if is_over and cached is not None else await self._log.head(watched.address)
        if head.run(run_id) is None:
            self._watched.pop(run_id, None)
            if watched.is_marked:
                await self._attachments.erase(StoreKey(self._marks, f"{watched.address.key}/{run_id}"))
        elif head.claim is not None and head.claim.run_id == run_id and head.claim.holder == "entity":
            self._watched.pop(run_id, None)
        elif head.claim is None and head.runs[0].id == run_id and not head.is_paused:
            logger.warning("Run %s of agent %s is signalled for again.", run_id, watched.address.agent)
            watched.is_marked = watched.is_marked or await self.mark(watched.address, run_id)
            await watched.client.signal(*watched.address.entity, "run", {"run_id": run_id, "logged": True})


class PromiseSweep:
    """Signals for marked runs without progress, of these agents: their process may have died."""

    def __init__(self, promised: PromisedRuns, log: ThreadLog, agents: Callable[[], Iterable[str]]) -> None:
        self._promised = promised
        self._log = log
        self._agents = agents
        self._seen: dict[str, tuple[str, float]] = {}

    async def run(self, client: EntityClient) -> None:
        """Sweep once. Raises `EngineUnavailableError`, `LogUnavailableError` and `AttachmentsUnavailableError`."""
        agents, now = {agent.lower() for agent in self._agents()}, self._log.clocks.wall()
        sightings, self._seen = self._seen, {}
        for run in await self._promised.marked():
            if now - SWEPT_SECONDS < run.marked_at <= now + AHEAD_SECONDS:
                continue
            if run.address.agent not in agents:
                if run.marked_at < now - _KEPT_SECONDS:
                    await self._promised.forget(run)
                continue
            head = await self._log.head(run.address)
            is_queued = head.run(run.run_id) not in (None, head.next_run)
            if not head.runs:  # the document may lack ends: while a run was paused, no run had a signal left
                await client.signal(*run.address.entity, "run", {"run_id": run.run_id, "logged": True})
                await self._promised.forget(run)
            elif not (is_queued or head.is_paused) and self._stands_still(head, sightings.get(run.key), run.key):
                logger.warning("Run %s of agent %s made no progress. It is signalled.", run.run_id, run.address.agent)
                await client.signal(*run.address.entity, "run", {"run_id": head.runs[-1].id, "logged": True})

    def _stands_still(self, head: Head, sighting: tuple[str, float] | None, key: str) -> bool:
        """Return whether the run has no holder, or a lost one, or one without an append for longer than its lease."""
        if head.claim is None or self._log.processes.is_gone(head.claim.process):
            return True
        now = self._log.clocks.awake()
        append_id, since = sighting if sighting is not None and sighting[0] == head.append_id else (head.append_id, now)
        self._seen[key] = append_id, since
        return now - since >= head.claim.lease_seconds + LEASE_MARGIN_SECONDS
