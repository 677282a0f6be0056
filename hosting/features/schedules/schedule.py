"""One schedule as it is stored, and how it changes. Pure: no store, no time.

Theory. A tick passes through two changes: it is `begun`, and what came of it is recorded. Each is an append to the very
head that it was decided on, so one process begins a tick, and it is begun once. Between the two the run is started
under a key that is made of the schedule and the tick: whoever finds a tick that is begun starts it again, and finds
the run. A schedule is paused or deleted only when no tick is begun, so nothing of it starts afterwards.

Times are those of the process that decides, whose clock may have been ahead. What it dealt with lies ahead of a right
clock, and takes no tick from it: `righted` deals with those again that were not begun.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from msgspec import Struct
from pydantic import BaseModel, ConfigDict, ValidationError

from hosting.core.cells import Cell, CellKind
from hosting.core.thread.run_request import RunRequest
from hosting.errors import NewerVersionError
from hosting.features.schedules.requests import NewSchedule
from hosting.features.schedules.times import Missed, Times, due
from hosting.names import APP, Busy
from hosting.principal import Principal

VERSION = 1

AHEAD_SECONDS = 60.0
"""A schedule that is so far ahead of a clock was changed by another one. Clocks of machines differ by less."""
_KEPT_SPANS = 8


_NOBODY = "nobody"
"""The app itself, among owners: a store lists an owner's data, and does not list the app's own."""


class ScheduleClock(Struct, frozen=True):
    """Which schedule a clock is for, as its orchestration carries it. `since` is when it was started."""

    agent: str
    owner: str
    schedule_id: str
    generation: int
    since: float

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> ScheduleClock:
        """Return the clock that an orchestration carries."""
        return cls(*(given[name] for name in cls.__struct_fields__))

    @property
    def instance(self) -> str:
        """The id of the orchestration, which no route shows: none of ours has this form."""
        named = f"{self.agent}\n{self.owner}\n{self.schedule_id}".encode()
        return f"schedule!{hashlib.sha256(named).hexdigest()[:32]}!{self.generation}"


class ScheduleName(Struct, frozen=True):
    """A schedule of an agent and an owner. `agent` is in lower case."""

    agent: str
    owner: str
    id: str

    @property
    def cell(self) -> Cell[Schedule | None]:
        """The cell in which it is stored."""
        return Cell(_SCHEDULES, self.agent, _NOBODY if self.owner == APP else self.owner, self.id)

    def clock(self, generation: int, since: float) -> ScheduleClock:
        """Return its clock of that generation."""
        return ScheduleClock(self.agent, self.owner, self.id, generation, since)


class _Stored(BaseModel):
    """Additions of a later version are written back unchanged."""

    model_config = ConfigDict(frozen=True, extra="allow")


class LastRun(_Stored):
    """The outcome of a tick: its run, or the `code` of why none could begin."""

    tick: float
    thread_id: str | None = None
    run_id: str | None = None
    code: str | None = None


class Schedule(_Stored):
    """A schedule of an agent and an owner.

    Ticks up to `done` were dealt with, and the run of the tick `begun` is being started. Each of `spans` is from one
    tick that was begun to another, and all between them were begun too; the newest is the last. A schedule that was
    paused goes on with a later `generation`, which has a clock of its own, as has another schedule of the same id.
    """

    v: int = VERSION
    agent: str
    created_at: float
    cron: str | None
    time_zone: str
    at: float | None
    missed: Missed
    request: dict[str, Any]
    thread_id: str | None
    busy: Busy | None
    principal: dict[str, Any] | None
    fingerprint: str
    done: float
    generation: int
    paused: bool = False
    begun: float | None = None
    spans: tuple[tuple[float, float], ...] = ()
    last: LastRun | None = None
    last_missed: float | None = None

    @classmethod
    def of(cls, agent: str, wanted: NewSchedule, principal: Principal | None, now: float) -> Schedule:
        """Return a new schedule, whose first tick comes after `now`."""
        return cls(
            agent=agent,
            created_at=now,
            cron=wanted.times.cron,
            time_zone=wanted.times.time_zone,
            at=wanted.times.at,
            missed=wanted.missed,
            request=wanted.request.model_dump(mode="json", exclude_defaults=True),
            thread_id=wanted.thread_id,
            busy=wanted.busy,
            principal=None if principal is None else asdict(principal),
            fingerprint=wanted.fingerprint(agent),
            done=now,
            generation=int(now),
        )

    @property
    def times(self) -> Times:
        """When it has its ticks."""
        return Times(self.cron, self.time_zone, self.at)

    @property
    def run_request(self) -> RunRequest:
        """The request of each of its runs."""
        return RunRequest.model_validate(self.request)

    @property
    def maker(self) -> Principal | None:
        """The maker of the schedule, who sends its runs."""
        return None if self.principal is None else Principal(**self.principal)

    @property
    def next_tick(self) -> float | None:
        """The first tick that was not handled; None for a paused schedule, an ended one, or one with unknown ticks."""
        if self.paused or self.times.problem is not None:
            return None
        tick, span = self.times.after(self.done), self._span_after(self.done)
        while span is not None and tick is not None and tick >= span[0]:
            tick, span = self.times.after(span[1]), self._span_after(span[1])
        return tick

    def _span_after(self, moment: float) -> tuple[float, float] | None:
        """Return the first span that ends after a moment."""
        return min((span for span in self.spans if span[1] > moment), default=None)

    def righted(self, now: float) -> Schedule:
        """Return the schedule without ticks that a clock ahead handled; the same if that silences no tick.

        A tick that was begun stays so, however early it was.
        """
        if self.done <= now + AHEAD_SECONDS:
            return self
        moments = (self.created_at, self.generation, self.last_missed or 0.0, *(last for _, last in self.spans))
        done = max((moment for moment in moments if 0.0 < moment <= now), default=now)
        missed = None if self.last_missed is None or self.last_missed > now else self.last_missed
        righted = self.model_copy(update={"done": done, "last_missed": missed})
        return self if righted.next_tick == self.next_tick else righted

    def renewed(self, now: float) -> Schedule:
        """Return the schedule `righted`, of a later generation; the same where it is right."""
        righted = self.righted(now)
        return self if righted is self else righted.model_copy(update={"generation": self.generation + 1})

    def ticked(self, now: float) -> Schedule:
        """Return the schedule with its due ticks begun or missed; the same if none is due, or another tick is begun."""
        if self.paused or self.begun is not None or self.times.problem is not None:
            return self
        schedule = self.righted(now)
        newest = due(schedule.times, schedule.done, now, schedule.missed)
        if newest.missed is not None:
            return schedule.model_copy(update={"last_missed": newest.missed, "done": newest.missed})
        if newest.tick is None:
            return schedule
        if any(first <= newest.tick <= last for first, last in schedule.spans):
            return schedule.model_copy(update={"done": newest.tick})
        spans = schedule._spans_with(newest.tick)
        return schedule.model_copy(update={"begun": newest.tick, "done": newest.tick, "spans": spans})

    def _spans_with(self, tick: float) -> tuple[tuple[float, float], ...]:
        *others, newest = self.spans or ((tick, tick),)
        if newest[1] == tick or self.times.after(newest[1]) == tick:
            return (*others, (newest[0], tick))
        return (*self.spans, (tick, tick))[-_KEPT_SPANS:]

    def as_paused(self) -> Schedule:
        """Return the schedule paused; the same while a tick is begun."""
        return self if self.begun is not None else self.model_copy(update={"paused": True})

    def ended(self, last: LastRun) -> Schedule:
        """Return the schedule with the outcome of the tick that is begun; the same for another tick."""
        return self.model_copy(update={"begun": None, "last": last}) if self.begun == last.tick else self

    def resumed(self, now: float) -> Schedule:
        """Return the schedule as it goes on: ticks of before do not count as missed."""
        generation, done = max(self.generation + 1, int(now)), self.done if self.done <= now + AHEAD_SECONDS else now
        return self.model_copy(update={"paused": False, "generation": generation, "done": max(done, now)})


def decode(payload: bytes) -> Schedule:
    """Return a stored schedule; raises `NewerVersionError` for one that this version must not decide on."""
    try:
        schedule = Schedule.model_validate_json(payload)
        if schedule.v <= VERSION:
            return schedule
    except ValidationError as error:
        raise NewerVersionError("This version of the app cannot read a schedule. Deploy the newer one.") from error
    raise NewerVersionError("A newer version of the app wrote the schedule. Deploy that one.")


def encode(schedule: Schedule) -> bytes:
    """Return a schedule as it is stored."""
    return schedule.model_dump_json(exclude_none=False).encode()


_SCHEDULES: CellKind[Schedule | None] = CellKind(
    "schedules",
    "",
    lambda payload: None if payload is None else decode(payload),
    lambda schedule: None if schedule is None else encode(schedule),
    takes_turns=False,  # a change may wait for the engine, which may wait for another change
)
