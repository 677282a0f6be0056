"""The route that forks a thread, with its bodies and handler (docs/guides/forks.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hosting import errors
from hosting.core.outcome import ThreadIds
from hosting.core.request.fields import read_flag, read_text
from hosting.errors import InvalidFieldError, RequestError
from hosting.features.forks.forking import ForkCall, Forked, Forking, ForkPoint
from hosting.http import places
from hosting.http.bodies import ForkedFrom
from hosting.http.replies import Reply, json_reply, thread_headers, thread_ids
from hosting.http.request import Bound, HttpRequest
from hosting.http.route import Header, ResponseSpec, Route
from hosting.http.routes import REPLAYED, WHOLE
from hosting.http.run_call import KEY_PARAMETER, JsonBody, RawRequest, read_idempotency_key
from hosting.names import check_thread_id, id_pattern, is_id
from hosting.strict_json.parsing import Schema, json_type

_MOST_POSITION = 2**53 - 1
_AT: Schema = {
    "anyOf": [
        {"type": "integer", "minimum": 1, "maximum": _MOST_POSITION},
        {"type": "string", "pattern": f"^{id_pattern()}$"},
        {"type": "null"},
    ],
    "description": "The last entry of the fork: its position, or the id of its run. Default: the end of the thread.",
}
_BEFORE: Schema = {
    "anyOf": [{"type": "boolean"}, {"type": "null"}],
    "description": "true: the fork ends before that entry, or before that run.",
}
_THREAD_ID: Schema = {
    "anyOf": [{"type": "string", "pattern": f"^{id_pattern()}$"}, {"type": "null"}],
    "description": "The id of the fork. Default: a new id.",
}
_FIELDS: Mapping[str, Schema] = {"thread_id": _THREAD_ID, "at": _AT, "before": _BEFORE}
_BEFORE_WHAT: Schema = {
    "if": {"properties": {"before": {"const": True}}, "required": ["before"]},
    "then": {"properties": {"at": {"type": ["integer", "string"]}}, "required": ["at"]},
}
"""Not by `oneOf`: of that, generated clients would make several types."""
FORK_BODY = JsonBody(_FIELDS, (), '{"at": 7, "before": true}', together=_BEFORE_WHAT)


class ForkRefusedError(RequestError, code="fork_refused", status=409):
    """Threads of workflows cannot be forked."""


class Fork(ThreadIds):
    """A new thread that starts with the entries of another one."""

    agent: str
    forked_from: ForkedFrom


FORK = Route(
    "thread_fork",
    "POST",
    places.THREAD.below("fork"),
    "Fork a thread: a new thread with the same entries up to a point",
    (ResponseSpec(201, "The fork: a new thread.", Fork, (Header("Location", "The fork's URL."), REPLAYED)),),
    (
        errors.InvalidThreadIdError,
        errors.InvalidIdempotencyKeyError,
        errors.IdempotencyKeyReusedError,
        errors.UnknownRunError,
        errors.ThreadExistsError,
        errors.ThreadDeletedError,
        *WHOLE,
        errors.AttachmentsUnavailableError,
    ),
    (KEY_PARAMETER,),
    FORK_BODY,
    needs="own",
    of_workflows=lambda route: replace(
        route, description="Refuses: it has no forks", answers=(), refusals=(ForkRefusedError,)
    ),
)


class ForkHandlers:
    """The handler of the route that forks a thread."""

    def __init__(self, forking: Forking, most_bytes: int) -> None:
        """A body has `most_bytes` at most."""
        self._forking = forking
        self._most_bytes = most_bytes

    def bound(self) -> Sequence[Bound]:
        """Return the route with its handler."""
        return (Bound(FORK, self._fork),)

    async def _fork(self, request: HttpRequest) -> Reply:
        agent, owner = request.agent, request.caller.owner
        if agent.workflow is not None:
            raise ForkRefusedError(
                "Threads of workflows, and of agents that are workflows, cannot be forked. Use a new thread."
            )
        wanted = await request.parsed(lambda raw: parse_fork(raw, agent.name, owner, self._most_bytes))
        forked = await self._forking.fork(request.address, wanted, request.caller.client)
        return fork_reply(agent.name, forked, request.thread_url(agent, forked.thread_id))


def fork_reply(agent: str, forked: Forked, url: str) -> Reply:
    """Return a fork, which is found at `url`."""
    body: Fork = {
        "agent": agent,
        **thread_ids(forked.thread_id),
        "forked_from": {**thread_ids(forked.origin), "entries": forked.entries},
    }
    headers = {**thread_headers(forked.thread_id), "location": url}
    return json_reply(201, body, headers | ({"idempotency-replayed": "true"} if forked.replayed else {}))


def parse_fork(call: RawRequest, agent: str, owner: str, most_bytes: int) -> ForkCall:
    """Return the fork that a request wants; raise a `HostingError` of `errors.REQUEST_ERRORS` otherwise."""
    fields = FORK_BODY.read(call, most_bytes)
    at, named = fields.get("at"), fields.get("thread_id")
    if isinstance(at, float) and at.is_integer():  # to JSON 7.0 is the integer 7
        at = int(at)
    before = fields.get("before") is not None and read_flag("before", fields["before"])
    if at is None and before:
        raise InvalidFieldError("The field 'before' needs 'at'. Send an entry's position or a run's id in 'at'.")
    if at is not None and not isinstance(at, str) and not (type(at) is int and 0 < at <= _MOST_POSITION):
        raise InvalidFieldError(f"The field 'at' is {_shown(at)}. Send an entry's position, from 1, or a run's id.")
    if isinstance(at, str) and not is_id(at):
        raise InvalidFieldError(f"The field 'at' is {at[:80]!r}, which is not a run id. Send a run id, or a position.")
    thread_id = None if named is None else check_thread_id(read_text("thread_id", named), agent, owner)
    return ForkCall(ForkPoint(at, before), thread_id, read_idempotency_key(call.headers))


def _shown(value: object) -> str:
    return str(value)[:80] if isinstance(value, int | float) else f"a JSON {json_type(value)}"
