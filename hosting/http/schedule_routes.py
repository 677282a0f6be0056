"""The routes of an agent's schedules, and their answers (docs/guides/schedules.md)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from typing_extensions import TypedDict

from hosting import errors
from hosting.core.schedule import Schedule, ScheduleName
from hosting.http.parameters import in_path
from hosting.http.replies import Reply, json_reply
from hosting.http.route import STORES, Header, ResponseSpec, Route, ok
from hosting.http.routes import RUN
from hosting.http.schedule_call import SCHEDULE_PARAMETERS
from hosting.names import Busy
from hosting.ports import iso
from hosting.schedules import Missed


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


_PATH = "agents/{name}/schedules"
_ONE = f"{_PATH}/{{schedule_id}}"
_ID = (in_path("schedule_id", "The schedule.", errors.UnknownScheduleError),)
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
    "http_schedule_create",
    "POST",
    _PATH,
    "Create a schedule",
    (
        ResponseSpec(201, "The schedule.", ShownSchedule, (Header("Location", "The schedule's URL."),)),
        ResponseSpec(200, "An earlier request with this key created the schedule.", ShownSchedule),
    ),
    (*(one for one in RUN.refusals if one not in _NOT_OF_SCHEDULES), errors.TooManySchedulesError),
    SCHEDULE_PARAMETERS,
    "schedule",
    needs="own",
)
LIST = Route("http_schedules", "GET", _PATH, "List the agent's schedules", ok(ScheduleList), STORES)
READ = Route("http_schedule", "GET", _ONE, "Read a schedule with its last and next run", ok(ShownSchedule), STORES, _ID)
PAUSE = Route(
    "http_schedule_pause",
    "POST",
    f"{_ONE}/pause",
    "Pause a schedule",
    (ResponseSpec(200, "The schedule is paused.", ShownSchedule),),
    _STARTING,
    _ID,
    needs="own",
)
RESUME = Route(
    "http_schedule_resume",
    "POST",
    f"{_ONE}/resume",
    "Resume a schedule",
    (ResponseSpec(200, "The schedule continues with its next time.", ShownSchedule),),
    STORES,
    _ID,
    needs="own",
)
DELETE = Route(
    "http_schedule_delete",
    "DELETE",
    _ONE,
    "Delete a schedule",
    (ResponseSpec(204, "Deleted, or not found. The schedule starts no more runs."),),
    _STARTING,
    _ID,
    needs="own",
)


def schedule_reply(name: ScheduleName, schedule: Schedule, url: str | None = None) -> Reply:
    """Return a schedule; with a `url`, as the response to its creation."""
    fields = schedule_fields(name, schedule)
    return json_reply(200, fields) if url is None else json_reply(201, fields, {"location": url})


def schedules_reply(found: Iterable[tuple[ScheduleName, Schedule]]) -> Reply:
    """Return the list of an owner's schedules with an agent."""
    body: ScheduleList = {"schedules": [schedule_fields(name, schedule) for name, schedule in found]}
    return json_reply(200, body)


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
