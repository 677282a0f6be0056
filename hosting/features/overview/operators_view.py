"""An agent's current runs, over all owners and processes: read for operators only, so that runs pay nothing.

Theory. No run writes anything for this, and no list of open runs is kept. A run has its entity commit when it ends, and
about once a minute while it waits or works. So a survey asks the engine which entities changed lately, of all owners,
and reads those threads' heads: these say what is queued, who works, and since when. It adds the runs that this process
holds or waits for, and those that were answered before anybody had them (`promised_runs`): the engine may have lost
their signal. So it misses only a run that another process began within the last minute and whose caller waits, on a
thread that did not change before. A survey is bounded, the newest change first, and says whether it is complete.

Of one person a store lists all threads. So a survey of one owner finds each open run of theirs, also one on a new
thread, of which the engine knows nothing: the process that accepted it died before its signal.
"""

from __future__ import annotations

from datetime import UTC, datetime

from msgspec import Struct

from hosting.core.held_runs import HeldRuns
from hosting.core.promised_runs import PromisedRuns
from hosting.core.thread.head import Head
from hosting.core.thread.open_runs import OpenRun
from hosting.core.thread_log import ThreadLog
from hosting.core.turns import gathered
from hosting.features.overview.figures import Day
from hosting.features.overview.overview import CLOCKS_DIFFER_SECONDS, Overview
from hosting.features.overview.routes import StuckCode
from hosting.http.verbs import NO_FEEDBACK, CountsFeedback, FeedbackDay
from hosting.listing import entity_pages
from hosting.names import APP, Address, entity_name
from hosting.ports import ClockClient, EntityClient, read_utc
from hosting.principal import Caller

MOST_NAMED = 10_000
MOST_HEADS = 500
MOST_OWNERS = 50
"""How many threads a survey asks the engine for, of how many it reads the heads, and of how many owners the figures of
today."""
QUIET_SECONDS = 60.0
"""The time without a record after which an unclaimed run counts as stuck."""
_QUIET_AT_WORK_SECONDS = CLOCKS_DIFFER_SECONDS
"""The same for a claimed run: longer, because two machines' clocks may differ."""
_PAGE = 200


class Stuck(Struct, frozen=True):
    """A thread without progress, the reason, and since when by the clock of its last append.

    It is about the run, or without one about the thread's deletion. `seen` is another one after each append.
    """

    address: Address
    run_id: str | None
    code: StuckCode
    since: float
    seen: str


class Survey(Struct, frozen=True):
    """One agent now: its threads with their heads, the newest change first.

    `is_complete`: it has all threads that changed, and all owners' figures are in `today` and `feedback`. `held_here`
    is how many of the runs this process holds.
    """

    agent: str
    threads: tuple[tuple[Address, Head], ...]
    is_complete: bool
    held_here: int
    today: Day
    stuck: tuple[Stuck, ...]
    feedback: FeedbackDay = NO_FEEDBACK

    @property
    def open_runs(self) -> list[OpenRun]:
        """The runs that have not ended."""
        return [run for _, head in self.threads for run in head.runs]

    @property
    def queued(self) -> list[OpenRun]:
        """The runs without a holder now."""
        return [run for _, head in self.threads for run in head.queued]


