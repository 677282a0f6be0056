"""The services of an app's surfaces: runs, threads and approvals over its stores, made once for all."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import KW_ONLY, dataclass, field

from hosting.core.absent_agents import AbsentAgents
from hosting.core.agent.agent_loop import AgentLoop
from hosting.core.agent.agent_runner import AgentRunner
from hosting.core.agent.deltas import BatchPace
from hosting.core.agent.held_run import LEASE_MARGIN_SECONDS, LEASE_SECONDS
from hosting.core.agent.hosted_agent import HostedAgent
from hosting.core.agent.time_limits import UNLIMITED, AttemptTimes
from hosting.core.archiving import Archiver, Capacity
from hosting.core.broadcast import Broadcast
from hosting.core.care import Care
from hosting.core.cells import Cells
from hosting.core.conversations import Conversations
from hosting.core.deletion import ThreadDeletion
from hosting.core.document_writer import Attachments, DocumentWriter
from hosting.core.following import Following
from hosting.core.held_runs import HeldRuns
from hosting.core.hooks import NO_HOOKS, AgentHooks, ThreadData
from hosting.core.lending import Lending
from hosting.core.promised_runs import LOOK_SECONDS, PromisedRuns, PromiseSweep
from hosting.core.purging import QUIET_SECONDS, EntityState, Purging
from hosting.core.retention import Retention
from hosting.core.rotation import Rotation
from hosting.core.runs import Runs
from hosting.core.stores.contract import ThreadStore
from hosting.core.stores.stores import Stores
from hosting.core.thread_log import PATIENCE_SECONDS, ThreadLog, epoch_store_key
from hosting.core.thread_operations import ThreadOperations
from hosting.core.threads import Threads
from hosting.core.turns import LargeReads
from hosting.plan import AgentPlan
from hosting.ports import APP_CLOCKS, Clocks
from hosting.settings import Settings


def _batch_pace(settings: Settings, store: ThreadStore) -> BatchPace:
    """Return how the streamed text of this process is logged: as it is set, else as an append costs in the store."""
    seconds = store.batch_seconds if settings.stream_batch_seconds is None else settings.stream_batch_seconds
    return BatchPace(seconds, settings.stream_batch_characters)


@dataclass(eq=False)
class Services:
    """The behaviour of the routes, tools and entities of one app, for one event loop.

    One of `admits` raises while no run is taken; `turn` is entered for each batch of an entity, and may raise. A log
    that is away is waited for `patience_seconds`. A holder that appended nothing for its lease and a margin is gone.
    What the platform gives a batch of an entity, or a stream, is `working_seconds`, and what it leaves an attempt of a
    run is in `attempts`. For `quiet_seconds` an entity of a deleted thread is seen the same before it is purged. A run
    that was answered before anybody had it is looked after `look_seconds` later. Routes begin with `route_prefix`.
    """

    stores: Stores
    settings: Settings
    loop: AgentLoop
    _: KW_ONLY
    admits: Sequence[Callable[[], None]] = ()
    turn: Callable[[], AbstractContextManager[None]] = nullcontext
    patience_seconds: float = PATIENCE_SECONDS
    lease_seconds: float = LEASE_SECONDS
    margin_seconds: float = LEASE_MARGIN_SECONDS
    working_seconds: float = math.inf
    attempts: AttemptTimes = UNLIMITED
    look_seconds: float = LOOK_SECONDS
    route_prefix: str = "api"
    quiet_seconds: Mapping[EntityState, float] = field(default_factory=lambda: QUIET_SECONDS)
    clocks: Clocks = field(default_factory=APP_CLOCKS.get)
    ttls: dict[str, float] = field(default_factory=dict, init=False)
    """Agents' times to live in seconds, by their names in lower case."""
    hooks: dict[str, AgentHooks] = field(default_factory=dict, init=False)
    """What features add to the runs of agents, by their names in lower case."""
    thread_data: list[ThreadData] = field(default_factory=list, init=False)
    """The data of threads that features keep; the app adds it before its first request."""

    def __post_init__(self) -> None:
        stores, settings = self.stores, self.settings
        self._agents, self._names = dict[str, HostedAgent](), dict[str, str]()
        self.attachments = attachments = Attachments(stores.attachments, settings.attachment_bytes)
        self.archiver = archiver = Archiver(stores.archive, settings.document_bytes)
        capacity = Capacity(settings.state_limit_bytes, settings.attachment_bytes)
        self.log = ThreadLog(
            stores.threads,
            stores.attachments,
            stores.hub,
            patience_seconds=self.patience_seconds,
            clocks=self.clocks,
            names=self._names,
        )
        lending, data = Lending(self.log, stores), self.thread_data
        self.documents = DocumentWriter(stores.hub, capacity, archiver, attachments, lending, thread_data=data)
        broadcast = Broadcast()
        conversations = Conversations(self.log, shorten=archiver.cut, document_bytes=settings.document_bytes)
        self.holders = HeldRuns(
            self.log,
            conversations,
            broadcast,
            self._agents,
            inline=lambda address, epoch, conversation: attachments.inlined(
                address, epoch_store_key(stores.hub, address, epoch), conversation
            ),
            admits=capacity.refusal,
            takes_runs=self.loop.takes_runs,
            lease_seconds=self.lease_seconds,
        )
        self.care = Care(self.log, broadcast, self.holders, queue_seconds=settings.queue_timeout_seconds)
        self.operations = ThreadOperations(
            self.log,
            conversations,
            self.holders,
            self.care,
            read=self.documents.stored.read,
            margin_seconds=self.margin_seconds,
        )
        self.deletion = ThreadDeletion(self.log, stores, self._agents, self.thread_data)
        self.promised = PromisedRuns(self.log, stores.attachments, stores.hub, look_seconds=self.look_seconds)
        self.runs = Runs(
            self.log, self.holders, self.care, settings, self.promised, admits=self.admits, hooks=self.hooks
        )
        self.following = Following(self.care, self.holders.draining, most_seconds=self.working_seconds)
        self._add_threads(conversations)
        self._add_what_spans_threads()

    def _add_threads(self, conversations: Conversations) -> None:
        stores, quiet = self.stores, self.quiet_seconds
        self.absent = AbsentAgents(self.deletion, self._agents)
        self.purging = Purging(
            self.log,
            self.holders.draining,
            quiet_seconds=quiet,
            is_absent=self.absent.has,
            thread_data=self.thread_data,
        )
        self.threads = Threads(
            self.log,
            conversations,
            stores,
            self.holders,
            documents=self.documents,
            purging=self.purging,
            absent=self.absent,
            ttls=self.ttls,
            thread_data=self.thread_data,
        )

    @property
    def agents(self) -> Mapping[str, HostedAgent]:
        """The agents that this process runs, by their names in lower case."""
        return self._agents

    def _add_what_spans_threads(self) -> None:
        stores = self.stores
        self._pace = _batch_pace(self.settings, stores.threads)
        self.large_reads = LargeReads()
        self.cells = Cells(stores.threads, self.log)
        self.retention = Retention(self.log, self.settings.log_days)

    def hold(self, planned: AgentPlan, run_timeout_seconds: float, hooks: AgentHooks = NO_HOOKS) -> None:
        """Have runs of the agent held by this process; one may take `run_timeout_seconds` in all.

        `hooks` are what features add to its runs. Raises `ConfigurationError` for an agent that cannot be run as one.
        """
        runner = hooks.runner or AgentRunner(planned.agent, planned.name, self.loop, self.settings.context_tokens)
        self.hooks[planned.name.lower()] = hooks
        if ttl_seconds := planned.options.ttl_seconds:
            self.ttls[planned.name.lower()] = ttl_seconds
        self._names[planned.name.lower()] = planned.name
        self._agents[planned.name.lower()] = HostedAgent(
            runner,
            self.settings,
            run_timeout_seconds,
            attempts=self.attempts,
            pace=self._pace,
            retry=planned.options.retry,
            reasoning=planned.options.reasoning,
            meter=hooks.meter,
            listen=hooks.listen,
            report=hooks.report,
            tokens=hooks.tokens,
            on_answer=hooks.on_answer,
        )

    def rotation(self, work: str) -> Rotation:
        """Return the turn order in that work for all agents."""
        return Rotation(self.stores.attachments, self.stores.hub, work)

    def promise_sweep(self, agents: Callable[[], Iterable[str]]) -> PromiseSweep:
        """Return the sweep over runs that were answered before a claim."""
        return PromiseSweep(self.promised, self.log, agents)

    async def drain(self, seconds: float) -> None:
        """End or release the runs that this process holds, as `HeldRuns.drain` does."""
        await self.holders.drain(seconds)
        await self.promised.close()

    async def close(self) -> None:
        """Let go of the stores."""
        await self.log.close()
        await self.stores.archive.close()
        await self.stores.attachments.close()
