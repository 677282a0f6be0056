"""Which page of a list a request asks for, and the token of the next one (host contract 4.3.3)."""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from devhost.durable.management.http import Request
from devhost.durable.records import Status
from devhost.durable.store.contract import InstanceFilter
from devhost.durable.texts import parse_utc

TOKEN_HEADER = "x-ms-continuation-token"
_DEFAULT_SIZE = 100
_NUMBER = re.compile(r"-?[0-9]{1,9}")
_STATUSES = {status.value: status for status in Status} | {str(status.number): status for status in Status}


@dataclass(frozen=True)
class Page:
    """`size` entries from `first_id` on; a negative size is a mistake of the caller."""

    size: int
    first_id: str


def parse_page(request: Request) -> Page:
    """Return the page; a `top` that is no number means the default, a token that is none is an id as it stands."""
    found = _NUMBER.fullmatch(request.parameter("top") or "")
    return Page(int(found[0]) if found else _DEFAULT_SIZE, _read_token(request.headers.get(TOKEN_HEADER, "")))


def next_page(ids: Sequence[str], page: Page) -> dict[str, str]:
    """Return the headers that lead to the next page: none when these ids, read one too many, end the list."""
    if len(ids) <= page.size:
        return {}
    return {TOKEN_HEADER: base64.b64encode(ids[page.size].encode()).decode()}


def parse_filter(request: Request) -> InstanceFilter:
    """Return the wanted instances; statuses and dates that cannot be read are left out, as on the real host."""
    names = [name for value in request.query.get("runtimestatus", ()) for name in value.split(",")]
    return InstanceFilter(
        prefix=request.parameter("instanceidprefix") or "",
        statuses=frozenset(_STATUSES[name] for name in names if name in _STATUSES),
        created_from=parse_moment(request, "createdtimefrom"),
        created_to=parse_moment(request, "createdtimeto"),
    )


def parse_moment(request: Request, name: str) -> datetime | None:
    """Return the moment that a query parameter names, or None when it names none."""
    try:
        return parse_utc(request.parameter(name) or "")
    except ValueError:
        return None


def _read_token(token: str) -> str:
    try:
        return base64.b64decode(token, validate=True).decode()
    except ValueError:
        return token
