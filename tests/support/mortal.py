"""Processes of one app that may die before or after any of their calls, and the stores and engine that outlive them.

The entities' operations are delivered when a test says so, by a process of its choice.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Awaitable, Callable
from typing import Any

from hosting.core.agent.agent_loop import AgentLoop
from hosting.core.entity.thread_entity import ThreadEntity
from hosting.core.services import Services
from hosting.core.stores.archive import Archive
from hosting.core.stores.contract import ThreadStore
from hosting.core.stores.memory import MemoryObjects, MemoryThreadStore, SharedMemory
from hosting.core.stores.stores import Stores
from hosting.core.sweeps import UploadSweep
from hosting.core.thread.commands import AcceptRun, Change
from hosting.core.thread.events import Accepted
from hosting.core.thread.run_request import RunRequest
from hosting.core.thread_log import epoch_store_key, store_key
from hosting.features.forks.forking import ForkCall, Forked, Forking, ForkPoint
from hosting.features.uploads.feature import UploadSettings, UploadsFeature
from hosting.listing import Window
from hosting.names import Address, new_id
from hosting.plan import AgentPlan
from hosting.ports import Clocks, EntityEnd, EntityPage, ObjectStore
from hosting.settings import read_settings
from state.attachments import Exchange
from tests.support.bench import CountingAgent
from tests.support.clock import Clock

HUB = "hub"
AGENT = "Joker"
ORIGIN = Address.of(AGENT, "origin")


class DiedError(BaseException):
    """The process ended here."""


class Life:
    """A process' life: it ends before its call number `ends_at`, counted from 1, or after it with `is_done`."""

    def __init__(self, ends_at: int = 0, *, is_done: bool = False) -> None:
        self.calls = 0
        self._ends_at = ends_at
        self._is_done = is_done
        self._is_over = False

    async def through(self, call: Any) -> Any:
        """Make the call, unless the life ends before it."""
        self.calls += 1
        if self._is_over or (self.calls == self._ends_at and not self._is_done):
            call.close()
            self._end()
        answer = await call
        if self.calls == self._ends_at:
            self._end()
        return answer

    def _end(self) -> None:
        self._is_over = True
        raise DiedError


class Interrupted(Life):
    """A life in which something else happens before call number `at`: another process does it."""

    def __init__(self, at: int, meanwhile: Callable[[], Awaitable[object]]) -> None:
        super().__init__()
        self._at = at
        self._meanwhile = meanwhile

    async def through(self, call: Any) -> Any:
        """Make the call, after what happens before it."""
        if self.calls + 1 == self._at:
            await self._meanwhile()
        return await super().through(call)


class Mortal:
    """Passes every call on to what outlives the process."""

    def __init__(self, life: Life, lasting: Any) -> None:
        self._life = life
        self._lasting = lasting

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._lasting, name)
        if not callable(found):
            return found
        return lambda *given, **named: self._life.through(found(*given, **named))


class Engine:
    """The documents of the entities, and the signals that they have not been delivered yet."""

    def __init__(self) -> None:
        self.documents: dict[str, str] = {}
        self.ends: dict[str, str] = {}
        self.signals: list[tuple[str, str, object]] = []

    async def signal(self, entity: str, key: str, operation: str, value: object) -> None:
        """Take a signal."""
        self.signals.append((key, operation, value))

    async def read(self, entity: str, key: str) -> str | None:
        """Return a document."""
        return self.documents.get(key)

    async def ended(self, entity: str, key: str) -> Any:
        """Return what an entity left that has ended."""
        if key in self.ends:
            return EntityEnd.of(json.loads(self.ends[key]))
        return None if key in self.documents else "missing"

    async def list(self, *given: Any, **named: Any) -> EntityPage:
        """Return no threads."""
        return EntityPage((), None)

    async def purge(self, instance_id: str) -> str:
        """Purge an instance."""
        self.ends.pop(instance_id.rpartition("@")[2], None)
        return "deleted"


class World:
    """What outlives processes, by a clock that a test moves; recent entries have little room, so most are archived."""

    def __init__(self) -> None:
        self.clock = Clock(1_000_000.0)
        self.threads = SharedMemory()
        self.archive: ObjectStore = MemoryObjects(self.clock)
        self.attachments: ObjectStore = MemoryObjects(self.clock)
        self.engine = Engine()
        self.loop = AgentLoop(2)
        self.settings = read_settings({"AGENT_RECENT_BYTES": "2048", "AGENT_ATTACHMENT_BYTES": "4096"})

    def again(self) -> World:
        """Return another world in which everything stands as it stands here now; its agents run on the same loop."""
        other = copy.copy(self)
        other.threads = SharedMemory()
        lasting = (self.clock, self.threads.threads, self.archive, self.attachments, self.engine)
        other.clock, other.threads.threads, other.archive, other.attachments, other.engine = copy.deepcopy(lasting)
        return other

    def log(self) -> ThreadStore:
        """Return the log that outlives processes."""
        return MemoryThreadStore(HUB, self.threads)

    def process(self, life: Life | None = None) -> MortalProcess:
        """Return another process of the app."""
        return MortalProcess(self, life or Life())

    async def kept(self, address: Address) -> tuple[int, int, int]:
        """Return how many objects of a thread's archive there are, of its attachments, and the position of its head."""
        head, thread, counts = await self.log().head(address), store_key(HUB, address), []
        for store in (self.archive, self.attachments):
            names = [await store.names(epoch_store_key(HUB, address, one)) for one in await store.epochs(thread)]
            counts.append(sum(map(len, names)))
        return counts[0], counts[1], 0 if head is None else head.position

    async def loans(self, address: Address) -> int:
        """Return how many forks have borrowed of a thread."""
        thread = store_key(HUB, address)
        places = [epoch_store_key(HUB, address, one) for one in await self.archive.epochs(thread)]
        return sum([len(await self.archive.names(place, "loan-")) for place in places])


