"""The error bodies of the management API, as the real host words them (host contract 4.3)."""

from __future__ import annotations

from starlette.responses import Response

from devhost.durable.hub import NotFound, WrongStatus
from devhost.durable.management.http import json_reply


def refusal(
    status: int, message: str, exception: str | None = None, kind: str = "System.ArgumentException"
) -> Response:
    """Return an error body. `ExceptionMessage` is always there: the SDK of 1.7 reads it from every 400."""
    body = {"Message": message, "ExceptionMessage": exception or message, "ExceptionType": kind, "StackTrace": ""}
    return json_reply(status, body)


def invalid_json(error: Exception) -> Response:
    return refusal(400, "Invalid JSON content", str(error), "Newtonsoft.Json.JsonReaderException")


def already_exists(outcome: WrongStatus, message: str | None = None) -> Response:
    text = f"An Orchestration instance with the status {outcome.status.value} already exists."
    return refusal(409, message or text, text, "DurableTask.Core.Exceptions.OrchestrationAlreadyExistsException")


def gone_or_missing(outcome: NotFound | WrongStatus) -> Response:
    return Response(status_code=404 if isinstance(outcome, NotFound) else 410)


def wrong_state(verb: str, instance_id: str, outcome: WrongStatus) -> Response:
    """Return the answer to a suspend or resume that the instance's state does not allow."""
    if outcome.status.is_terminal:
        return Response(status_code=410)
    text = (
        f"Cannot {verb} the orchestration instance {instance_id} because instance is in the "
        f"{outcome.status.value} state."
    )
    message = "Something went wrong while processing your request"
    return refusal(500, message, text, "System.InvalidOperationException")


def unexpected(error: Exception) -> Response:
    message = "Something went wrong while processing your request"
    return refusal(500, message, str(error), type(error).__name__)