class OperatorsView:
    """Surveys of the agents of one app, for one event loop."""

    def __init__(
        self,
        log: ThreadLog,
        holders: HeldRuns,
        overview: Overview,
        promised: PromisedRuns,
        feedback: CountsFeedback,
        *,
        most_named: int = MOST_NAMED,
        most_heads: int = MOST_HEADS,
        most_owners: int = MOST_OWNERS,
    ) -> None:
        self._log = log
        self._holders = holders
        self._overview = overview
        self._promised = promised
        self._feedback = feedback
        self._most_named = most_named
        self._most_heads = most_heads
        self._most_owners = most_owners

    async def survey(self, agent: str, owner: str | None, seconds: float, client: ClockClient) -> Survey:
        """Return the agent's threads that changed within so many seconds; of all owners, or of one.

        Of one person, those with open runs that changed before too. Raises `EngineUnavailableError`,
        `LogUnavailableError` and `AttachmentsUnavailableError`.
        """
        now = self._log.clocks.wall()
        midnight = datetime.fromtimestamp(now, tz=UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        since = now - seconds - CLOCKS_DIFFER_SECONDS
        named, is_whole = await self._named(agent, owner, min(midnight.timestamp(), since), client)
        lately = sorted(((at, address) for address, at in named.items() if at >= since), key=_newest)
        held = [one.address for one in self._holders.held.values()]
        here = [one for one in (*held, *self._holders.watchers) if _is_of(one, agent, owner)]
        marked = [run.address for run in await self._promised.marked(agent, owner)]
        wanted = list(dict.fromkeys([*here, *marked, *(address for _, address in lately)]))
        owners = list(dict.fromkeys([APP, *(address.owner for address in named)])) if owner is None else [owner]
        heads = await gathered(self._log.head(address) for address in wanted[: self._most_heads])
        found = dict(zip(wanted, heads, strict=False))
        opened, are_all = ({}, True) if owner in (None, APP) else await self._open(agent, str(owner))
        threads = (*found.items(), *((address, head) for address, head in opened.items() if address not in found))
        suspects = (_stuck(address, head, now) for address, head in threads)
        days = await gathered(
            self._today(agent, midnight.date().isoformat(), Caller(client, owner=one))
            for one in owners[: self._most_owners]
        )
        today, feedback, date = Day(), NO_FEEDBACK, midnight.date().isoformat()
        for day in days:
            today = today.plus(day)
        given = await gathered(self._feedback(agent, one, [date]) for one in owners[: self._most_owners])
        for counted in given:
            feedback = feedback.plus(counted.get(date, NO_FEEDBACK))
        return Survey(
            agent,
            threads,
            is_whole and are_all and len(wanted) <= self._most_heads and len(owners) <= self._most_owners,
            sum(_is_of(address, agent, owner) for address in held),
            today,
            tuple(one for one in suspects if one is not None and one.run_id not in self._holders.held),
            feedback,
        )

    async def _named(
        self, agent: str, owner: str | None, since: float, client: EntityClient
    ) -> tuple[dict[Address, float], bool]:
        """Return the threads that changed since, with that time by the engine's clock, and whether they are all."""
        found, size = dict[Address, float](), min(_PAGE, self._most_named)
        async for page in entity_pages(client, entity_name(agent.lower()), size, changed_from=since):
            for key, at in page.keys:
                address = Address.of_entity(agent, key)
                if _is_of(address, agent, owner):
                    found[address] = read_utc(at) or since
            if page.cursor is not None and len(found) >= self._most_named:
                return found, False
        return found, True

    async def _open(self, agent: str, owner: str) -> tuple[dict[Address, Head], bool]:
        """Return the person's threads on which something is to be done, and whether all of theirs were read."""
        found, count, after = dict[Address, Head](), 0, ""
        while count < self._most_named:
            page = await self._log.threads(agent, owner, after, _PAGE)
            found.update({address: head for address, head in page if head.runs or head.state == "deleting"})
            if len(page) < _PAGE:
                return found, True
            count, after = count + len(page), page[-1][0].thread_id
        return found, False

    async def _today(self, agent: str, date: str, caller: Caller) -> Day:
        """Return the figures of the caller's runs that ended today."""
        figures = await self._overview.figures(agent, 1, caller)
        return dict(figures.days).get(date, Day())


def _stuck(address: Address, head: Head, now: float) -> Stuck | None:
    """Return the thread's part without progress. It decides nothing, because it compares clocks of machines."""
    run, claim, since, quiet = head.next_run, head.claim, head.changed_at, QUIET_SECONDS
    code: StuckCode
    if head.state == "deleting":
        code, quiet = "deleting", _QUIET_AT_WORK_SECONDS
    elif run is None or head.is_paused:
        return None
    elif claim is None:
        code = "not_taken_up"
    elif now - claim.deadline > QUIET_SECONDS:
        code, since = "out_of_time", max(since, claim.deadline)
    else:
        code, quiet = "silent", _QUIET_AT_WORK_SECONDS
    if now - since <= quiet:
        return None
    return Stuck(address, None if run is None else run.id, code, since, head.append_id)


def _newest(one: tuple[float, Address]) -> tuple[float, str]:
    return -one[0], one[1].key


def _is_of(address: Address, agent: str, owner: str | None) -> bool:
    return address.agent == agent.lower() and owner in (None, address.owner)
