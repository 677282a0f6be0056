"""All of an agent's threads together: by their last change, waiting approvals, figures by day.

Theory. A run writes nothing for this. Whoever asks first brings the overview up to date: the engine says which
entities changed since the last time, and of each of those threads the log is read from the position that the overview
has. Every run ends in its thread's log and has its entity commit, so none is missed, whichever process died. A timer
does the same twice a day, long before the events of a run go by their age.

The overview is a log of its own for each agent and owner, in the same store. Its events say what is now known of some
threads, and what the days that they changed amount to. Both are whole values and no differences, appended in one step
to the very head that they were made from: of two processes that read at once, one appends and the other begins anew.
So each end is counted once. Now and then all that is known is appended at once, and what was before goes.

It holds the threads that changed last. What it says of a thread may be old, so an answer is made of the thread's own
head. A deleted thread is in no answer from then on, and goes from the overview within a day.
"""

from __future__ import annotations

import asyncio
import math
import time
from bisect import bisect_right
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple
from urllib.parse import quote, unquote

from msgspec import Struct
from msgspec.structs import replace

from hosting.core.cells import Cells
from hosting.core.rotation import Rotation
from hosting.core.thread.events import TERMINALS, Accepted, Joined, Terminal
from hosting.core.thread_log import ThreadLog
from hosting.core.turns import gathered
from hosting.errors import EngineUnavailableError, StoreUnavailableError
from hosting.features.overview.figures import Day
from hosting.features.overview.filters import may_pass, passes
from hosting.features.overview.log import (
    MOST_THREADS,
    Known,
    KnownThread,
    OverviewLog,
    OverviewState,
    labels_of,
)
from hosting.http.verbs import (
    EVERY_THREAD,
    ChangedThreads,
    FindsThreads,
    FoundThreads,
    ThreadChange,
    ThreadFilter,
    ThreadQuery,
)
from hosting.listing import entity_pages
from hosting.names import APP, Address, entity_name
from hosting.ports import Clock, ClockClient, read_utc
from hosting.principal import Caller

CLOCKS_DIFFER_SECONDS = 300.0
"""By so much more than was seen the engine is asked for: its time of a change is of another machine's clock."""
WHOLE_SECONDS = 43_200.0
WAITED_SECONDS = 2.0
REST = 10.0
"""The next read waits this many times as long as the last read took."""
_PAGE = 200
_ENDS = tuple(kind for kind in TERMINALS if kind is not Joined)
"""A run that joined another one is counted with that."""
_UNWRITTEN_SECONDS = 600.0
"""The most by which written changes may be older than a process assumes."""


class ThreadKey(NamedTuple):
    """The place of a thread in a sorted list: pinned threads, where they come first, are not of the `rest`."""

    rest: bool
    at: float
    agent: str
    thread_id: str


class AgentFigures(Struct, frozen=True):
    """Figures by day (`2026-01-31`, UTC), the oldest first; `seen_until` is up to when all ends are counted."""

    days: tuple[tuple[str, Day], ...]
    seen_until: float


