"""A request to make a schedule: when it has its ticks, and the run that each of them begins.

The run has the fields of a request for one, but for those that say how its caller wants the answer.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from msgspec import Struct

from hosting.core.request.contents import Limits
from hosting.core.request.fields import read_members, read_text
from hosting.core.thread.run_request import RunRequest
from hosting.errors import BodyTooLargeError, InvalidFieldError, UnsupportedMediaTypeError
from hosting.features.schedules.times import (
    DEFAULT_TIME_ZONE,
    MISSED_POLICIES,
    MOST_CHARACTERS,
    Missed,
    Times,
    read_times,
)
from hosting.http.client_tools import CLIENT_TOOLS
from hosting.http.run_call import (
    BUSY_MEMBER,
    FIELDS,
    STREAM,
    THREAD_ID_FIELDS,
    WAIT_FIELDS,
    WORKFLOW_FIELDS,
    RawRequest,
    body_form,
    json_fields,
    one_thread_id,
    read_busy,
    read_idempotency_key,
    workflow_request,
)
from hosting.model_options import OPTIONS, ChosenOptions, read_chosen
from hosting.names import APP, BUSY, Busy, check_thread_id
from hosting.strict_json.parsing import Schema

MOST_BYTES = 32 * 1024
"""The largest body of a schedule, which is read each time that schedules are listed."""
_CRON = "cron"
_TIME_ZONE = "time_zone"
_AT = "at"
_MISSED = "missed"


def _text(description: str, **more: object) -> Schema:
    return {"anyOf": [{"type": "string", **more}, {"type": "null"}], "description": description}


TIME_MEMBERS: dict[str, Schema] = {
    _CRON: _text(
        "Five fields: minute, hour, day of the month, month, day of the week. Or send `at`.", maxLength=MOST_CHARACTERS
    ),
    _TIME_ZONE: _text("A time zone of the tz database, for `cron` and for `at` without an offset. Default: UTC."),
    _AT: _text("A future time in RFC 3339, instead of `cron`."),
    _MISSED: _text("What to do with missed times: one run for all of them, or no run.", enum=[*MISSED_POLICIES]),
}
SCHEDULE_MEMBERS: dict[str, Schema] = {**TIME_MEMBERS, BUSY: BUSY_MEMBER}
"""The members of a body in the OpenAPI document besides the fields of the run."""
_NOT_OF_RUNS = {STREAM, *WAIT_FIELDS}


class NewSchedule(Struct, frozen=True):
    """A schedule as its maker wants it. Without a `thread_id` each run has a new thread, without `busy` the agent's.

    `ignored` are the parts of the request that have no effect.
    """

    times: Times
    missed: Missed
    request: RunRequest
    thread_id: str | None
    busy: Busy | None
    key: str | None
    ignored: Sequence[str] = ()

    def fingerprint(self, agent: str) -> str:
        """Return the digest of the request, which distinguishes a repeated one from another with the same key."""
        times = [self.times.cron, self.times.time_zone, self.times.at, self.missed, self.busy]
        return self.request.fingerprint(f"{agent} {json.dumps(times)}", self.thread_id)


def parse_schedule(call: RawRequest, agent: str, limits: Limits, owner: str = APP) -> NewSchedule:
    """Return the schedule that a request makes; raise a `HostingError` of `errors.REQUEST_ERRORS` otherwise."""
    if len(call.body) > MOST_BYTES:
        raise BodyTooLargeError(f"The body has {len(call.body)} bytes; a schedule has at most {MOST_BYTES}. Send less.")
    if body_form(call, limits.body_bytes) != "json":
        raise UnsupportedMediaTypeError(
            'The body of this request is JSON. Send application/json: {"cron": "0 9 * * 1-5", "message": "..."}.'
        )
    of_runs = FIELDS if limits.workflow is None else WORKFLOW_FIELDS
    fields = json_fields(call.body, (of_runs - _NOT_OF_RUNS) | SCHEDULE_MEMBERS.keys())
    if fields.get(CLIENT_TOOLS) not in (None, []):
        raise InvalidFieldError(
            f"The field {CLIENT_TOOLS!r} is refused: nobody is there to run them when a schedule's run calls one. "
            "Leave it out."
        )
    texts = {name: read_text(name, fields.pop(name)) for name in TIME_MEMBERS if fields.get(name) is not None}
    missed = texts.get(_MISSED, MISSED_POLICIES[0])
    if missed not in MISSED_POLICIES:
        raise InvalidFieldError(f"The field 'missed' is {missed[:80]!r}. Send 'run_once' or 'skip'.")
    named = [read_text(name, fields[name]) for name in THREAD_ID_FIELDS if fields.get(name) is not None]
    thread_id = one_thread_id(named)
    chosen = ChosenOptions()
    if limits.workflow is None:
        chosen = read_chosen(fields.get(OPTIONS), limits.options)
        request = RunRequest(**{**read_members(fields, limits), **chosen.members})
    else:
        request = workflow_request(fields, limits, limits.workflow)
    return NewSchedule(
        read_times(texts.get(_CRON), texts.get(_TIME_ZONE, DEFAULT_TIME_ZONE), texts.get(_AT)),
        missed,
        request,
        None if thread_id is None else check_thread_id(thread_id, agent, owner, is_stored=True),
        None if fields.get(BUSY) is None else read_busy(fields, {}),
        read_idempotency_key(call.headers),
        chosen.ignored,
    )
