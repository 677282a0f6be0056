"""Runs the timer functions when they are due.

One task per timer: it waits, runs, and only then looks for the next due moment, so that runs of one timer never overlap
and what came due meanwhile is left out, as on the real host. A remembered moment that passed while the host was stopped
is made up for once, as past due: for that, the monitor keeps a small file per timer.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import quote

import msgspec

from devhost.bindings import TimerTrigger
from devhost.converters import decode_text
from devhost.durable.clock import Clock, sleep
from devhost.errors import FunctionLoadError
from devhost.index import Function, FunctionIndex
from devhost.invoke import Invoker
from devhost.own_files import make_own_folder, open_own_file
from devhost.ports import FunctionFailedError
from devhost.timer_schedules import Schedule, ScheduleError, parse_schedule

logger = logging.getLogger(__name__)

# A machine that slept, or whose clock was set, is noticed within this time.
_LONGEST_WAIT_SECONDS = 60.0


@dataclass(frozen=True)
class Timer:
    """One timer function with its schedule; `is_monitored` timers are remembered across restarts."""

    function: Function
    schedule: Schedule
    runs_at_start: bool
    is_monitored: bool


def find_timers(index: FunctionIndex) -> tuple[Timer, ...]:
    """Return the timers of the functions that run; raise `FunctionLoadError` for a schedule that cannot be read."""
    return tuple(
        _timer(function, function.trigger) for function in index.running() if isinstance(function.trigger, TimerTrigger)
    )


def _timer(function: Function, trigger: TimerTrigger) -> Timer:
    try:
        schedule = parse_schedule(trigger.schedule)
    except ScheduleError as error:
        raise FunctionLoadError(function.name, f"its schedule '{trigger.schedule}' cannot be used: {error}") from error
    return Timer(function, schedule, trigger.runs_at_start, trigger.use_monitor and not schedule.is_frequent)


@dataclass(frozen=True)
class ScheduleStatus:
    """When a timer last ran and is next due; both in UTC, `last` None before its first run."""

    last: datetime | None
    next: datetime
    updated: datetime


class Monitor:
    """One small file per timer."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, name: str) -> ScheduleStatus | None:
        """Return what was remembered; None when nothing was, or nothing that can be read."""
        try:
            return msgspec.json.decode(self._path(name).read_bytes(), type=ScheduleStatus)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            logger.warning("The stored state of the timer '%s' cannot be read and is ignored: %s", name, error)
            return None

    def write(self, name: str, status: ScheduleStatus) -> None:
        """Remember; a file that cannot be written costs the memory and not the timer."""
        path = self._path(name)
        fresh = path.with_suffix(".new")
        try:
            make_own_folder(self._folder)
            with open_own_file(fresh) as file:
                file.write(msgspec.json.encode(status).decode())
            os.replace(fresh, path)
        except OSError as error:
            logger.warning("The timer '%s' cannot be remembered across restarts: %s", name, error)

    def _path(self, name: str) -> Path:
        return self._folder / f"{quote(name, safe='')}.json"


class TimerRunner:
    """The timers of one app."""

    def __init__(self, timers: Iterable[Timer], invoker: Invoker, monitor: Monitor, clock: Clock) -> None:
        self._timers = tuple(timers)
        self._invoker = invoker
        self._monitor = monitor
        self._clock = clock
        self._is_stopping = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._by_hand: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        """Begin to wait."""
        self._tasks = [asyncio.create_task(self._keep(timer)) for timer in self._timers]

    def run_now(self, name: str) -> bool:
        """Begin to run a timer beside its schedule; False when there is none of that name."""
        timer = next((timer for timer in self._timers if timer.function.name == name), None)
        if timer is not None:
            status = self._first_status(timer)
            self._by_hand.add(task := asyncio.create_task(self._invoke(timer, status, is_past_due=False)))
            task.add_done_callback(self._by_hand.discard)
        return timer is not None

    async def stop(self, grace_seconds: float) -> None:
        """Begin no run any more; give running ones so long to end."""
        self._is_stopping.set()
        running = {*self._tasks, *self._by_hand}
        if running:
            _, late = await asyncio.wait(running, timeout=grace_seconds)
            for task in late:
                task.cancel()

    async def _keep(self, timer: Timer) -> None:
        status = self._first_status(timer)
        if timer.runs_at_start:
            status = await self._run(timer, status, is_past_due=False)
        elif status.next <= self._clock.now():
            status = await self._run(timer, status, is_past_due=True)
        while await self._is_due(status.next):
            status = await self._run(timer, status, is_past_due=False)

    def _first_status(self, timer: Timer) -> ScheduleStatus:
        """Return what was remembered; a schedule that was changed since is counted from now."""
        now = self._clock.now()
        fresh = ScheduleStatus(None, timer.schedule.next_after(now), now)
        if not timer.is_monitored:
            return fresh
        stored = self._monitor.read(timer.function.name)
        if stored is not None and timer.schedule.next_after(stored.last or stored.updated) == stored.next:
            return stored
        self._monitor.write(timer.function.name, fresh)
        return fresh

    async def _is_due(self, moment: datetime) -> bool:
        """Return True at the moment, False when the host stops before it."""
        while (left := (moment - self._clock.now()).total_seconds()) > 0:
            if await self._stopped_within(min(left, _LONGEST_WAIT_SECONDS)):
                return False
        return not self._is_stopping.is_set()

    async def _stopped_within(self, seconds: float) -> bool:
        stopping = asyncio.ensure_future(self._is_stopping.wait())
        over = asyncio.ensure_future(sleep(self._clock, seconds))
        await asyncio.wait({stopping, over}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        over.cancel()
        return self._is_stopping.is_set()

    async def _run(self, timer: Timer, status: ScheduleStatus, *, is_past_due: bool) -> ScheduleStatus:
        """Run the function once and return the status after it."""
        began = self._clock.now()
        await self._invoke(timer, status, is_past_due=is_past_due)
        after = ScheduleStatus(began, timer.schedule.next_after(self._clock.now()), self._clock.now())
        if timer.is_monitored:
            self._monitor.write(timer.function.name, after)
        return after

    async def _invoke(self, timer: Timer, status: ScheduleStatus, *, is_past_due: bool) -> None:
        """Call the function; what it raises is logged by the invoker."""
        text = _trigger_text(status if timer.is_monitored else None, is_past_due)
        with contextlib.suppress(FunctionFailedError):
            request = decode_text(timer.function.trigger_type, text, "json")
            await self._invoker.call(timer.function, request, str(uuid.uuid4()))


def _trigger_text(status: ScheduleStatus | None, is_past_due: bool) -> str:
    shown = None
    if status is not None:
        shown = {
            "Last": _moment(status.last),
            "Next": _moment(status.next),
            "LastUpdated": _moment(status.updated),
        }
    return json.dumps({"Schedule": {"AdjustForDST": True}, "ScheduleStatus": shown, "IsPastDue": is_past_due})


def _moment(moment: datetime | None) -> str:
    return moment.isoformat() if moment else "0001-01-01T00:00:00+00:00"
