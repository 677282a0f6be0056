"""Agents' facts about owners: a list for each agent and owner, in the store of the threads' logs.

Theory. All that is known of an owner stands in a cell (`hosting.core.cells`): one read gives it, and one append
replaces it whole, if nobody else came first. So what was forgotten is gone with that append, and of two processes that
remember something at once, the second does it again on what the first one left. A fact of the same id, or with the same
words, is there already: whatever is sent twice counts once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from msgspec import Struct
from pydantic import BaseModel, ConfigDict

from hosting.core.agent.agent_loop import RUN
from hosting.core.agent.framework import agents_within
from hosting.core.agent.held_run import HeldRun
from hosting.core.cells import Cell, CellKind, Cells
from hosting.core.stores.contract import MOST_HEAD_BYTES
from hosting.errors import ConfigurationError, NewerVersionError, RequestError
from hosting.features.memory.provider import Fact, OwnerMemory, RunMemory
from hosting.ports import Clocks

VERSION = 1
MOST_BYTES = MOST_HEAD_BYTES - 4096
"""The most bytes of all facts of an owner, as JSON: some hundred sentences."""


class UnknownFactError(RequestError, code="unknown_fact", status=404):
    """The agent has no fact about the caller with this id."""


class MemoryFullError(RequestError, code="memory_full", status=409):
    """The agent's memory of the caller is full."""


class _Memory(BaseModel):
    """The stored form: the facts, oldest first. Additions of another version stay."""

    model_config = ConfigDict(frozen=True, extra="allow")

    v: int = VERSION
    facts: tuple[Fact, ...] = ()


Change = Callable[[tuple[Fact, ...]], tuple[Fact, ...]]


class Memories:
    """The memories of one app, for one event loop.

    What reads or writes one raises `LogUnavailableError` and `NewerVersionError`.
    """

    def __init__(self, cells: Cells, clocks: Clocks) -> None:
        self._cells = cells
        self._clocks = clocks
        self._agents: set[str] = set()
        self._names: dict[OwnerMemory, str] = {}

    def attach(self, agent: object, name: str, held: Mapping[str, HeldRun], *, has_owners: bool) -> bool:
        """Connect the memories of an agent, and of those that are its tools; return whether it has any.

        `held` are the runs of this process. Raises `ConfigurationError` for a memory that would be everybody's.
        """
        within = agents_within(agent)
        providers = [one for each in within for one in _memories_of(each)]
        for provider in providers:
            if not has_owners and not provider.shared:
                raise ConfigurationError(
                    f"Agent {name!r} has an OwnerMemory, and the app does not sign users in: each caller would get "
                    "the facts of the others. Set principal=... (docs/guides/security.md), or give "
                    "OwnerMemory(shared=True)."
                )
            provider.attach(partial(self._of_run, held, provider))
            self._names.setdefault(provider, name)
        self._names.update(dict.fromkeys(_memories_of(agent), name))
        if providers:
            self._agents.add(name.lower())
        return bool(providers)

    def _of_run(self, runs: Mapping[str, HeldRun], provider: OwnerMemory) -> RunMemory | None:
        held = runs.get(RUN.get(""))
        if held is None:
            return None
        address, principal = held.address, held.run.accepted.principal
        if principal is not None and principal.owner != address.owner:
            return None  # somebody with whom the thread is shared
        # A workflow has no memory of its own: its agents have the one that they have by themselves.
        remembers = address.agent.lower() in self._agents
        return _HeldMemory(self, held, address.agent if remembers else self._names[provider])

    @property
    def agents(self) -> Sequence[str]:
        """The agents that remember, by their names in lower case."""
        return sorted(self._agents)

    async def facts(self, agent: str, owner: str) -> tuple[Fact, ...]:
        """Return all that an agent knows of an owner, the oldest first."""
        return (await self._cells.read(Cell(_MEMORY, agent, owner))).facts

    async def remember(self, agent: str, owner: str, fact: Fact) -> Fact:
        """Return the stored fact: the new one, or an existing one with its id or words.

        Raises `MemoryFullError`.
        """
        words = _same(fact.text)
        known = await self._change(
            agent,
            owner,
            lambda facts: facts if _find(facts, fact.id, words) is not None else (*facts, fact),
        )
        found = _find(known, fact.id, words)
        assert found is not None
        return found

    async def replace(self, agent: str, owner: str, fact: Fact) -> bool:
        """Put the fact in the place of that of its id, and return whether there is one. Raises `MemoryFullError`."""
        known = await self._change(
            agent, owner, lambda facts: tuple(fact if one.id == fact.id else one for one in facts)
        )
        await self._cells.store.scrub()
        return any(one.id == fact.id for one in known)

    async def forget(self, agent: str, owner: str, fact_id: str) -> bool:
        """Remove a fact for good, and return whether it existed."""
        removed: list[Fact] = []

        def without(facts: tuple[Fact, ...]) -> tuple[Fact, ...]:
            removed[:] = [one for one in facts if one.id == fact_id]
            return tuple(one for one in facts if one.id != fact_id)

        await self._change(agent, owner, without)
        await self._cells.store.scrub()  # also where nothing was removed: the call before may have been broken off
        return bool(removed)

    async def keep_vectors(self, agent: str, owner: str, facts: Sequence[Fact]) -> None:
        """Keep the vectors of these facts with those of them that are there and say the same still."""
        made = {(fact.id, fact.text): fact.vector for fact in facts}

        def with_vectors(known: tuple[Fact, ...]) -> tuple[Fact, ...]:
            return tuple(
                fact.model_copy(update={"vector": made.get((fact.id, fact.text), fact.vector)}) for fact in known
            )

        await self._change(agent, owner, with_vectors)

    async def erase(self, agents: Iterable[str], owner: str) -> None:
        """Forget all that these agents know of an owner."""
        for agent in agents:
            await self._cells.remove(Cell(_MEMORY, agent, owner))

    def now(self) -> float:
        """Return the time by which facts are dated."""
        return self._clocks.wall()

    async def _change(self, agent: str, owner: str, change: Change) -> tuple[Fact, ...]:
        """Return the facts after a change; a change without effect appends nothing."""

        def changed(memory: _Memory) -> _Memory:
            facts = change(memory.facts)
            return memory if facts == memory.facts else _with_facts(memory, facts)

        return (await self._cells.change(Cell(_MEMORY, agent, owner), changed)).facts