class Overview:
    """The overviews of one app, for one event loop."""

    def __init__(
        self,
        cells: Cells,
        log: ThreadLog,
        clock: Clock = time.time,
        *,
        waited_seconds: float = WAITED_SECONDS,
        rest: float = REST,
        most_threads: int = MOST_THREADS,
    ) -> None:
        """A reader waits `waited_seconds` for a refresh; later results come with a later answer."""
        self._written = OverviewLog(cells, most_threads)
        self._log = log
        self._clock = clock
        self._waited_seconds = waited_seconds
        self._rest = rest
        self._refreshes: dict[tuple[str, str], asyncio.Task[OverviewState]] = {}
        self._rests_until: dict[tuple[str, str], float] = {}

    async def newest(self, agent: str, wanted: ThreadQuery, caller: Caller) -> FoundThreads:
        """Return the caller's threads with the agent, the newest change first.

        Raises `EngineUnavailableError` and `LogUnavailableError`.
        """
        return await self.page(await self.keys(agent, wanted, caller), wanted, caller)

    async def keys(self, agent: str, wanted: ThreadQuery, caller: Caller) -> list[ThreadKey]:
        """Return all of the caller's threads with the agent, in the order of `newest`. Raises as `newest` does."""
        state = await self._current(agent, caller)
        return sorted(
            ThreadKey(not (wanted.pinned_first and thread.pinned), -thread.changed_at, agent.lower(), thread_id)
            for thread_id, thread in state.threads.items()
            if wanted.filter is EVERY_THREAD or may_pass(thread_id, thread, wanted.filter)
        )

    async def of_agents(self, agents: Iterable[str], wanted: ThreadQuery, caller: Caller) -> FoundThreads:
        """Return the caller's threads with these agents, in the order of `newest`. Raises as `newest` does."""
        keys = [key for agent in sorted(agents) for key in await self.keys(agent, wanted, caller)]
        return await self.page(sorted(keys), wanted, caller)

    async def changed(self, agent: str, wanted: ThreadQuery, caller: Caller) -> ChangedThreads:
        """Return the last changes of the caller's threads with the agent. Raises as `newest` does."""
        return _changes(await self._current(agent, caller), wanted.filter)

    async def waiting(self, agents: Iterable[str], wanted: ThreadQuery, caller: Caller) -> FoundThreads:
        """Return the caller's threads that wait for approvals, with whichever agent; those that wait longest first.

        Raises as `newest` does.
        """
        keys: list[ThreadKey] = []
        for agent in sorted(agents):
            state = await self._current(agent, caller)
            keys += [
                ThreadKey(True, thread.changed_at, agent.lower(), thread_id)
                for thread_id, thread in state.threads.items()
                if thread.waits
            ]
        page = await self.page(sorted(keys), wanted, caller)
        now = self._clock()
        return replace(page, threads=tuple(one for one in page.threads if one[1].is_waiting_for_approval(now)))

    async def figures(self, agent: str, days: int, caller: Caller) -> AgentFigures:
        """Return the figures of the last so many days on which runs ended. Raises as `newest` does."""
        state = await self._current(agent, caller)
        return AgentFigures(tuple(sorted(state.days.items())[-days:]), max(state.seen_until, state.head.seen_until))

    def following(self, keys: Sequence[ThreadKey], wanted: ThreadQuery) -> list[ThreadKey]:
        """Return those of the sorted keys that come after the page before."""
        return list(keys[bisect_right(keys, _read_cursor(wanted.cursor)) :])

    async def page(self, keys: Sequence[ThreadKey], wanted: ThreadQuery, caller: Caller) -> FoundThreads:
        """Return the next page of the sorted keys, without threads that are gone. Raises `LogUnavailableError`."""
        rest, limit = self.following(keys, wanted), wanted.limit
        addresses = [Address.of(key.agent, key.thread_id, caller.owner) for key in rest[:limit]]
        heads = await gathered(self._log.head(address) for address in addresses)
        now, passing = self._clock(), wanted.filter
        shown = tuple(
            (address, head)
            for address, head in zip(addresses, heads, strict=True)
            if head.state == "open" and (passing is EVERY_THREAD or passes(head, passing, now))
        )
        return FoundThreads(shown, _write_cursor(rest[limit - 1]) if len(rest) > limit else None)

    async def _current(self, agent: str, caller: Caller) -> OverviewState:
        """Return the state after a refresh, or before one that is slow or was made just now."""
        key, clock = (agent.lower(), caller.owner), asyncio.get_running_loop().time
        task = self._refreshes.get(key)
        if task is None and clock() >= self._rests_until.get(key, 0.0):
            task = self._refreshes[key] = asyncio.create_task(self._refresh(agent.lower(), caller))
            began_at = clock()

            def ended(task: asyncio.Task[OverviewState]) -> None:
                del self._refreshes[key]
                self._rests_until[key] = clock() + self._rest * (clock() - began_at)
                if not task.cancelled():
                    task.exception()  # whoever waits for it gets it

            task.add_done_callback(ended)
        if task is not None:
            await asyncio.wait([task], timeout=self._waited_seconds)
            if task.done():
                return task.result()
        return await self._written.read(key)

    async def refresh(self, agent: str, client: ClockClient) -> ChangedThreads:
        """Bring the overview of the app's own threads with the agent up to date. Raises as `newest` does."""
        return _changes(await self._refresh(agent.lower(), Caller(client)))

    async def erase(self, agents: Iterable[str], owner: str) -> None:
        """Forget an owner without threads. Raises `LogUnavailableError`."""
        for agent in agents:
            await self._written.erase(agent.lower(), owner)

    async def _refresh(self, agent: str, caller: Caller) -> OverviewState:
        while (state := await self._look(agent, caller)) is None:
            pass  # who came first has brought it on, and readers wait no longer than they do for any refresh
        return state

    async def _look(self, agent: str, caller: Caller) -> OverviewState | None:
        """Return the overview with all that has changed; None if another process appended to it meanwhile."""
        owner, now = caller.owner, self._clock()
        state = await self._written.read((agent, owner))
        seen_until = max(state.seen_until, state.head.seen_until)
        is_ahead = max(seen_until, state.head.whole_at) > now + CLOCKS_DIFFER_SECONDS  # nobody knows what was missed
        is_whole = owner != APP or is_ahead or now - state.head.whole_at >= WHOLE_SECONDS
        since = None if is_whole else seen_until - CLOCKS_DIFFER_SECONDS
        listed = set[str]()
        async for page in self._changed(agent, caller, since):
            listed |= page.keys()
            changed = {thread_id: seen for thread_id, seen in page.items() if self._is_changed(state, thread_id, seen)}
            if changed:
                known = await self._learn(state, agent, owner, changed)
                if not await self._written.append(state, agent, owner, known, state.head):
                    return None
        gone = dict.fromkeys(state.threads.keys() - listed) if is_whole else {}
        head = state.head.model_copy(update={"seen_until": now, **({"whole_at": now} if is_whole else {})})
        is_due = owner == APP and (is_whole or now - state.head.seen_until >= _UNWRITTEN_SECONDS)
        if (gone or is_due) and not await self._written.append(state, agent, owner, Known(threads=gone), head):
            return None
        state.seen_until = now
        return state

    def _is_changed(self, state: OverviewState, thread_id: str, seen: str) -> bool:
        known = state.threads.get(thread_id)
        if known is None:
            at = read_utc(seen)
            return at is None or at > state.head.horizon
        return known.seen != seen

    async def _changed(self, agent: str, caller: Caller, since: float | None) -> AsyncIterator[dict[str, str]]:
        """Yield the threads that changed, with a mark of that change: the engine's time of it, or the head's append."""
        if caller.owner == APP:
            async for page in entity_pages(caller.client, entity_name(agent), _PAGE, changed_from=since):
                named = ((Address.of_entity(agent, key), at) for key, at in page.keys)
                yield {address.thread_id: at for address, at in named if address.owner == APP}
            return
        after = ""
        while found := await self._log.threads(agent, caller.owner, after, _PAGE):
            yield {address.thread_id: head.append_id for address, head in found if head.state == "open"}
            after = found[-1][0].thread_id

    async def _learn(self, state: OverviewState, agent: str, owner: str, changed: Mapping[str, str]) -> Known:
        reads = (self._learn_one(state, Address.of(agent, one, owner), seen) for one, seen in changed.items())
        days = dict[str, Day]()
        threads = dict[str, KnownThread | None]()
        for thread_id, (thread, ends) in zip(changed, await gathered(reads), strict=True):
            threads[thread_id] = thread
            for end, seconds in ends:
                day = datetime.fromtimestamp(end.at, tz=UTC).date().isoformat()
                days[day] = (days.get(day) or state.days.get(day) or Day()).after(end, seconds)
        return Known(threads=threads, days=days)

    async def _learn_one(
        self, state: OverviewState, address: Address, seen: str
    ) -> tuple[KnownThread | None, list[tuple[Terminal, float]]]:
        """Return the current state of a thread, None for a deleted one, and the ends that were not counted yet."""
        head = await self._log.head(address)
        if head.position == 0:  # a conversation that others stored, without a run of this app
            return KnownThread(counted=0, since=0, changed_at=read_utc(seen) or 0.0, waits=False, seen=seen), []
        if head.state != "open":
            return None, []
        known = state.threads.get(address.thread_id)
        counted, since = (0, 0) if known is None else (known.counted, known.since)
        accepted: dict[str, float] = {}
        ends: list[tuple[Terminal, float]] = []
        for position, event in await self._log.events(address, max(since, head.trimmed), head):
            if isinstance(event, Accepted):
                accepted[event.run_id] = event.at
            elif isinstance(event, _ENDS) and position > counted and (known or event.at > state.head.horizon):
                ends.append((event, max(0.0, event.at - accepted.get(event.run_id, event.at))))
        thread = KnownThread(
            counted=head.position,
            since=head.runs[0].first - 1 if head.runs else head.position,
            changed_at=head.changed_at,
            waits=head.waiting is not None,
            seen=seen,
            pinned=head.pinned,
            labels=labels_of(address.thread_id, head.metadata) if head.metadata else (),
        )
        return thread, ends


