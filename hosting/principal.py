"""Callers: the principal of a request, and the owner of its threads.

Theory. An app with `principal=` asks this one question of every request, before anything else is read. Whoever has the
answer has an owner: a digest of issuer and id, which stands in the name of every entity, log, archive and attachment of
theirs. So another's thread is not forbidden but does not exist, and no check can be forgotten.
"""

from __future__ import annotations

import base64
import hashlib
import inspect
import json
import logging
import os
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import msgspec
from msgspec import Struct

from hosting.errors import ConfigurationError, UnauthorizedError
from hosting.names import APP
from hosting.ports import ClockClient
from hosting.settings import is_hosted, signs_users_in
from hosting.start_up import warn

logger = logging.getLogger(__name__)

_MOST_CHARACTERS = 512
_DIGEST_BYTES = 10


@dataclass(frozen=True)
class Principal:
    """A signed-in person: `id` is unique and final for its `issuer`, `name` is for people to read.

    Two with the same issuer and id are the same person, whatever else they bear. Raises `ValueError` for an issuer, an
    id, a name or a role that is no text of 1 to 512 printable characters.
    """

    issuer: str
    id: str
    name: str | None = None
    roles: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # A text is a sequence of texts too: "admin" would be five roles.
        given: object = self.roles
        roles: Iterable[object] = ("",) if isinstance(given, str) else self.roles
        names = [("issuer", self.issuer), ("id", self.id), *(("role", role) for role in roles)]
        for part, value in names if self.name is None else [*names, ("name", self.name)]:
            if not isinstance(value, str) or not 0 < len(value) <= _MOST_CHARACTERS or not value.isprintable():
                raise ValueError(f"A principal's {part} must be 1 to {_MOST_CHARACTERS} printable characters.")
        object.__setattr__(self, "roles", tuple(self.roles))

    @cached_property
    def owner(self) -> str:
        """The name that this principal's threads lie under: 16 characters, a digest of issuer and id."""
        digest = hashlib.sha256(json.dumps([self.issuer, self.id]).encode()).digest()
        return base64.b32encode(digest[:_DIGEST_BYTES]).decode().lower()


class Caller(Struct, frozen=True):
    """The sender of a request, and the owner of its threads: the sender, or another one by a `grant`.

    Without a `principal` it is the app, for its own threads. `client` is the durable client of the request's
    invocation. `epoch` is the life of the thread for which the grant was given.
    """

    client: ClockClient
    principal: Principal | None = None
    owner: str = APP
    grant: str | None = None
    epoch: int | None = None

    @classmethod
    def of(cls, client: ClockClient, principal: Principal | None) -> Caller:
        """Return the caller as the owner of these threads; the app's own threads need no sign-in."""
        return cls(client, principal, owner_of(principal))


def owner_of(principal: Principal | None) -> str:
    """Return the owner of the principal's threads; the app without a sign-in."""
    return APP if principal is None else principal.owner


@dataclass(frozen=True)
class PrincipalRequest:
    """The parts of a request that identify its sender.

    `headers` are by name in lower case; one that was sent twice has both values, joined by a comma. `route` is its verb
    and path as http-routes.md has them, `agent` the agent that it names. With `is_mcp` it is a call of an MCP tool:
    the headers are those of the client's transport.
    """

    headers: Mapping[str, str] = field(repr=False)
    route: str
    agent: str | None = None
    is_mcp: bool = False


PrincipalResolver = Callable[[PrincipalRequest], "Principal | Awaitable[Principal | None] | None"]
"""Returns the sender of a request, or None. A synchronous one runs on the event loop and must not block.

It may raise a `HostingError` for its caller to read; any other exception is a defect and answered 500.
"""


async def resolve(resolver: PrincipalResolver, request: PrincipalRequest) -> Principal:
    """Return the sender; raises `UnauthorizedError` without one, and the resolver's own exceptions."""
    found = resolver(request)
    principal = await found if inspect.isawaitable(found) else found
    if principal is None:
        raise UnauthorizedError("This app requires you to sign in, and the request is not signed in. Sign in.")
    if not isinstance(principal, Principal):
        raise TypeError(f"The app's principal= returned a {type(principal).__name__}. Return a Principal or None.")
    return principal


def sent_once(headers: Mapping[str, str], name: str) -> str | None:
    """Return the value of a header, empty where it was not sent, and None where it was sent more than once.

    `name` is in lower case. It is for headers whose values have no comma: one stands for two that were joined. Two that
    differ in letter case are two.
    """
    values = [value for given, value in headers.items() if given.lower() == name]
    value = values[0].strip() if values else ""
    return None if len(values) > 1 or "," in value else value


def readable(values: Iterable[object]) -> tuple[str, ...]:
    """Return, each once, those that may be a name or a role: texts of 1 to 512 printable characters."""
    texts = (value for value in values if isinstance(value, str))
    return tuple(dict.fromkeys(text for text in texts if 0 < len(text) <= _MOST_CHARACTERS and text.isprintable()))


class _Claim(msgspec.Struct):
    typ: str
    val: str