class _HeldMemory(Struct, frozen=True):
    """The memory of a run that this process holds, whose agent runs on another loop than the store."""

    memories: Memories
    held: HeldRun
    agent: str

    async def facts(self) -> Sequence[Fact]:
        return await self.held.on_loop(self.memories.facts(self.agent, self.held.address.owner))

    async def remember(self, fact_id: str, text: str) -> Fact:
        address = self.held.address
        fact = Fact(id=fact_id, text=text, at=self.memories.now(), thread_id=address.thread_id, run_id=self.held.run_id)
        return await self.held.on_loop(self.memories.remember(self.agent, address.owner, fact))

    async def forget(self, fact_id: str) -> bool:
        return await self.held.on_loop(self.memories.forget(self.agent, self.held.address.owner, fact_id))

    async def keep_vectors(self, facts: Sequence[Fact]) -> None:
        await self.held.on_loop(self.memories.keep_vectors(self.agent, self.held.address.owner, facts))


def _memories_of(agent: object) -> list[OwnerMemory]:
    return [one for one in getattr(agent, "context_providers", None) or () if isinstance(one, OwnerMemory)]


def _decode(payload: bytes | None) -> _Memory:
    memory = _Memory() if payload is None else _Memory.model_validate_json(payload)
    if memory.v > VERSION:
        raise NewerVersionError("A newer version of this app wrote this memory. Try again; the newer one answers.")
    return memory


def _encode(memory: _Memory) -> bytes:
    return memory.model_dump_json(exclude_none=True).encode()


_MEMORY = CellKind("memory", "facts", _decode, _encode)


def _with_facts(memory: _Memory, facts: tuple[Fact, ...]) -> _Memory:
    """Return the memory with these facts; where it is too large, without vectors of the oldest, which are made again.

    Raises `MemoryFullError` where it is too large without any.
    """
    newer, fitting = memory.model_copy(update={"facts": facts}), list(facts)
    embedded = (number for number, fact in enumerate(facts) if fact.vector is not None)
    while len(_encode(newer)) > MOST_BYTES:
        if (oldest := next(embedded, None)) is None:
            raise MemoryFullError(
                f"The memory has {len(memory.facts)} facts and takes no more ({MOST_BYTES:,} bytes). Forget some first."
            )
        fitting[oldest] = facts[oldest].model_copy(update={"vector": None})
        newer = memory.model_copy(update={"facts": tuple(fitting)})
    return newer


def _same(text: str) -> str:
    return " ".join(text.casefold().split())


def _find(facts: Iterable[Fact], fact_id: str, words: str) -> Fact | None:
    return next((one for one in facts if one.id == fact_id or _same(one.text) == words), None)
