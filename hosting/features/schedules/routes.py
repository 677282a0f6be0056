"""The routes of an agent's schedules, with their bodies and refusals (docs/guides/schedules.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec.structs import replace
from typing_extensions import TypedDict

from hosting import errors
from hosting.core.request.contents import Limits
from hosting.errors import RequestError
from hosting.http import places
from hosting.http.body_document import AgentBody, Schema, run_object
from hosting.http.parameters import in_path
from hosting.http.route import STORES, Header, ResponseSpec, Route, ok
from hosting.http.routes import RUN
from hosting.http.run_call import KEY_PARAMETER
from hosting.names import Busy


class TooManySchedulesError(RequestError, code="too_many_schedules", status=409):
    """The caller has as many schedules with the agent as allowed."""


class UnknownScheduleError(RequestError, code="unknown_schedule", status=404):
    """The caller has no schedule with this id."""


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
    missed: Literal["run_once", "skip"]
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
    from hosting.features.schedules.requests import MOST_BYTES, SCHEDULE_MEMBERS  # for the OpenAPI document only

    times: list[Schema] = [
        {"required": [name], "properties": {name: {"type": "string"}, other: {"type": "null"}}}
        for name, other in (("cron", "at"), ("at", "cron"))
    ]
    bodies = [
        run_object(agent, replace(limits, own_tools=None), owner, SCHEDULE_MEMBERS) | {"anyOf": times}
        for agent, limits in agents.items()
    ]
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
    (KEY_PARAMETER,),
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
ROUTES = (CREATE, LIST, READ, PAUSE, RESUME, DELETE)
