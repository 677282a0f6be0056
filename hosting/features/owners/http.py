"""The routes of an app that knows its callers, with their bodies and handlers (docs/guides/security.md).

Theory. A shared thread has every route that a thread has, with the grant instead of the agent and the id. What
only an owner may do is there too, and refused, so that a route of a thread is never unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from types import GenericAlias
from typing import Any, Literal, NotRequired, cast

from msgspec.structs import replace
from typing_extensions import TypedDict

from hosting import errors
from hosting.core.hooks import ThreadData
from hosting.core.outcome import ThreadIds
from hosting.core.request.contents import limits_of
from hosting.core.request.fields import read_text
from hosting.core.thread.open_runs import Grant
from hosting.core.thread.run_request import LONGEST_NAME, GrantedAccess
from hosting.features.owners.exports import OwnerExports
from hosting.features.owners.owners import ErasedOwner, Owners
from hosting.features.owners.sharing import Sharing, UnknownGrantError, grant_id
from hosting.http import places, routes
from hosting.http.bodies import Erasure, Export, ExportedAttachment, with_members
from hosting.http.parameters import CURSOR, LIMIT, in_path, read_cursor, read_limit
from hosting.http.places import Mount
from hosting.http.refusals import RETRY_AFTER_SECONDS
from hosting.http.replies import Reply, Streamed, json_reply, thread_headers, thread_ids
from hosting.http.request import Bound, HttpRequest
from hosting.http.route import LOG, STORES, Place, ResponseSpec, Route, ok
from hosting.http.run_call import JsonBody, RawRequest
from hosting.http.runs import Starting
from hosting.http.thread_replies import done_reply, erasure_fields
from hosting.http.threads import erasure_body, export_body
from hosting.names import Address
from hosting.plan import Plan
from hosting.ports import iso
from hosting.principal import Principal
from hosting.settings import Settings
from hosting.strict_json.parsing import Schema


class ShownGrant(TypedDict):
    """A person with access to a thread; `url` is the thread's URL for that person, `granted_at` is RFC 3339."""

    grant: str
    issuer: str
    id: str
    access: Literal["read", "run"]
    granted_at: str
    url: str


class GrantList(ThreadIds):
    """The people with access to a thread, the first grant first."""

    grants: list[ShownGrant]


class Me(TypedDict):
    """The caller, and the name of the owner of their threads."""

    owner: str
    issuer: str
    id: str
    name: str | None
    roles: list[str]


class OwnerExport(TypedDict):
    """A page of everything stored about an owner; `next_cursor` reads the next page.

    The first page has all that is stored besides the threads.
    """

    owner: str
    threads: list[Export]
    next_cursor: str | None


class OwnerErasure(TypedDict):
    """The receipts of an owner's deleted threads; the status is "accepted" until all are deleted.

    `unreached` are the agents of these threads that the app no longer has: data that their own context providers
    stored elsewhere was not erased. The numbers are of what was deleted besides the threads, by this request.
    """

    owner: str
    status: Literal["deleted", "accepted"]
    threads: list[Erasure]
    unreached: NotRequired[list[str]]


OWNER_FIELDS: Mapping[str, Schema] = {
    "issuer": {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME, "description": "The sign-in's issuer."},
    "id": {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME, "description": "The person's id there."},
}
GRANT_FIELDS: Mapping[str, Schema] = {
    **OWNER_FIELDS,
    "access": {"type": "string", "enum": ["read", "run"], "description": "read, or run (to send messages too)."},
}
GRANT = JsonBody(GRANT_FIELDS, tuple(GRANT_FIELDS), '{"issuer": "...", "id": "...", "access": "read"}')
OWNER = JsonBody(OWNER_FIELDS, tuple(OWNER_FIELDS), '{"issuer": "...", "id": "..."}')


_GRANTS = places.THREAD.below("grants")

