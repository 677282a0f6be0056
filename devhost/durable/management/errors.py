"""The error bodies of the management API, as the real host words them (host contract 4.3)."""

from __future__ import annotations

from devhost.durable.hub import NotFound, WrongStatus
from devhost.durable.management.http import Reply, json_reply


def refusal(status: int, message: str, exception: str | None = None, kind: str = "System.ArgumentException") -> Reply:
    """Return an error body. `ExceptionMessage` is always there: the SDK of 1.7 reads it from every 400."""
    body = {"Message": message, "ExceptionMessage": exception or message, "ExceptionType": kind, "StackTrace": ""}
    return json_reply(status, body)


def invalid_json(error: ValueError) -> Reply:
    return refusal(400, "Invalid JSON content", str(error), "Newtonsoft.Json.JsonReaderException")


def already_exists(outcome: WrongStatus, message: str | None = None) -> Reply:
    text = f"An Orchestration instance with the status {outcome.status.value} already exists."
    return refusal(409, message or text, text, "DurableTask.Core.Exceptions.OrchestrationAlreadyExistsException")


def gone_or_missing(outcome: NotFound | WrongStatus) -> Reply:
    return Reply(404 if isinstance(outcome, NotFound) else 410)


def wrong_state(verb: str, instance_id: str, outcome: WrongStatus) -> Reply:
    """Return the answer to a suspend or resume that the instance's state does not allow."""
    if outcome.status.is_terminal:
        return Reply(410)
    text = (
        f"Cannot {verb} the orchestration instance {instance_id} because instance is in the "
        f"{outcome.status.value} state."
    )
    message = "Something went wrong while processing your request"
    return refusal(500, message, text, "System.InvalidOperationException")


def unexpected(error: Exception) -> Reply:
    message = "Something went wrong while processing your request"
    return refusal(500, message, str(error), type(error).__name__)
