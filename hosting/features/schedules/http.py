"""The handlers of the routes of schedules."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hosting.core.request.contents import limits_of
from hosting.features.schedules.requests import parse_schedule
from hosting.features.schedules.routes import (
    CREATE,
    DELETE,
    LIST,
    PAUSE,
    READ,
    RESUME,
    ScheduleList,
    ShownSchedule,
    UnknownScheduleError,
)
from hosting.features.schedules.schedule import Schedule, ScheduleName
from hosting.features.schedules.schedules import Schedules
from hosting.http.replies import Reply, json_reply
from hosting.http.request import Bound, HttpRequest
from hosting.http.run_call import ignored_headers
from hosting.ports import iso
from hosting.principal import Caller
from hosting.settings import Settings


class ScheduleHandlers:
    """The handlers of the routes of all schedules."""

    def __init__(self, schedules: Callable[[Caller], Schedules], settings: Settings) -> None:
        """`schedules` returns those of a caller."""
        self._schedules = schedules
        self._settings = settings

    def bound(self) -> Sequence[Bound]:
        """Return the routes with their handlers."""
        return (
            Bound(CREATE, self._create),
            Bound(LIST, self._list),
            Bound(READ, self._read),
            Bound(PAUSE, self._pause),
            Bound(RESUME, self._resume),
            Bound(DELETE, self._delete),
        )

    async def _create(self, request: HttpRequest) -> Reply:
        agent, owner = request.agent, request.caller.owner
        limits = limits_of(agent, self._settings)
        new = await request.parsed(lambda raw: parse_schedule(raw, agent.name, limits, owner))
        name, schedule, is_new = await self._schedules(request.caller).create(agent.name, new)
        ignored = ignored_headers(new.ignored)
        if not is_new:
            return json_reply(200, schedule_fields(name, schedule), ignored)
        url = f"{request.agent_url}/schedules/{name.id}"
        return json_reply(201, schedule_fields(name, schedule), {"location": url, **ignored})

    async def _list(self, request: HttpRequest) -> Reply:
        schedules = await self._schedules(request.caller).of_agent(request.agent.name)
        body: ScheduleList = {"schedules": [schedule_fields(*schedule) for schedule in schedules]}
        return json_reply(200, body)

    async def _read(self, request: HttpRequest) -> Reply:
        name = _name(request)
        return json_reply(200, schedule_fields(name, await self._schedules(request.caller).find(name)))

    async def _pause(self, request: HttpRequest) -> Reply:
        name = _name(request)
        return json_reply(200, schedule_fields(name, await self._schedules(request.caller).pause(name)))

    async def _resume(self, request: HttpRequest) -> Reply:
        name = _name(request)
        return json_reply(200, schedule_fields(name, await self._schedules(request.caller).resume(name)))

    async def _delete(self, request: HttpRequest) -> Reply:
        await self._schedules(request.caller).delete(_name(request))
        return Reply(204, "", None)


def _name(request: HttpRequest) -> ScheduleName:
    schedule_id = request.id("schedule", UnknownScheduleError)
    return ScheduleName(request.agent.name.lower(), request.caller.owner, schedule_id)


def schedule_fields(name: ScheduleName, schedule: Schedule) -> ShownSchedule:
    """Return a schedule as it is shown."""
    upcoming = schedule.next_tick if schedule.begun is None else schedule.begun
    last, problem = schedule.last, schedule.times.problem
    is_over = upcoming is None and problem is None
    return {
        "schedule_id": name.id,
        "agent": schedule.agent,
        "status": "paused" if schedule.paused else "ended" if is_over else "active",
        "cron": schedule.cron,
        "at": _shown(schedule.at),
        "time_zone": schedule.time_zone,
        "missed": schedule.missed,
        "request": schedule.request,
        "thread_id": schedule.thread_id,
        "busy": schedule.busy,
        "created_at": iso(schedule.created_at),
        "next_run_at": _shown(upcoming),
        "problem": problem,
        "last_run": None
        if last is None
        else {"at": iso(last.tick), "thread_id": last.thread_id, "run_id": last.run_id, "code": last.code},
        "last_missed_at": _shown(schedule.last_missed),
    }


def _shown(at: float | None) -> str | None:
    return None if at is None else iso(at)
