"""A caller's answer to an approval, parsed and checked at the border (http-api.md section 3)."""

from __future__ import annotations

from dataclasses import dataclass

from hosting.errors import UnsupportedMediaTypeError
from hosting.request.decisions import DECISION_FIELDS, read_decision
from hosting.request.negotiation import Form, answer_form, body_form
from hosting.request.run_call import WAIT_FIELDS, Call, Wait, check_size, json_fields, read_wait
from hosting.requests import Decision


@dataclass(frozen=True)
class DecisionCall:
    """What a caller decided, and how the answer of the run that may go on is to be given."""

    decision: Decision
    wait: Wait
    form: Form


def parse_decision(call: Call, approval_id: str, most_bytes: int) -> DecisionCall:
    """Return the decision that a request holds; raise a `HostingError` of `errors.REQUEST_ERRORS` otherwise."""
    check_size(call.body, most_bytes)
    if body_form(call.headers.get("content-type", "")) != "json":
        raise UnsupportedMediaTypeError('An approval is answered in JSON. Send application/json: {"approved": true}.')
    fields = json_fields(call.body, {*DECISION_FIELDS, *WAIT_FIELDS})
    return DecisionCall(
        decision=read_decision({**fields, "id": approval_id}),
        wait=read_wait(fields, call),
        form=answer_form(call.headers.get("accept", ""), "json"),
    )
