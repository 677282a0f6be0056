"""Requests of the management API as they are read, and its replies as the real host words them."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from starlette.requests import Request
from starlette.responses import Response

from devhost.durable.hub import NotFound, WrongStatus
from devhost.durable.management.addresses import WEBHOOK_PATH
from devhost.durable.records import Status
from devhost.durable.store.contract import InstanceFilter
from devhost.durable.texts import compact, parse_utc

TOKEN_HEADER = "x-ms-continuation-token"
_JSON = "application/json; charset=utf-8"
_DEFAULT_SIZE = 100
_NUMBER = re.compile(r"-?[0-9]{1,9}")
_STATUSES = {status.value: status for status in Status} | {str(status.number): status for status in Status}


class ManagementRequest(Request):
    """One request; names of query parameters are compared without case and given here in lower case."""

    @property
    def path(self) -> str:
        """The decoded path, relative to the mount; the scope's is full, as ASGI servers give it, or relative."""
        path: str = self.scope["path"]
        return path.removeprefix(self.scope.get("root_path", ""))

    @property
    def is_of_the_app(self) -> bool:
        """Whether it came to the private mount, as the app's own durable client sends it, and not as a webhook."""
        mount: str = self.scope.get("root_path", "")
        return mount.lower() != WEBHOOK_PATH

    @property
    def origin(self) -> str:
        """Scheme and host as the caller wrote them."""
        return f"{self.scope.get('scheme', 'http')}://{self.headers.get('host', 'localhost')}"

    @property
    def media_type(self) -> str:
        """The body's type as it was written, without its parameters."""
        return self.headers.get("content-type", "").split(";")[0].strip()

    def parameters(self, name: str) -> list[str]:
        """Return all values of a query parameter."""
        return [value for key, value in self.query_params.multi_items() if key.lower() == name]

    def parameter(self, name: str) -> str | None:
        """Return the first value of a query parameter, or None."""
        return next(iter(self.parameters(name)), None)

    def flag(self, name: str, default: bool = False) -> bool:
        """Return a boolean parameter; what is neither true nor false counts as not given."""
        return {"true": True, "false": False}.get((self.parameter(name) or "").lower(), default)

    def moment(self, name: str) -> datetime | None:
        """Return the moment that a parameter names, or None when it names none."""
        try:
            return parse_utc(self.parameter(name) or "")
        except ValueError:
            return None


@dataclass(frozen=True)
class Page:
    """`size` entries from `first_id` on; a negative size is a mistake of the caller."""

    size: int
    first_id: str


def parse_page(request: ManagementRequest) -> Page:
    """Return the page; a `top` that is no number means the default, a token that is none is an id as it stands."""
    found = _NUMBER.fullmatch(request.parameter("top") or "")
    token = request.headers.get(TOKEN_HEADER, "")
    try:
        first_id = base64.b64decode(token, validate=True).decode()
    except ValueError:
        first_id = token
    return Page(int(found[0]) if found else _DEFAULT_SIZE, first_id)


def next_page(request: ManagementRequest, ids: Sequence[str], page: Page) -> dict[str, str]:
    """Return the header that leads to the next page.

    When these ids, read one too many, end the list, clients get no header and the app's own client an empty one, as
    from the real host.
    """
    if len(ids) > page.size:
        return {TOKEN_HEADER: base64.b64encode(ids[page.size].encode()).decode()}
    return {TOKEN_HEADER: ""} if request.is_of_the_app else {}


def parse_filter(request: ManagementRequest) -> InstanceFilter:
    """Return the wanted instances; statuses and dates that cannot be read are left out, as on the real host."""
    names = [name for value in request.parameters("runtimestatus") for name in value.split(",")]
    return InstanceFilter(
        prefix=request.parameter("instanceidprefix") or "",
        statuses=frozenset(_STATUSES[name] for name in names if name in _STATUSES),
        created_from=request.moment("createdtimefrom"),
        created_to=request.moment("createdtimeto"),
    )


def json_reply(status: int, content: object, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response whose body is the content as compact JSON."""
    return text_reply(status, compact(content), headers)


def text_reply(status: int, text: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response whose body is this JSON text as it is."""
    return Response(text, status, headers, media_type=_JSON)


def refusal(
    status: int, message: str, exception: str | None = None, kind: str = "System.ArgumentException"
) -> Response:
    """Return an error body. `ExceptionMessage` is always there: the SDK of 1.7 reads it from every 400."""
    body = {"Message": message, "ExceptionMessage": exception or message, "ExceptionType": kind, "StackTrace": ""}
    return json_reply(status, body)


def invalid_json(error: Exception) -> Response:
    return refusal(400, "Invalid JSON content", str(error), "Newtonsoft.Json.JsonReaderException")


def negative_top() -> Response:
    """Return the 500 for a page of fewer entries than none: the real host's storage refuses it."""
    text = "An error occurred while communicating with Azure Storage"
    return unexpected(text, "DurableTask.AzureStorage.Storage.DurableTaskStorageException")


def already_exists(outcome: WrongStatus, message: str | None = None) -> Response:
    text = f"An Orchestration instance with the status {outcome.status.value} already exists."
    return refusal(409, message or text, text, "DurableTask.Core.Exceptions.OrchestrationAlreadyExistsException")


def gone_or_missing(outcome: NotFound | WrongStatus) -> Response:
    return Response(status_code=404 if isinstance(outcome, NotFound) else 410)


def unexpected(text: str, kind: str) -> Response:
    """Return the 500 for an exception of that text and type."""
    return refusal(500, "Something went wrong while processing your request", text, kind)