class _ClientPrincipal(msgspec.Struct):
    """The content of X-MS-CLIENT-PRINCIPAL."""

    claims: list[_Claim]
    auth_typ: str | None = None
    name_typ: str | None = None
    role_typ: str | None = None

    def claim(self, *types: str) -> str:
        """Return the one value of the claims of these types, empty without one; `ValueError` where two differ."""
        values = set(self.all_of(*types))
        if len(values) > 1:
            raise ValueError(types[-1])
        return values.pop() if values else ""

    def all_of(self, *types: str | None) -> list[str]:
        """Return the values of all claims of these types."""
        return [claim.val for claim in self.claims if claim.typ in types]


_decode = msgspec.json.Decoder(_ClientPrincipal).decode

_HEADER = "x-ms-client-principal"
_MOST_HEADER_CHARACTERS = 65_536
_PROVIDER = re.compile(r"[a-z0-9._-]{1,64}")
_TENANT = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

# App Service maps some claims of a token to these longer names, before the app sees them.
_OBJECT_ID = ("http://schemas.microsoft.com/identity/claims/objectidentifier", "oid")
_TENANT_ID = ("http://schemas.microsoft.com/identity/claims/tenantid", "tid")
_SUBJECT = ("http://schemas.xmlsoap.org/ws/2005/05/identity/claims/nameidentifier", "sub")


def easy_auth(environ: Mapping[str, str] = os.environ) -> PrincipalResolver:
    """Return the resolver that believes App Service Authentication ("Easy Auth"), which signs users in before the app.

    The platform takes the X-MS-CLIENT-PRINCIPAL headers away from every request and sets its own. Where it is off,
    anybody could send them: unless `environ` has WEBSITE_AUTH_ENABLED=True, which the platform sets, nobody is signed
    in, and a warning says so where a host runs the app.

    For Entra ID the issuer is the tenant's, as in its tokens of version 2, and the id the user's object id: the same
    principal as `bearer_token` of that tenant with `id_claim="oid"`. Every other provider's is
    `easy-auth/PROVIDER/ISS`, and the id its subject. Roles are the claims of the principal's role type and those named
    `roles`; where any tenant may sign in, each tenant's administrator hands them out. Headers that are missing, sent
    twice, contradict each other or cannot be read sign nobody in.
    """
    if signs_users_in(environ):
        return _signed_in_by_platform
    if is_hosted(environ):
        warn(
            "principal=easy_auth() answers every request 401: WEBSITE_AUTH_ENABLED is not True, so App Service "
            "Authentication is off here. Turn it on for the function app; on the local host, use --principal NAME. "
            "See docs/guides/security.md."
        )
    return _signed_in_by_nobody


def _signed_in_by_nobody(request: PrincipalRequest) -> None:
    return None


def _signed_in_by_platform(request: PrincipalRequest) -> Principal | None:
    encoded, given_id, provider = (sent_once(request.headers, f"{_HEADER}{end}") for end in ("", "-id", "-idp"))
    if not encoded or given_id is None or provider is None or len(encoded) > _MOST_HEADER_CHARACTERS:
        return None
    try:
        found = _decode(base64.b64decode(encoded, validate=True))
        issuer, ids = _identity(found, provider)
        if given_id and ids and given_id not in ids:
            raise ValueError("no claim has the id")
        names = (*found.all_of("name"), *found.all_of(found.name_typ), request.headers.get(f"{_HEADER}-name"))
        name = next(iter(readable(names)), None)
        return Principal(issuer, [*ids, given_id][0], name, readable(found.all_of(found.role_typ, "roles")))
    except (ValueError, msgspec.MsgspecError, RecursionError) as error:
        logger.debug("A principal of App Service Authentication was refused: %s", type(error).__name__)
        return None


def _identity(found: _ClientPrincipal, given_provider: str) -> tuple[str, list[str]]:
    """Return the issuer, and the ids in the claims, best first; `ValueError` for an unknown issuer.

    An issuer that begins with `https:` is an Entra tenant's: no name of a provider has a colon or a slash. Google is
    known to name itself with and without the scheme.
    """
    providers = {name.lower() for name in (found.auth_typ, given_provider) if name}
    provider = providers.pop() if len(providers) == 1 else ""
    if not _PROVIDER.fullmatch(provider):
        raise ValueError("no provider, or two")
    token_issuer, subject = found.claim("iss").removeprefix("https://"), found.claim(*_SUBJECT)
    if provider != "aad":
        return "/".join(filter(None, ("easy-auth", provider, token_issuer))), [subject] if subject else []
    tenant = found.claim(*_TENANT_ID).lower()
    if tenant:
        if not _TENANT.fullmatch(tenant):
            raise ValueError("no tenant's id")
        issuer = f"https://login.microsoftonline.com/{tenant}/v2.0"
    elif token_issuer:
        issuer = f"easy-auth/aad/{token_issuer}"
    else:
        raise ValueError("no tenant")
    return issuer, [value for value in (found.claim(*_OBJECT_ID), subject) if value]


def checked_resolver(given: PrincipalResolver | None) -> PrincipalResolver | None:
    """Return the app's `principal`; raises `ConfigurationError` for a value that cannot be called."""
    if given is not None and not callable(given):
        raise ConfigurationError(
            f"principal is a {type(given).__name__}. Give a function from a PrincipalRequest to a Principal or None, "
            "such as easy_auth() or bearer_token(...)."
        )
    return given