class OverviewSweep:
    """Brings the overviews of the app's own threads with these agents up to date, before runs go by their age."""

    def __init__(
        self, overview: Overview, agents: Callable[[], Iterable[str]], rotation: Rotation, search: FindsThreads
    ) -> None:
        """`search` takes what changed."""
        self._overview = overview
        self._search = search
        self._agents = agents
        self._rotation = rotation

    async def run(self, client: ClockClient) -> None:
        """Look once at each. Raises `EngineUnavailableError` and `StoreUnavailableError`, after the others' turns."""
        failure: EngineUnavailableError | StoreUnavailableError | None = None
        async for agent, _ in self._rotation.turns(self._agents()):
            try:
                changed = await self._overview.refresh(agent, client)
                await self._search.update(agent.lower(), changed, Caller(client))
            except (EngineUnavailableError, StoreUnavailableError) as error:
                failure = failure or error
        if failure is not None:
            raise failure


def _changes(state: OverviewState, wanted: ThreadFilter = EVERY_THREAD) -> ChangedThreads:
    """Return the last changes of an overview's threads, and which of them the filter may let through."""
    threads = {
        id_: ThreadChange(thread.changed_at, thread.seen, wanted is EVERY_THREAD or may_pass(id_, thread, wanted))
        for id_, thread in state.threads.items()
    }
    return ChangedThreads(threads, max(state.seen_until, state.head.seen_until))


def _read_cursor(cursor: str | None) -> ThreadKey:
    """Return the thread after which a page begins; a cursor of another list begins at the first."""
    rest, at, agent, thread_id = [*(cursor or "").split("~", 3), "", "", "", ""][:4]
    try:
        return ThreadKey(bool(int(rest)), float(at), agent, unquote(thread_id))
    except ValueError:
        return ThreadKey(False, -math.inf, "", "")


def _write_cursor(key: ThreadKey) -> str:
    return f"{int(key.rest)}~{key.at!r}~{key.agent}~{quote(key.thread_id)}"