GRANTS = Route(
    "grants",
    "GET",
    _GRANTS,
    "List the people a thread is shared with",
    ok(GrantList),
    LOG,
    is_for_shared=False,
)
SHARE = Route(
    "grant",
    "POST",
    _GRANTS,
    "Share a thread with another person",
    (ResponseSpec(201, "The grant, and the URL at which the person finds the thread.", ShownGrant),),
    (errors.ThreadDeletingError, errors.ThreadDeletedError, errors.TooManyGrantsError, *LOG),
    body=GRANT,
    is_for_shared=False,
    needs="own",
)
WITHDRAW = Route(
    "grant_withdraw",
    "DELETE",
    _GRANTS.below("{grant_id}", in_path("grant_id", "The grant.", pattern=None)),
    "Stop sharing a thread with a person",
    (ResponseSpec(204, "The grant is withdrawn."),),
    LOG,
    is_for_shared=False,
    needs="own",
)
ASSIGN = Route(
    "assign",
    "POST",
    places.THREAD.below("assign"),
    "Assign a thread without an owner to an owner",
    (
        ResponseSpec(204, "Assigned, under the same id."),
        ResponseSpec(202, "Assigned. The old copy is still being deleted.", headers=(routes.RETRY_AFTER,)),
    ),
    (errors.InvalidThreadIdError, errors.ThreadChangedError, *routes.WHOLE, errors.AttachmentsUnavailableError),
    body=OWNER,
    is_for_shared=False,
    needs="admin",
)
_ME = places.APP.below("owners/me")
ME = Route("me", "GET", _ME, "Show who is signed in", ok(Me), needs="self")


def my_export(thread: Any, members: Mapping[str, Any]) -> Route:
    """Return the export of the caller's data: `thread` is the body of each, and features add these members."""
    body = with_members(OwnerExport, {"threads": GenericAlias(list, (thread,)), **members})
    return Route(
        "my_export",
        "GET",
        _ME.below("export"),
        "Export everything that is stored about the caller",
        ok(body),
        (*routes.WHOLE, errors.AttachmentsUnavailableError),
        (LIMIT, CURSOR),
    )


def my_erasure(thread: Any, counted: Sequence[str] = ()) -> Route:
    """Return the erasure of the caller's data: `thread` is the body of each receipt, `counted` what else it counts."""
    numbers = dict.fromkeys(counted, NotRequired[int])
    body = with_members(OwnerErasure, {"threads": GenericAlias(list, (thread,)), **numbers})
    return Route(
        "my_erasure",
        "DELETE",
        _ME,
        "Delete everything that is stored about the caller",
        (
            ResponseSpec(200, "Everything is deleted.", body),
            ResponseSpec(202, "In progress. Send it again.", body, (routes.RETRY_AFTER,)),
        ),
        STORES,
        needs="own",
    )


_GRANT = in_path("grant", "The grant that its owner gave you: `grant` of the answer.", pattern=None)
_OF_GRANTS = (errors.UnknownAgentError, errors.UnknownThreadError, UnknownGrantError, errors.ForbiddenError)
_SHARED = Place("http_shared", refusals=_OF_GRANTS).below("shared/{grant}", _GRANT)
SHARED = Mount(places.THREAD, _SHARED, lambda route: route.is_for_shared)
"""The threads that are shared with the caller."""
SHARED_RUN = routes.RUN.at(_SHARED.below("run"))
"""Runs the agent of such a thread, on this thread."""


