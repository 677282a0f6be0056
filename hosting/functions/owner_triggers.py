"""The HTTP triggers of an app that knows the caller: grants, shared threads, and all that one owner has."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from hosting.core.request.contents import limits_of
from hosting.core.services import Services
from hosting.functions.answering import Served, serves
from hosting.http import owner_routes
from hosting.http.exports import Exports
from hosting.http.owner_call import parse_grant, parse_owner
from hosting.http.parameters import read_cursor, read_limit
from hosting.http.replies import Reply, Streamed, json_reply, thread_headers
from hosting.http.request import HttpRequest
from hosting.http.runs import Starting
from hosting.http.thread_replies import done_reply, grant_fields, grants_reply, owner_erasure_reply
from hosting.settings import Settings


def register_grants(served: Served, services: Services, settings: Settings) -> None:
    """Register how threads are shared and handed over, and the runs on shared ones."""
    sharing, starting = services.sharing, Starting(services)

    @serves(served, owner_routes.SHARED_RUN)
    async def start(request: HttpRequest) -> Reply | Streamed:
        return await starting.reply(request, request.agent, limits_of(request.agent.agent, settings))

    @serves(served, owner_routes.GRANTS)
    async def given(request: HttpRequest) -> Reply:
        return grants_reply(request.address, await sharing.given(request.address), request.base_url)

    @serves(served, owner_routes.SHARE)
    async def share(request: HttpRequest) -> Reply:
        address = request.address
        principal, access = await request.parsed(lambda raw: parse_grant(raw, settings.max_body_bytes))
        grant = await sharing.give(address, principal, access)
        return json_reply(201, grant_fields(address, grant, request.base_url), thread_headers(address.thread_id))

    @serves(served, owner_routes.WITHDRAW)
    async def withdraw(request: HttpRequest) -> Reply:
        address = request.address
        await sharing.withdraw(address, request.received.path_params["grant_id"])
        return done_reply(address.thread_id)

    @serves(served, owner_routes.ASSIGN)
    async def assign(request: HttpRequest) -> Reply:
        address = request.address
        principal = await request.parsed(lambda raw: parse_owner(raw, settings.max_body_bytes))
        is_deleted = await services.owners.assign(address, principal, request.client, settings.wait_seconds)
        reply = done_reply(address.thread_id)
        return reply if is_deleted else replace(reply, status=202, headers={**reply.headers, "retry-after": "1"})


def register_owners(served: Served, services: Services, wait_seconds: float, exports: Exports) -> None:
    """Register the routes of everything that one owner has; a deletion is waited for as long as a run is."""
    owners = services.owners
    data = [part for feature in served.features if (part := feature.owner_data()) is not None]

    @serves(served, owner_routes.ME)
    async def me(request: HttpRequest) -> Reply:
        principal = request.caller.principal
        assert principal is not None
        return json_reply(200, {"owner": principal.owner, **asdict(principal)})

    @serves(served, owner_routes.my_export({part.member: part.type for part in data}))
    async def export(request: HttpRequest) -> Streamed:
        owner, limit = request.caller.owner, read_limit(request.query)
        agent, _, thread_id = (read_cursor(request.query) or "").partition("~")
        members: dict[str, Any] = {"owner": owner}
        for part in data:
            members[part.member] = part.empty if agent else await part.export(owner, request.client)
        return await exports.owner(owner, (agent, thread_id), limit, request.client, members)

    @serves(served, owner_routes.ERASE_ME)
    async def erase(request: HttpRequest) -> Reply:
        owner, client, is_left = request.caller.owner, request.client, True
        beginning = [part for part in data if part.begins_runs]
        while is_left:
            for part in beginning:
                await part.erase(owner, client)
            erased = await owners.erase(owner, client, wait_seconds)
            is_left = erased.is_complete and any([await part.export(owner, client) for part in beginning])
        if erased.is_complete:
            for feature in served.features:
                await feature.forget_owner(owner, client)
            for part in data:  # last: no run can bring anything more
                if not part.begins_runs:
                    await part.erase(owner, client)
        return owner_erasure_reply(owner, erased, served.plan.names)
