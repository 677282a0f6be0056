"""The wire's operations, and its refusals."""

from __future__ import annotations

from hosting.core.outcome import problem
from hosting.errors import HostingError
from hosting.http.parameters import Parameter, in_path
from hosting.http.refusals import TRY_AGAIN
from hosting.http.replies import Reply
from hosting.http.route import Place, Route
from hosting.http.wire_replies import refusal_reply
from hosting.names import id_pattern

FUNCTION = "http_ai_sdk"
PLACE = Place().below("ai-sdk")


class UnservedMessageError(HostingError, code="not_served", status=400):
    """A part of a message that this app does not serve."""


def _operation(method: str, path: str, description: str, needs: str, *parameters: Parameter) -> Route:
    place = PLACE.below(path)
    return Route("ai_sdk", method, place, description, (), (), parameters, needs=needs)  # type: ignore[arg-type]


_CHAT = in_path("id", "The chat, which is a thread.", pattern=id_pattern(32))
SEND = _operation("POST", "{name}", "Send a message of a chat", "run")
MESSAGES = _operation("GET", "{name}/{id}", "Read a chat", "read", _CHAT)
STREAM = _operation("GET", "{name}/{id}/stream", "Follow the open run of a chat", "read", _CHAT)
OPERATIONS = (SEND, MESSAGES, STREAM)


def ai_sdk_refusal(error: HostingError) -> Reply:
    """Return the answer to a request that begins nothing: the problem, as our own routes have it.

    The client raises an error with this body as its message.
    """
    return refusal_reply(error, problem(error, None), is_later=error.status in TRY_AGAIN)
