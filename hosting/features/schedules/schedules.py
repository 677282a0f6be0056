"""Schedules of an app: made, listed, paused, deleted; and their ticks, each of which begins one run.

Theory. A schedule lies in a cell (`hosting.core.cells`), and what becomes of it is decided there. Its clock is an
orchestration of the durable engine, which sleeps until the next tick and then calls `wake`. The clock knows nothing: a
tick is begun because the schedule says that it is due. Two clocks, a call that is repeated, or one that comes late,
begin nothing twice.

A clock is started before its schedule is stored, and ends by itself where none follows: so a process that dies between
the two leaves nothing, and a schedule that is stored has a clock. An engine that was moved or restored may have lost
it: whoever reads a schedule whose tick is overdue looks for its clock, and starts it again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

from msgspec.structs import asdict

from hosting.core.cells import Cells
from hosting.core.clocks import end_clock, start_clock
from hosting.core.promised_runs import DEPLOYING_SECONDS
from hosting.core.runs import Runs
from hosting.core.stores.contract import MOST_HEAD_BYTES
from hosting.core.thread.run_request import StartRun
from hosting.errors import (
    BodyTooLargeError,
    EngineUnavailableError,
    HostingError,
    IdempotencyKeyReusedError,
    InvalidFieldError,
    LimitExceededError,
    UnknownAgentError,
)
from hosting.features.schedules.clock import AGAIN_SECONDS, CLOCK
from hosting.features.schedules.places import NEW_SECONDS, SchedulePlaces
from hosting.features.schedules.requests import NewSchedule
from hosting.features.schedules.routes import UnknownScheduleError
from hosting.features.schedules.schedule import LastRun, Schedule, ScheduleClock, ScheduleName, decode, encode
from hosting.features.schedules.times import LONGEST_AHEAD_SECONDS
from hosting.names import keyed_thread_id, new_id
from hosting.plan import AgentPlan
from hosting.ports import Clocks, Wait, utc
from hosting.principal import Caller

logger = logging.getLogger(__name__)

DAY_SECONDS = 86_400.0
"""A clock sleeps no longer: so it notices a clock of the machine that was set, and no engine has to split its timer."""
LEAST_WAIT_SECONDS = 5.0
"""Before this a tick is not tried again that a limit refused."""
UNKNOWN_SECONDS = 3600.0
"""After this a clock looks again where the app long has not its agent, or does not know its ticks."""
EARLY_SECONDS = 2.0
"""By so much the engine's timers may come early."""
OVERDUE_SECONDS = 180.0
_AT_ONCE = 8


