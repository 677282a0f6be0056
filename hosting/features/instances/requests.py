"""A request to run a workflow by the names of agent-framework-azurefunctions: the body itself is the input.

Its instance is a thread of ours, and `runId` names it. So the id is a key too: the same request with it again finds the
run that it began, and another request is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from hosting.core.request.contents import Limits
from hosting.core.request.fields import TRUTH_WORD, read_decision, read_truth
from hosting.core.thread.run_request import Decision, PendingApproval, StartRun
from hosting.errors import BodyTooLargeError, InvalidWaitError
from hosting.http.parameters import Parameter
from hosting.http.run_call import (
    IDEMPOTENCY_KEY,
    INPUT,
    RUN_PARAMETERS,
    WAIT_HEADER,
    RawRequest,
    body_form,
    read_idempotency_key,
    workflow_request,
)
from hosting.names import APP, check_thread_id, id_pattern
from hosting.ports import Wait
from hosting.strict_json.parsing import decode_utf8, parse_json
from hosting.workflows import WorkflowInput, json_text

MOST_SECONDS = 200
DEFAULT_SECONDS = 10
_SECONDS = re.compile("[0-9]{1,3}")

RUN_ID = Parameter(
    "runId",
    "query",
    "The id of the instance. The same request with the same id finds the same run.",
    {"type": "string", "pattern": f"^{id_pattern()}$"},
)
WAIT_FOR_RESPONSE = Parameter("waitForResponse", "query", "true: wait for the end.", TRUTH_WORD)
TIMEOUT_SECONDS = Parameter(
    "timeoutSeconds",
    "query",
    "Seconds to wait for the end.",
    {"type": "integer", "minimum": 1, "maximum": MOST_SECONDS, "default": DEFAULT_SECONDS},
)
INSTANCE_PARAMETERS = (
    RUN_ID,
    WAIT_FOR_RESPONSE,
    TIMEOUT_SECONDS,
    *(one for one in RUN_PARAMETERS if one.name in (WAIT_HEADER, "traceparent", IDEMPOTENCY_KEY)),
)


def parse_instance(call: RawRequest, workflow: str, limits: Limits, owner: str = APP) -> StartRun:
    """Return the run that a request starts; raise a `HostingError` of `errors.REQUEST_ERRORS` otherwise."""
    takes = limits.workflow
    assert takes is not None
    request = workflow_request(_given(call, limits, takes), limits, takes)
    run_id = call.query.get(RUN_ID.name)
    if run_id is not None:
        run_id = check_thread_id(run_id, workflow, owner)
    key = read_idempotency_key(call.headers)
    return StartRun(request, run_id, _wait(call), key or run_id, call.headers.get("traceparent"))


def _given(call: RawRequest, limits: Limits, takes: WorkflowInput) -> Mapping[str, Any]:
    """Return the fields of a run: the body's JSON value, or its text.

    curl sends JSON under a media type of its own, which a workflow of texts is given as it stands.
    """
    if body_form(call, limits.body_bytes) == "json" or not takes.takes_words:
        value = parse_json(call.body) if call.body.strip() else None
        # What takes texts alone, such as an agent, is given the text of any other value.
        return {INPUT: json_text(value) if _is_text_to(takes, value) else value}
    return {"message": decode_utf8(call.body)}


def _is_text_to(takes: WorkflowInput, value: Any) -> bool:
    return takes.takes_words and not takes.types and value is not None and not isinstance(value, str)


def _wait(call: RawRequest) -> Wait:
    """Return whether the caller waits: not unless it says so, by the header or else the query."""
    texts = {WAIT_HEADER: call.headers.get(WAIT_HEADER), WAIT_FOR_RESPONSE.name: call.query.get(WAIT_FOR_RESPONSE.name)}
    answers = [read_truth(name, text, InvalidWaitError) for name, text in texts.items() if text is not None]
    seconds = call.query.get(TIMEOUT_SECONDS.name, str(DEFAULT_SECONDS))
    if not _SECONDS.fullmatch(seconds) or not 1 <= int(seconds) <= MOST_SECONDS:
        raise InvalidWaitError(
            f"The query {TIMEOUT_SECONDS.name!r} is {seconds[:80]!r}. Send a whole number from 1 to {MOST_SECONDS}."
        )
    return Wait(float(seconds), answer=bool(answers) and answers[0])


def parse_answer(call: RawRequest, most_bytes: int) -> Any:
    """Return the answer that is a request's body; raise a `HostingError` of `errors.REQUEST_ERRORS` otherwise."""
    if len(call.body) > most_bytes:
        raise BodyTooLargeError(f"The body has {len(call.body)} bytes; the limit is {most_bytes}. Send less.")
    return parse_json(call.body)


def decision_of(approval_id: str, value: Any, waiting: Sequence[PendingApproval]) -> Decision:
    """Return the answer to the waiting approval of that id; for a tool call, the decision in the value."""
    asked = next((one for one in waiting if one.id == approval_id), None)
    if asked is not None and asked.kind == "approve" and isinstance(value, dict):
        return read_decision({**value, "id": approval_id})
    return Decision.of_value(approval_id, value)
