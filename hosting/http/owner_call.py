"""Requests of an owner about a thread: sharing and assigning it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from hosting.core.request.fields import OWNER_FIELDS, read_principal, read_text
from hosting.core.request.strict_json import Schema
from hosting.core.thread.run_request import GrantedAccess
from hosting.errors import InvalidFieldError
from hosting.http.run_call import JsonBody, RawRequest
from hosting.principal import Principal

GRANT_FIELDS: Mapping[str, Schema] = {
    **OWNER_FIELDS,
    "access": {"type": "string", "enum": ["read", "run"], "description": "read, or run (to send messages too)."},
}
GRANT = JsonBody(GRANT_FIELDS, tuple(GRANT_FIELDS), '{"issuer": "...", "id": "...", "access": "read"}')
OWNER = JsonBody(OWNER_FIELDS, tuple(OWNER_FIELDS), '{"issuer": "...", "id": "..."}')


def parse_grant(call: RawRequest, most_bytes: int) -> tuple[Principal, GrantedAccess]:
    """Return the person to share a thread with, and the access; raise a `HostingError` otherwise."""
    fields = GRANT.read(call, most_bytes)
    access = read_text("access", fields.get("access"))
    if access not in ("read", "run"):
        raise InvalidFieldError(f"The field 'access' is {access[:80]!r}. Send 'read' or 'run'.")
    return read_principal(fields), cast(GrantedAccess, access)


def parse_owner(call: RawRequest, most_bytes: int) -> Principal:
    """Return the new owner of a thread; raise a `HostingError` otherwise."""
    return read_principal(OWNER.read(call, most_bytes))