class MortalProcess:
    """One process of the app."""

    def __init__(self, world: World, life: Life) -> None:
        self._world = world
        self.agent = CountingAgent()
        self.engine: Any = Mortal(life, world.engine)
        stores: list[Any] = [Mortal(life, one) for one in (world.archive, world.attachments)]
        log: Any = Mortal(life, world.log())
        chosen = Stores(HUB, log, Archive(stores[0]), stores[1])
        quiet: Any = {"ended": 0.0, "missing": 0.0, "at work": 60.0}  # nothing is under way here while somebody purges
        self.services = Services(chosen, world.settings, world.loop, patience_seconds=0.1, quiet_seconds=quiet)
        parts = self.services
        self.services.log.clocks = Clocks(world.clock, lambda: 0.0)
        files = UploadsFeature(parts, UploadSettings())  # type: ignore[call-arg]
        self.forking = Forking(parts.log, parts.threads, parts.archiver, parts.attachments, chosen, files=files)
        planned = AgentPlan(AGENT, self.agent)
        self.services.hold(planned, world.settings.run_timeout_seconds)
        self.entity = ThreadEntity(planned, self.services)

    async def fork(self, thread_id: str | None = None, origin: Address = ORIGIN, **wanted: Any) -> Forked:
        """Fork a thread; `key` is the idempotency key."""
        key = wanted.pop("key", None)
        return await self.forking.fork(origin, ForkCall(ForkPoint(**wanted), thread_id, key), self.engine)

    async def say(self, message: str, address: Address = ORIGIN, contents: tuple[Any, ...] = ()) -> str:
        """Take one whole turn and return its run's id."""
        accepted = Accepted(
            at=self._world.clock(),
            run_id=new_id(),
            agent=AGENT,
            thread_id=address.thread_id,
            fingerprint="print",
            request=RunRequest(message=message, contents=contents),
        )
        decided = await self.services.log.execute(address, AcceptRun(accepted, 10))
        assert isinstance(decided.outcome, Change), decided.outcome
        await self.deliver(address.thread_id, "run", {"run_id": accepted.run_id, "logged": True})
        return accepted.run_id

    async def deliver(self, key: str, operation: str, value: object) -> None:
        """Have a thread's entity do one operation here, and commit what comes of it."""
        given = {"name": operation, "input": json.dumps(json.dumps(value)), "isSignal": True, "id": "1"}
        state = self._world.engine.documents.get(key)
        payload = {"self": {"name": "dafx-joker", "key": key}, "exists": state is not None, "state": state}
        answered = json.loads(await self.entity.handle(json.dumps({**payload, "batch": [given]})))
        engine = self._world.engine
        engine.documents.pop(key, None)
        engine.ends.pop(key, None)
        (engine.documents if answered["entityExists"] else engine.ends)[key] = answered["entityState"]

    async def deliver_all(self) -> None:
        """Deliver the signals that wait."""
        while self._world.engine.signals:
            await self.deliver(*self._world.engine.signals.pop(0))

    async def sweep(self) -> None:
        """Sweep over the uploads, and deliver what that signals."""
        clocks = self.services.log.clocks
        sweep = UploadSweep(self.services.stores.attachments, HUB, lambda: [AGENT], clocks=clocks)
        await sweep.run(self.engine)
        await self.deliver_all()

    async def delete(self, address: Address) -> None:
        """Delete a thread."""
        await self.services.threads.delete(address, self.engine, 0.0)
        await self.deliver_all()
        await self.services.threads.delete(address, self.engine, 0.0)

    async def reset(self, address: Address) -> None:
        """Reset a thread."""
        await self.services.threads.reset(address, self.engine)
        await self.deliver_all()

    async def entries(self, address: Address) -> list[tuple[int, Exchange]]:
        """Return the conversation's entries with their positions."""
        window = Window(10_000, None, None, is_newest_first=False)
        return (await self.services.threads.messages(address, window, self.engine)).entries

    async def texts(self, address: Address) -> list[str]:
        """Return what a thread's messages say."""
        found = [entry for _, entry in await self.entries(address)]
        return [content.text for one in found for message in one.messages for content in message.contents]  # type: ignore[union-attr]
