"""Processes of one app over one store, in this process: the real assembly, an engine double, and two moved clocks.

    async def test_another_process_ends_what_a_killed_one_began(cluster: Cluster) -> None:
        one, other = cluster.process(), cluster.process()
        one.agent.gate.clear()
        run = await one.start(call("hi"))        # what a route does: accepted, claimed, the signal sent
        one.die()                                # no call of this process reaches anything any more
        await cluster.sleep(LEASE_SECONDS)       # no time passes but this: nobody waits
        await cluster.deliver(other)             # the engine's signals, by that process, until none is left
        assert (await other.end_of(run.run_id)).kind == "completed"

Mark the module `pytest.mark.moved_time`: the loop's time is then the clusters', and passes only while all wait. What a
process does by `process.live(work)` ends between any two of its steps: see `Life`, which `cluster.process` takes.
`cluster.wall_ahead` sets the wall clock apart from the other one.
"""

from __future__ import annotations

import asyncio
import copy
import json
import time
from collections.abc import Callable, Coroutine, Mapping
from functools import cached_property
from typing import Any, TypeVar

import httpx

from hosting.core.agent.held_run import LEASE_SECONDS
from hosting.core.entity.thread_entity import ThreadEntity
from hosting.core.services import Services
from hosting.core.stores.archive import Archive
from hosting.core.stores.memory import MemoryObjects, MemoryThreadStore, SharedMemory
from hosting.core.stores.stores import Stores
from hosting.core.thread.commands import AcceptRun, Change, ResetThread
from hosting.core.thread.events import Accepted, Event, RunEvent, Terminal
from hosting.core.thread.run import Ended, Run
from hosting.core.thread.run_request import RunRequest, StartRun
from hosting.core.thread_log import epoch_store_key
from hosting.errors import ArchiveUnavailableError, AttachmentsUnavailableError
from hosting.feature import Entity, EntityOperation, Feature
from hosting.functions.feature_entities import FeatureEntities
from hosting.names import Address, StoreKey, new_id
from hosting.plan import AgentPlan
from hosting.ports import APP_CLOCKS, Clocks, Wait
from hosting.principal import Caller
from tests.support.cluster.app import AGENT, ClusterApp, EchoAgent
from tests.support.cluster.engine import Engine, SdkClient, Signal, instance_of
from tests.support.cluster.life import Life, Mortal, make_living_task
from tests.support.cluster.orchestrations import Orchestrations
from tests.support.cluster.stores import ArmedObjects
from tests.support.direct import DirectHost
from tests.support.thread_stores import ArmedStore

HUB = "hub"
THREAD = "t1"
ADDRESS = Address.of(AGENT, THREAD)
INSTANCE = instance_of(*ADDRESS.entity)
__all__ = [
    "ADDRESS",
    "AGENT",
    "HUB",
    "INSTANCE",
    "LEASE_SECONDS",
    "THREAD",
    "AppProcess",
    "Cluster",
    "EchoAgent",
    "call",
]

T = TypeVar("T")
FeatureT = TypeVar("FeatureT", bound=Feature)


