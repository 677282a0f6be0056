"""The routes of an agent's schedules, with their bodies and handlers (docs/guides/schedules.md)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from typing_extensions import TypedDict

from hosting import errors
from hosting.core.request.contents import Limits, limits_of
from hosting.features.schedules.places import TooManySchedulesError
from hosting.features.schedules.requests import MOST_BYTES, SCHEDULE_MEMBERS, SCHEDULE_PARAMETERS, parse_schedule
from hosting.features.schedules.schedule import Schedule, ScheduleName
from hosting.features.schedules.schedules import Schedules, UnknownScheduleError
from hosting.features.schedules.times import Missed
from hosting.http import places
from hosting.http.body_document import AgentBody, Schema, run_object
from hosting.http.parameters import in_path
from hosting.http.replies import Reply, json_reply
from hosting.http.request import Bound, HttpRequest
from hosting.http.route import STORES, Header, ResponseSpec, Route, ok
from hosting.http.routes import RUN
from hosting.names import Busy
from hosting.ports import iso
from hosting.principal import Caller
from hosting.settings import Settings


class ScheduledRun(TypedDict):
    """The run of a scheduled time `at` (RFC 3339), or the `code` that says why no run started."""

    at: str
    thread_id: str | None
    run_id: str | None
    code: str | None


class ShownSchedule(TypedDict):
    """A schedule; times are RFC 3339. Missing fields of `request` have the defaults of a run.

    `problem` is set if this process cannot compute the schedule's times: it starts no runs then.
    """

    schedule_id: str
    agent: str
    status: Literal["active", "paused", "ended"]
    cron: str | None
    at: str | None
    time_zone: str
    missed: Missed
    request: dict[str, Any]
    thread_id: str | None
    busy: Busy | None
    created_at: str
    next_run_at: str | None
    problem: str | None
    last_run: ScheduledRun | None
    last_missed_at: str | None


class ScheduleList(TypedDict):
    """The caller's schedules with an agent, oldest first."""

    schedules: list[ShownSchedule]


def schedule_body(agents: Mapping[str, Limits], owner: str) -> Schema:
    """Return the body of a schedule of any of these: an object of a run's fields, and of when it has its runs."""
    times: list[Schema] = [
        {"required": [name], "properties": {name: {"type": "string"}, other: {"type": "null"}}}
        for name, other in (("cron", "at"), ("at", "cron"))
    ]
    bodies = [run_object(agent, limits, owner, SCHEDULE_MEMBERS) | {"anyOf": times} for agent, limits in agents.items()]
    schema = bodies[0] if len(bodies) == 1 else {"anyOf": bodies}
    content = {"application/json": {"schema": schema}}
    return {"description": f"At most {MOST_BYTES} bytes.", "required": True, "content": content}


SCHEDULE_BODY = AgentBody(schedule_body)
_SCHEDULES = places.AGENT.below("schedules")
_SCHEDULE = _SCHEDULES.below("{schedule_id}", in_path("schedule_id", "The schedule.", UnknownScheduleError))
_NOT_OF_SCHEDULES = (
    errors.InvalidWaitError,
    errors.ThreadDeletedError,
    errors.ThreadDeletingError,
    errors.ThreadBusyError,
    errors.TooManyRunsError,
    errors.LimitExceededError,
    *(one for one in errors.RUN_ERRORS if one is not errors.InvalidInputError),
)
_STARTING = (errors.ShuttingDownError, errors.AgentsBlockedError, errors.AttachmentsUnavailableError, *STORES)
CREATE = Route(
    "schedule_create",
    "POST",
    _SCHEDULES,
    "Create a schedule",
    (
        ResponseSpec(201, "The schedule.", ShownSchedule, (Header("Location", "The schedule's URL."),)),
        ResponseSpec(200, "An earlier request with this key created the schedule.", ShownSchedule),
    ),
    (*(one for one in RUN.refusals if one not in _NOT_OF_SCHEDULES), TooManySchedulesError),
    SCHEDULE_PARAMETERS,
    SCHEDULE_BODY,
    needs="own",
)
LIST = Route("schedules", "GET", _SCHEDULES, "List the agent's schedules", ok(ScheduleList), STORES)
READ = Route("schedule", "GET", _SCHEDULE, "Read a schedule with its last and next run", ok(ShownSchedule), STORES)
PAUSE = Route(
    "schedule_pause",
    "POST",
    _SCHEDULE.below("pause"),
    "Pause a schedule",
    (ResponseSpec(200, "The schedule is paused.", ShownSchedule),),
    _STARTING,
    needs="own",
)
RESUME = Route(
    "schedule_resume",
    "POST",
    _SCHEDULE.below("resume"),
    "Resume a schedule",
    (ResponseSpec(200, "The schedule continues with its next time.", ShownSchedule),),
    STORES,
    needs="own",
)
DELETE = Route(
    "schedule_delete",
    "DELETE",
    _SCHEDULE,
    "Delete a schedule",
    (ResponseSpec(204, "Deleted, or not found. The schedule starts no more runs."),),
    _STARTING,
    needs="own",
)


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
        if not is_new:
            return json_reply(200, schedule_fields(name, schedule))
        url = f"{request.agent_url}/schedules/{name.id}"
        return json_reply(201, schedule_fields(name, schedule), {"location": url})

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
