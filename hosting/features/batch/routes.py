"""The route of batches, with its body and its answers (docs/reference/http-runs.md, "Many requests in one")."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from types import GenericAlias
from typing import Any

from typing_extensions import TypedDict

from hosting import errors
from hosting.core.request.contents import Limits
from hosting.http import bodies, places
from hosting.http.body_document import AgentBody, run_object
from hosting.http.route import ResponseSpec, Route
from hosting.http.routes import PREFERENCE, RETRY_AFTER
from hosting.http.run_call import (
    BUSY_MEMBER,
    KEY_PARAMETER,
    STREAM,
    STREAM_MEMBER,
    WAIT_MEMBERS,
    WAIT_PARAMETERS,
    json_object,
)
from hosting.names import BUSY
from hosting.strict_json.parsing import Schema

REQUESTS = "requests"
MOST_REQUESTS = 100
ITEM_KEY = "idempotency_key"
"""The member of a request that stands for its header `Idempotency-Key`."""


class BatchResult(TypedDict):
    """What came of one request of a batch: `status`, `headers` and `body` as the route of a run answers it.

    `index` is its place in the batch, from 0. The ids and the URL are null if it began no run.
    """

    index: int
    status: int
    thread_id: str | None
    run_id: str | None
    run_url: str | None
    headers: dict[str, str]
    body: Any


_RESULT = bodies.with_members(
    BatchResult, {"body": bodies.SENT_COMPLETED | bodies.SENT_PENDING | bodies.SENT_JOINED | bodies.SENT_PROBLEM}
)


class BatchResults(TypedDict):
    """The results of all requests of a batch, in the order of the requests; `open` of their runs are in progress."""

    results: list[BatchResult]
    open: int


_RESULTS = bodies.with_members(BatchResults, {"results": GenericAlias(list, (_RESULT,))})


def batch_body(agents: Mapping[str, Limits], owner: str) -> dict[str, Any]:
    """Return the body of a batch for any of these: a list of objects of a run's fields."""
    key: Schema = {"anyOf": [KEY_PARAMETER.schema, {"type": "null"}], "description": KEY_PARAMETER.description}
    more: Schema = {ITEM_KEY: key, BUSY: BUSY_MEMBER}
    objects = [run_object(agent, limits, owner, more) for agent, limits in agents.items()]
    other: Schema = {"type": "object", "description": "Any other is taken, and refused by itself: its result says so."}
    members: Schema = {
        REQUESTS: {"type": "array", "items": {"anyOf": [*objects, other]}, "minItems": 1, "maxItems": MOST_REQUESTS},
        STREAM: STREAM_MEMBER,
        **WAIT_MEMBERS,
    }
    content = {"application/json": {"schema": json_object(members, required=[REQUESTS])}}
    most = max(limits.body_bytes for limits in agents.values())
    return {"description": f"At most {most} bytes.", "required": True, "content": content}


BATCH = Route(
    "batch",
    "POST",
    places.AGENT.below("runs/batch"),
    "Ask the agent many times at once",
    (
        ResponseSpec(200, "All have ended or were refused.", _RESULTS, (PREFERENCE,), or_events=True),
        ResponseSpec(
            202,
            "Some of the runs are in progress: you did not wait, or the wait ended first.",
            _RESULTS,
            (RETRY_AFTER, PREFERENCE),
        ),
    ),
    (
        errors.InvalidWaitError,
        errors.InvalidIdempotencyKeyError,
        errors.ShuttingDownError,
        errors.AgentsBlockedError,
    ),
    (*WAIT_PARAMETERS, KEY_PARAMETER),
    AgentBody(batch_body),
    needs="run",
    of_workflows=lambda route: dataclasses.replace(route, description="Run the workflow many times at once"),
)
ROUTES = (BATCH,)
