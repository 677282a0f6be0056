"""Requests of an owner about their own data: sharing a thread, assigning it, and an agent's facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from hosting.core.request.fields import OWNER_FIELDS, read_principal, read_text
from hosting.core.request.strict_json import Schema
from hosting.core.thread.run_request import GrantedAccess
from hosting.errors import InvalidFieldError
from hosting.http.run_call import JsonBody, RawRequest
from hosting.memory import LONGEST_FACT, fact_refusal
from hosting.principal import Principal

GRANT_FIELDS: Mapping[str, Schema] = {
    **OWNER_FIELDS,
    "access": {"type": "string", "enum": ["read", "run"], "description": "read, or run (to send messages too)."},
}
FACT_FIELDS: Mapping[str, Schema] = {
    "text": {"type": "string", "minLength": 1, "maxLength": LONGEST_FACT, "description": "One short sentence."}
}
GRANT = JsonBody(GRANT_FIELDS, tuple(GRANT_FIELDS), '{"issuer": "...", "id": "...", "access": "read"}')
FACT = JsonBody(FACT_FIELDS, tuple(FACT_FIELDS), '{"text": "Drinks tea without milk."}')
OWNER = JsonBody(OWNER_FIELDS, tuple(OWNER_FIELDS), '{"issuer": "...", "id": "..."}')


def parse_fact(call: RawRequest, most_bytes: int) -> str:
    """Return the fact to remember; raise a `HostingError` of `errors.REQUEST_ERRORS` otherwise."""
    text = read_text("text", FACT.read(call, most_bytes).get("text"))
    if refusal := fact_refusal(text):
        raise InvalidFieldError(f"The field 'text' is refused. {refusal}")
    return text.strip()


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