class Cluster:
    """What outlives processes: stores, the engine and time.

    `agent` makes the agent of each process, `options` are those of the app, `registered` those of `add_agent`; `bounds`
    are those of `Services`, such as `most` waiting times. The stores are in memory, whatever `settings` name.
    """

    def __init__(
        self,
        agent: Callable[[], Any] = EchoAgent,
        *,
        settings: Mapping[str, str] | None = None,
        registered: Mapping[str, Any] | None = None,
        bounds: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        self.loop = asyncio.get_running_loop()
        self.loop.set_task_factory(make_living_task)
        self.settings = {"AGENT_LOG": "memory", **(settings or {})}
        self.wall_ahead = time.time() - self.loop.time()
        self.clocks = Clocks(self.wall, self.loop.time)
        self.memory = SharedMemory()
        self.archive, self.attachments = MemoryObjects(self.wall), MemoryObjects(self.wall)
        self.engine = Engine(self.wall)
        self.processes: list[AppProcess] = []
        self.make_agent, self.registered, self.options = agent, dict(registered or {}), options
        self.bounds = dict(bounds or {})

    def wall(self) -> float:
        """Return the time of the wall clock, in seconds since 1970."""
        return self.loop.time() + self.wall_ahead

    def process(self, life: Life | None = None, **settings: str) -> AppProcess:
        """Begin a process of the app; `settings` are its own."""
        process = AppProcess(self, life or Life(), {**self.settings, **settings})
        self.processes.append(process)
        return process

    async def sleep(self, seconds: float) -> None:
        """Let time pass, and what is due meanwhile be done."""
        await asyncio.sleep(seconds)

    async def deliver(self, process: AppProcess) -> None:
        """Have a process do all operations that were signalled, and those that these signal, in their order."""
        while self.engine.signals:
            await process.take(self.engine.signals[0])
            self.engine.signals.pop(0)

    @property
    def alive(self) -> AppProcess | None:
        """The first process that lives."""
        return next((process for process in self.processes if not process.life.is_over), None)

    def run_clocks(self) -> None:
        """Have the orchestrations of features run from now on; else they are only known to the engine."""
        self.engine.begun = Orchestrations(self).begin

    def again(self) -> Cluster:
        """Return another cluster, in which everything stands as it stands here now; time is the same."""
        other = copy.copy(self)
        other.processes, other.memory = [], SharedMemory()
        other.clocks = Clocks(other.wall, self.loop.time)
        begun, self.engine.begun = self.engine.begun, None
        lasting = (self.memory.threads, self.archive, self.attachments, self.engine)
        copied = copy.deepcopy(lasting, {id(self): other})
        other.memory.threads, other.archive, other.attachments, other.engine = copied
        self.engine.begun = begun
        return other

    async def close(self) -> None:
        """End all processes."""
        for process in self.processes:
            process.die()
        ours = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in ours:
            task.cancel()
        if ours:
            await asyncio.wait(ours, timeout=1.0)


class AppProcess:
    """One process of the app. Its `store`, `archive` and `attachments` can be armed; `engine` is what it sees of it."""

    def __init__(self, cluster: Cluster, life: Life, settings: Mapping[str, str]) -> None:
        self.cluster, self.life = cluster, life
        self.agent = cluster.make_agent()
        self.store = ArmedStore(MemoryThreadStore(HUB, cluster.memory))
        self.archive = ArmedObjects(cluster.archive, ArchiveUnavailableError)
        self.attachments = ArmedObjects(cluster.attachments, AttachmentsUnavailableError)
        self.engine: Any = Mortal(life, cluster.engine)
        self.app = self._app(settings)
        services: Services = self.app._services
        self.services, self.log, self.runs, self.threads = services, services.log, services.runs, services.threads
        self.holders, self.care, self.operations = services.holders, services.care, services.operations
        self.following, self.promised, self.purging = services.following, services.promised, services.purging
        self.stores, self.deletion, self.loop = services.stores, services.deletion, services.loop

    def _app(self, settings: Mapping[str, str]) -> ClusterApp:
        """Assemble the app over these stores, by the cluster's clocks."""
        threads, archive, attachments = (
            Mortal(self.life, each) for each in (self.store, self.archive, self.attachments)
        )
        stores = Stores(HUB, threads, Archive(archive), attachments)
        given = APP_CLOCKS.set(self.cluster.clocks)
        try:
            app = ClusterApp(stores, self.cluster.bounds, environ=settings, **self.cluster.options)
        finally:
            APP_CLOCKS.reset(given)
        app.add_agent(self.agent, **self.cluster.registered)
        return app

    @cached_property
    def host(self) -> DirectHost:
        """The app's functions, as a host indexes them."""
        return DirectHost(self.app, sdk=lambda _: SdkClient(self.engine))

    @cached_property
    def http(self) -> httpx.AsyncClient:
        """A client of its routes."""
        transport = httpx.ASGITransport(self.host.asgi, raise_app_exceptions=False)
        return httpx.AsyncClient(transport=transport, base_url="http://app.example")

    @property
    def planned(self) -> AgentPlan:
        """The agent as the app has it."""
        found = self.app._plan.find(self.agent.name)
        assert found is not None
        return found

    @cached_property
    def entity(self) -> ThreadEntity:
        """The agent's entity."""
        return ThreadEntity(self.planned, self.services, self.services.hooks[self.planned.name.lower()].on_end)

    def feature(self, kind: type[FeatureT]) -> FeatureT:
        """Return the app's feature of that class."""
        return next(each for each in self.app._served.features if isinstance(each, kind))

    @cached_property
    def _entities(self) -> FeatureEntities:
        entities = FeatureEntities(self.services.turn, self.cluster.wall)
        for each in [*self.declared(EntityOperation).values(), *self.declared(Entity).values()]:
            entities.add(each)
        return entities

    def declared(self, kind: type[Any]) -> dict[str, Any]:
        """Return what features declare of that kind for the durable engine, by name."""
        durable = [each for feature in self.app._served.features if feature.is_on for each in feature.durable()]
        return {each.name: each for each in durable if isinstance(each, kind)}

    @property
    def caller(self) -> Caller:
        """The app itself, for its own threads."""
        return Caller(self.engine)

    async def live(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of work of this process, which ends with it."""
        return await self.life.live(work)

    def die(self) -> None:
        """End as a killed process does: nothing that it does reaches anything any more."""
        self.life.end()
        self.store.is_away = True

    async def start(self, call: StartRun, caller: Caller | None = None) -> Run:
        """Start a run of the agent as the app itself asks, or that caller, and return it."""
        return (await self.live(self.runs.start(self.agent.name, call, caller or self.caller))).run

    async def answered(self, message: str = "hi", thread_id: str | None = THREAD, seconds: float = 60.0) -> Run:
        """Start a run, and return it once it has ended or so long has passed."""
        run = await self.start(call(message, thread_id))
        return await self.live(self.runs.wait(run, self.engine, seconds))

    async def open(
        self,
        message: str = "hi",
        run_id: str | None = None,
        *,
        thread_id: str = THREAD,
        request: RunRequest | None = None,
        **members: Any,
    ) -> str:
        """Have a run accepted and return its id; nobody holds it, and it is not signalled."""
        request = request or RunRequest(message=message)
        event = Accepted(
            at=self.cluster.wall(),
            run_id=run_id or new_id(),
            agent=self.agent.name,
            thread_id=thread_id,
            fingerprint="print",
            request=request,
            **members,
        )
        command = AcceptRun(event, self.services.settings.queue_limit)
        decided = await self.log.execute(self.address(thread_id), command)
        assert isinstance(decided.outcome, Change), decided.outcome
        return event.run_id

    def address(self, thread_id: str = THREAD) -> Address:
        """Return the address of a thread of the app's own."""
        return Address.of(self.agent.name, thread_id)

    async def operate(
        self,
        value: object,
        name: str = "run",
        thread_id: str = THREAD,
        *,
        commit: bool = True,
        is_signal: bool = True,
        operation_id: str = "",
    ) -> Any:
        """Have a thread's entity do an operation, a new one or that; return its result, or `{"refused": reason}`.

        Not to commit it is to lose what the engine was to store of it.
        """
        signal = Signal(*self.address(thread_id).entity, name, value)
        return await self.take(signal, commit=commit, is_signal=is_signal, operation_id=operation_id)

    async def take(self, signal: Signal, *, commit: bool = True, is_signal: bool = True, operation_id: str = "") -> Any:
        """Do an operation as the engine delivers it; and let it commit what comes of that, and send what it signals."""
        engine = self.cluster.engine
        state = engine.documents.get(signal.instance_id)
        operation = {
            "name": signal.operation,
            "input": json.dumps(json.dumps(signal.value)),
            "isSignal": is_signal,
            "id": operation_id or new_id(),
        }
        payload = {"self": {"name": signal.entity, "key": signal.key}, "exists": state is not None, "state": state}
        answer = json.loads(await self.live(self._handle(signal.entity, json.dumps({**payload, "batch": [operation]}))))
        if commit:
            engine.commit(signal.instance_id, answer["entityState"], is_end=not answer["entityExists"])
            for sent in answer.get("signals", ()):
                target = sent["target"]
                value = json.loads(json.loads(sent["input"]))
                engine.signals.append(Signal(target["name"], target["key"], sent["name"], value))
        result = answer["results"][0]
        output = json.loads(result["result"])
        if result["isError"]:
            return {"refused": output}
        is_agents = signal.entity.lower() == self.address().entity[0].lower()
        return json.loads(output) if is_agents and not is_signal and isinstance(output, str) else output

    async def _handle(self, entity: str, payload: str) -> str:
        if entity.lower() == self.address().entity[0].lower():
            return await self.entity.handle(payload)
        return await self._entities.handle(entity, payload, self.engine)

    async def deliver(self, run_id: str, thread_id: str = THREAD, *, commit: bool = True) -> Any:
        """Have a thread's entity finish a run that was accepted."""
        return await self.operate({"run_id": run_id, "logged": True}, thread_id=thread_id, commit=commit)

    async def run(self, message: str, thread_id: str = THREAD, **members: Any) -> str:
        """Take one whole turn by the entity, and return its run's id."""
        run_id = await self.open(message, thread_id=thread_id, **members)
        await self.deliver(run_id, thread_id)
        return run_id

    async def reset(self, thread_id: str = THREAD, *, commit: bool = True) -> int:
        """Have the conversation forgotten, and return at which position of the log."""
        decided = await self.log.execute(self.address(thread_id), ResetThread(self.cluster.wall()))
        await self.operate({"position": decided.head.reset_at}, "reset", thread_id, commit=commit)
        return decided.head.reset_at

    async def find_run(self, run_id: str, thread_id: str = THREAD) -> Run:
        """Return a run as the log has it."""
        run = await self.operations.find_run(self.address(thread_id), run_id)
        assert isinstance(run, Run)
        return run

    async def end_of(self, run_id: str, thread_id: str = THREAD) -> Terminal | None:
        """Return how a run has ended, None while it has not."""
        state = (await self.find_run(run_id, thread_id)).state
        return state.end if isinstance(state, Ended) else None

    async def terminal(self, run_id: str, thread_id: str = THREAD) -> Terminal:
        """Return the end of a run that has ended."""
        end = await self.end_of(run_id, thread_id)
        assert end is not None
        return end

    async def run_events(self, run_id: str, thread_id: str = THREAD) -> list[Event]:
        """Return a run's events, oldest first."""
        events = await self.log.events(self.address(thread_id), 0)
        return [event for _, event in events if isinstance(event, RunEvent) and event.run_id == run_id]

    async def kinds(self, address: Address = ADDRESS) -> list[str]:
        """Return the kinds of a thread's events, in order."""
        return [event.kind for _, event in await self.log.events(address, 0)]

    def entries(self, thread_id: str = THREAD) -> list[dict[str, Any]]:
        """Return the entries of the conversation that the engine has stored."""
        text = self.cluster.engine.documents.get(instance_of(*self.address(thread_id).entity))
        return list(json.loads(text)["data"]["conversationHistory"]) if text else []

    def places(self, thread_id: str = THREAD) -> list[str]:
        """Return the runs that have a response in the conversation, in order."""
        return [entry["correlationId"] for entry in self.entries(thread_id) if entry["$type"] == "response"]

    def place(self, epoch: int) -> StoreKey:
        """Return where the archive and the attachments of one life of the thread lie."""
        return epoch_store_key(HUB, ADDRESS, epoch)


def call(message: str = "hi", thread_id: str | None = THREAD, *, waits: bool = True, **members: Any) -> StartRun:
    """Return what a caller asks."""
    return StartRun(
        request=RunRequest(message=message),
        thread_id=thread_id,
        wait=Wait(answer=waits),
        idempotency_key=members.pop("key", None),
        **members,
    )