class Schedules:
    """The schedules of a caller in one app, whose agents are `agents`, by their names in lower case.

    They are made for one invocation, and reach the engine by the caller's client.
    """

    def __init__(
        self,
        cells: Cells,
        runs: Runs,
        agents: Mapping[str, AgentPlan],
        caller: Caller,
        *,
        clocks: Clocks,
        most: int,
    ) -> None:
        self._cells = cells
        self._store = cells.store
        self._runs = runs
        self._agents = agents
        self._caller, self._client = caller, caller.client
        self._clocks = clocks
        self._places = SchedulePlaces(cells, most)

    async def create(self, agent: str, wanted: NewSchedule) -> tuple[ScheduleName, Schedule, bool]:
        """Create a schedule, or find the one of the same key; return whether it is new.

        Raises `TooManySchedulesError`, `InvalidFieldError` for a time that has passed, `IdempotencyKeyReusedError`,
        `BodyTooLargeError`, `EngineUnavailableError` and `LogUnavailableError`: then there is none.
        """
        key, owner, now = wanted.key, self._caller.owner, self._clocks.wall()
        schedule_id = new_id() if key is None else keyed_thread_id(agent, owner, f"schedule {key}")
        name, schedule = (
            ScheduleName(agent.lower(), owner, schedule_id),
            Schedule.of(agent, wanted, self._caller.principal, now),
        )
        if key is not None and (stored := await self._cells.read(name.cell)) is not None:
            return await self._repeated(name, stored, schedule)
        first = schedule.next_tick
        if first is None or first > now + LONGEST_AHEAD_SECONDS:
            if (at := wanted.times.at) is None:
                raise InvalidFieldError(
                    f"The first time of the field 'cron', {schedule.cron!r}, is more than ten years ahead."
                )
            raise InvalidFieldError(f"The field 'at' is {utc(at)}, which has passed or is more than ten years ahead.")
        if len(encode(schedule)) > MOST_HEAD_BYTES:
            raise BodyTooLargeError("The schedule is too large to be stored. Send less.")
        await self._places.take(name, now)
        try:
            await self._start(name.clock(schedule.generation, now), first)
            stored = await self._cells.change(name.cell, lambda stored: stored or schedule, is_new=True)
        except EngineUnavailableError:
            await self._places.leave(name)
            raise
        if stored is not None and stored is not schedule:
            return await self._repeated(name, stored, schedule)
        return name, schedule, True

    async def _repeated(
        self, name: ScheduleName, schedule: Schedule, wanted: Schedule
    ) -> tuple[ScheduleName, Schedule, bool]:
        if schedule.fingerprint != wanted.fingerprint:
            raise IdempotencyKeyReusedError("This Idempotency-Key was used for another schedule. Send a new key.")
        return name, await self._mended(name, schedule), False

    async def of_agent(self, agent: str) -> list[tuple[ScheduleName, Schedule]]:
        """Return the caller's schedules with an agent, in the order in which they were made.

        Raises `LogUnavailableError` and `NewerVersionError`.
        """
        owner = self._caller.owner
        stored = await self._cells.siblings(ScheduleName(agent.lower(), owner, "").cell)
        schedules = {ScheduleName(agent.lower(), owner, id_): decode(payload) for id_, payload in stored.items()}
        mended = await asyncio.gather(*(self._mended(*schedule) for schedule in schedules.items()))
        return sorted(zip(schedules, mended, strict=True), key=lambda named: (named[1].created_at, named[0].id))

    async def find(self, name: ScheduleName) -> Schedule:
        """Return a schedule; raises `UnknownScheduleError`, `LogUnavailableError` and `NewerVersionError`."""
        return await self._mended(name, _existing(name, await self._cells.read(name.cell)))

    async def pause(self, name: ScheduleName) -> Schedule:
        """Have no run begin from now on; again changes nothing. A tick that is begun has its run first.

        Raises as `find` does, and what keeps that run from being started.
        """
        while (schedule := await self._changed(name, Schedule.as_paused)).begun is not None:
            await self._finish(name, schedule.begun)
        try:
            await self._stop(name, schedule)
        except EngineUnavailableError:
            logger.warning("The timer of schedule %s ends when it wakes: the engine cannot be reached now.", name.id)
        return schedule

    async def resume(self, name: ScheduleName) -> Schedule:
        """Resume a schedule from the next tick on; one that is not paused stays as it is.

        Raises as `create` does.
        """
        schedule = await self._begin_anew(
            name, lambda schedule: schedule.resumed(self._clocks.wall()) if schedule.paused else schedule
        )
        return await self._mended(name, schedule)

    async def _begin_anew(self, name: ScheduleName, changed: Callable[[Schedule], Schedule]) -> Schedule:
        """Change a schedule to one of a later generation, which has a clock of its own, and return it.

        One that `changed` returns as it is keeps its clock. The clock before ends first, because nobody knows one of an
        older generation.
        """

        async def with_clock(schedule: Schedule | None) -> Schedule | None:
            if schedule is None or (anew := changed(schedule)) is schedule:
                return schedule
            now = self._clocks.wall()
            await self._stop(name, schedule)
            first = anew.next_tick if anew.times.problem is None else now
            if first is not None:
                await self._start(name.clock(anew.generation, now), first)
            return anew

        return _existing(name, await self._cells.change_awaited(name.cell, with_clock))

    async def delete(self, name: ScheduleName) -> None:
        """Remove a schedule; nothing of it begins afterwards. Again changes nothing.

        A tick that is begun has its run first. It is paused and its clock is purged before it goes: who dies in between
        leaves it to the next who deletes it, and no clock of which nobody knows. Raises `LogUnavailableError`,
        `NewerVersionError`, `EngineUnavailableError` while the clock has not ended, and what keeps that run from being
        started; then it is there, at most paused.
        """

        async def deleted(schedule: Schedule | None) -> Schedule | None:
            if schedule is None or schedule.begun is not None or not schedule.paused:
                return schedule and schedule.as_paused()
            await self._stop(name, schedule)
            return None

        while (schedule := await self._cells.change_awaited(name.cell, deleted)) is not None:
            if schedule.begun is not None:
                await self._finish(name, schedule.begun)
        await self._places.leave(name)
        await self._store.scrub()  # a call before this one may have removed it, and was broken off

    async def of_owner(self) -> list[tuple[ScheduleName, Schedule]]:
        """Return the caller's schedules, also with agents that the app does not have now; raises as `of_agent` does."""
        return [one for agent in await self._store.agents() for one in await self.of_agent(agent)]

    async def erase(self) -> None:
        """Delete all schedules of the caller, with whichever agent, until there are none; raises as `delete`.

        Those that are made meanwhile go too.
        """
        gate = asyncio.Semaphore(_AT_ONCE)

        async def delete(name: ScheduleName) -> None:
            async with gate:
                await self.delete(name)

        while schedules := await self.of_owner():
            await asyncio.gather(*(delete(name) for name, _ in schedules))
        for agent in await self._store.agents():
            await self._places.erase(ScheduleName(agent, self._caller.owner, ""))
        await self._store.scrub()

    async def wake(self, clock: ScheduleClock) -> float | None:
        """Do the due work of a timer's schedule; return the timer's next wake, None if it has ended.

        Never raises: a clock that fails would wake nobody any more.
        """
        name, now = ScheduleName(clock.agent, clock.owner, clock.schedule_id), self._clocks.wall()
        try:
            return await self._woken(name, clock)
        except LimitExceededError as error:  # the tick is begun, and has its run once there is room
            return self._clocks.wall() + max(error.retry_after_seconds, LEAST_WAIT_SECONDS)
        except HostingError as error:
            logger.warning("Schedule %s of agent %s waits: %s", name.id, name.agent, error.code)
        except Exception:
            logger.exception("Schedule %s of agent %s waits and tries again.", name.id, name.agent)
        return now + AGAIN_SECONDS

    async def _woken(self, name: ScheduleName, clock: ScheduleClock) -> float | None:
        now = self._clocks.wall()
        schedule = await self._cells.read(name.cell)
        if schedule is None or schedule.generation < clock.generation:
            return now + AGAIN_SECONDS if now < clock.since + NEW_SECONDS else None
        if schedule.paused or schedule.generation > clock.generation:
            return None
        if name.agent not in self._agents:
            logger.warning("Schedule %s names agent %s, which the app does not have.", name.id, schedule.agent)
            return _looks_again_at(schedule, now)
        early = (schedule.next_tick or 0) - now
        if 0 < early <= EARLY_SECONDS:
            await asyncio.sleep(early)
        schedule = await self._changed(name, lambda one: one.ticked(self._clocks.wall()))
        if schedule.begun is not None:
            schedule = await self._finish(name, schedule.begun, waits=True)
        if (problem := schedule.times.problem) is not None:
            logger.warning("Schedule %s of agent %s starts no run. %s", name.id, name.agent, problem)
            return now + UNKNOWN_SECONDS
        following = schedule.next_tick
        return None if following is None else min(following, now + DAY_SECONDS)

    async def _finish(self, name: ScheduleName, tick: float, *, waits: bool = False) -> Schedule:
        """Start the run of a tick that is begun, or find it, and record the outcome; return the schedule.

        A limit of its maker's requests holds for it too: where it `waits`, that is raised, else the tick has no run. It
        has none where the app does not have its agent.
        Raises what may be tried again: a store, or the engine, that is away.
        """
        schedule = _existing(name, await self._cells.read(name.cell))
        if schedule.begun != tick:
            return schedule
        planned = self._agents.get(name.agent)
        if planned is None:
            return await self._changed(name, lambda one: one.ended(LastRun(tick=tick, code=UnknownAgentError.code)))
        call = StartRun(
            schedule.run_request,
            schedule.thread_id,
            Wait(answer=False),
            f"schedule/{name.id}/{tick:.0f}",
            busy=schedule.busy or planned.options.busy,
        )
        try:
            caller = Caller(self._client, schedule.maker, name.owner)
            started = await self._runs.start(schedule.agent, call, caller)
            last = LastRun(tick=tick, thread_id=started.run.address.thread_id, run_id=started.run.run_id)
        except HostingError as error:
            if error.status == 503 or (waits and isinstance(error, LimitExceededError)):
                raise
            last = LastRun(tick=tick, thread_id=schedule.thread_id, code=error.code)
        return await self._changed(name, lambda one: one.ended(last))

    async def _changed(self, name: ScheduleName, changed: Callable[[Schedule], Schedule]) -> Schedule:
        schedule = await self._cells.change(name.cell, lambda schedule: schedule and changed(schedule))
        return _existing(name, schedule)

    async def _start(self, clock: ScheduleClock, first: float) -> None:
        wake_at = utc(min(first, self._clocks.wall() + DAY_SECONDS))
        await start_clock(CLOCK, clock.instance, {"clock": asdict(clock), "wake_at": wake_at}, self._client)

    async def _mended(self, name: ScheduleName, schedule: Schedule) -> Schedule:
        """Return the schedule, with a new clock where its own is gone, or sleeps as long as a clock ahead had it."""
        now = self._clocks.wall()
        if schedule.renewed(now) is not schedule:
            text = "Schedule %s of agent %s was ahead of the clock. It follows it again."
            logger.warning(text, name.id, schedule.agent)
            return await self._begin_anew(name, lambda schedule: schedule.renewed(self._clocks.wall()))
        tick = schedule.begun or schedule.next_tick
        if tick is None or tick > now - OVERDUE_SECONDS:
            return schedule
        clock = name.clock(schedule.generation, now)
        status = await self._client.status(clock.instance)
        if status is None or status.is_over:
            logger.warning("Schedule %s of agent %s had no timer. The timer is started again.", name.id, schedule.agent)
            await self._start(clock, now)
        return schedule

    async def _stop(self, name: ScheduleName, schedule: Schedule) -> None:
        """End the clock and remove its instance, which holds ids. Raises `EngineUnavailableError` while it is there."""
        if await end_clock(name.clock(schedule.generation, 0.0).instance, self._client) == "running":
            raise EngineUnavailableError("The schedule is paused, and its timer has not ended yet. Try again.")


def _existing(name: ScheduleName, schedule: Schedule | None) -> Schedule:
    """Return a schedule that was read, or raise `UnknownScheduleError`."""
    if schedule is None:
        raise UnknownScheduleError(f"There is no schedule {name.id[:80]!r}.")
    return schedule


def _looks_again_at(schedule: Schedule, now: float) -> float:
    """Return the next wake of a schedule whose agent this process does not have.

    It may be of an older version, while a deployment goes on: another process is to have the tick soon.
    """
    tick = schedule.begun or schedule.next_tick
    if tick is not None and tick > now:
        return min(tick, now + DAY_SECONDS)
    due = schedule.created_at if tick is None else tick
    return now + (AGAIN_SECONDS if now < due + DEPLOYING_SECONDS else UNKNOWN_SECONDS)