class OwnerHandlers:
    """The handlers of the routes of grants, of assigned threads, and of all that one owner has."""

    def __init__(
        self,
        owners: Owners,
        sharing: Sharing,
        exports: OwnerExports,
        plan: Plan,
        settings: Settings,
        *,
        starting: Starting,
        thread_data: Sequence[ThreadData],
    ) -> None:
        """`thread_data` is what other features keep of threads: the bodies have its members."""
        self._owners = owners
        self._sharing = sharing
        self._exports = exports
        self._plan = plan
        self._settings = settings
        self._starting = starting
        members = {part.member: part.type for part in owners.exported}
        contents = {name: list[ExportedAttachment] for part in owners.exported for name in part.contents}
        self._my_export = my_export(export_body(thread_data), members | contents)
        self._my_erasure = my_erasure(erasure_body(thread_data), [part.member for part in owners.counted])

    def bound(self) -> Sequence[Bound]:
        """Return the routes with their handlers."""
        return (
            Bound(GRANTS, self._given),
            Bound(SHARE, self._share),
            Bound(WITHDRAW, self._withdraw),
            Bound(ASSIGN, self._assign),
            Bound(ME, self._me),
            Bound(self._my_export, self._export),
            Bound(self._my_erasure, self._erase),
            Bound(SHARED_RUN, self._run),
        )

    async def _run(self, request: HttpRequest) -> Reply | Streamed:
        agent = request.agent
        return await self._starting.reply(request, agent, limits_of(agent, self._settings))

    async def _given(self, request: HttpRequest) -> Reply:
        address = request.address
        shown = [grant_fields(address, grant, request.base_url) for grant in await self._sharing.given(address)]
        body: GrantList = {**thread_ids(address.thread_id), "grants": shown}
        return json_reply(200, body, thread_headers(address.thread_id))

    async def _share(self, request: HttpRequest) -> Reply:
        address = request.address
        principal, access = await request.parsed(lambda raw: parse_grant(raw, self._settings.max_body_bytes))
        grant = await self._sharing.give(address, principal, access)
        return json_reply(201, grant_fields(address, grant, request.base_url), thread_headers(address.thread_id))

    async def _withdraw(self, request: HttpRequest) -> Reply:
        address = request.address
        await self._sharing.withdraw(address, request.received.path_params["grant_id"])
        return done_reply(address.thread_id)

    async def _assign(self, request: HttpRequest) -> Reply:
        address = request.address
        principal = await request.parsed(lambda raw: parse_owner(raw, self._settings.max_body_bytes))
        is_deleted = await self._owners.assign(address, principal, request.caller.client, self._settings.wait_seconds)
        reply = done_reply(address.thread_id)
        return reply if is_deleted else replace(reply, status=202, headers={**reply.headers, "retry-after": "1"})

    async def _me(self, request: HttpRequest) -> Reply:
        principal = request.caller.principal
        assert principal is not None
        return json_reply(200, {"owner": principal.owner, **asdict(principal)})

    async def _export(self, request: HttpRequest) -> Streamed:
        agent, _, thread_id = (read_cursor(request.query) or "").partition("~")
        limit = read_limit(request.query)
        return await self._exports.page(request.caller, (agent, thread_id), limit)

    async def _erase(self, request: HttpRequest) -> Reply:
        """Delete everything; a deletion is waited for as long as a run is."""
        erased = await self._owners.erase(request.caller, self._settings.wait_seconds)
        return erasure_reply(request.caller.owner, erased, self._plan.names)


def parse_grant(call: RawRequest, most_bytes: int) -> tuple[Principal, GrantedAccess]:
    """Return the person to share a thread with, and the access; raise a `HostingError` otherwise."""
    fields = GRANT.read(call, most_bytes)
    access = read_text("access", fields.get("access"))
    if access not in ("read", "run"):
        raise errors.InvalidFieldError(f"The field 'access' is {access[:80]!r}. Send 'read' or 'run'.")
    return read_principal(fields), cast(GrantedAccess, access)


def parse_owner(call: RawRequest, most_bytes: int) -> Principal:
    """Return the new owner of a thread; raise a `HostingError` otherwise."""
    return read_principal(OWNER.read(call, most_bytes))


def read_principal(fields: Mapping[str, Any]) -> Principal:
    """Return the person in `OWNER_FIELDS`; raises `InvalidFieldError`."""
    issuer, who = (read_text(name, fields.get(name)) for name in OWNER_FIELDS)
    try:
        if max(len(issuer.encode(errors="replace")), len(who.encode(errors="replace"))) > LONGEST_NAME:
            raise ValueError(f"An issuer and an id that are named have at most {LONGEST_NAME} bytes.")
        return Principal(issuer, who)
    except ValueError as error:
        raise errors.InvalidFieldError(f"{error} Send those by which they sign in.") from None


def grant_fields(address: Address, grant: Grant, base_url: str) -> ShownGrant:
    """Return a grant as the thread's owner sees it."""
    name = grant_id(address, grant)
    return {
        "grant": name,
        "issuer": grant.principal.issuer,
        "id": grant.principal.id,
        "access": grant.access,
        "granted_at": iso(grant.at),
        "url": f"{base_url}/shared/{name}",
    }


def erasure_reply(owner: str, erased: ErasedOwner, agents: Mapping[str, str]) -> Reply:
    """Return the receipts of an owner's deletion, and whether it is complete; `agents` has names as written."""
    threads = [erasure_fields(agents.get(one.agent, one.agent), one, receipt) for one, receipt in erased.threads]
    body: OwnerErasure = {"owner": owner, "status": "deleted" if erased.is_complete else "accepted", "threads": threads}
    if erased.unreached:
        body["unreached"] = list(erased.unreached)
    return (
        json_reply(200, {**body, **erased.counts})
        if erased.is_complete
        else json_reply(202, body, {"retry-after": str(RETRY_AFTER_SECONDS)})
    )
