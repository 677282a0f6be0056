"""An agent whose tools act with the rights of the user, and the sign-ins of its app at a provider of ours."""

from __future__ import annotations

import base64
import json
from typing import Any

from agent_framework import Agent, tool

from hosting.bearer import bearer_token
from hosting.entra import EntraTokens, entra
from hosting.principal import PrincipalResolver, easy_auth
from hosting.tools import current, idempotent
from hosting.user_tokens import OnBehalfOf, UserTokenError, on_behalf_of
from tests.support.clerk import ClerksClient
from tests.support.identity_provider import ADA, APP, GRAPH, PROOF, TENANT, IdentityProvider

SIGN_IN = "https://app.example/.auth/login/aad"


def mailer(provider: IdentityProvider, served: list[str], client: ClerksClient | None = None) -> Agent[Any]:
    """Return the agent; `served` gets whom the service of each call took for its caller."""

    def serve(token: str) -> str:
        served.append(provider.user_of(token))
        return served[-1]

    @idempotent
    @tool
    async def mail(n: str) -> str:
        """Act as the user, who may come back for it."""
        token = await current().user_token(GRAPH)
        return f"{n} by {serve(token.value)}"

    @tool
    async def once(n: str) -> str:
        """Act as the user, or not at all."""
        try:
            token = await current().user_token(GRAPH)
        except UserTokenError as error:
            return f"{n} not sent: {error.reason}"
        return f"{n} by {serve(token.value)}"

    @tool
    async def either(n: str) -> str:
        """Act as the user, or as the app."""
        token = await current().user_token(GRAPH, or_app=True)
        return f"{n} by {serve(token.value)} {token!r}"

    @tool
    async def careless(n: str) -> Any:
        """Give the token to the model."""
        return await current().user_token(GRAPH)

    @tool
    async def other(n: str) -> str:
        """Ask for the audience that the call names."""
        return str(await current().user_token(n))

    @idempotent
    @tool
    async def later(n: str) -> str:
        """Ask a person for a moment, and then act as the user."""
        day = await current().ask("Which day?", seconds=1.0, default="today")
        token = await current().user_token(GRAPH)
        return f"{n} {day} by {serve(token.value)}"

    return Agent(
        client or ClerksClient(), "Do as told.", name="Clerk", tools=[mail, once, either, careless, other, later]
    )


def exchange(provider: IdentityProvider) -> EntraTokens:
    return entra(APP, TENANT, sign_in_url=SIGN_IN, authority=provider.authority, assertion=lambda: PROOF)


def by_bearer(provider: IdentityProvider) -> OnBehalfOf:
    """Return the sign-in by a bearer token."""
    resolver = bearer_token(provider.issuer, APP, provider.keys, id_claim="oid")
    return _made(on_behalf_of(resolver, exchange(provider)))


def by_platform(provider: IdentityProvider) -> OnBehalfOf:
    """Return the sign-in by App Service Authentication."""
    return _made(on_behalf_of(easy_auth({"WEBSITE_AUTH_ENABLED": "True"}), exchange(provider)))


def _made(resolver: PrincipalResolver) -> OnBehalfOf:
    assert isinstance(resolver, OnBehalfOf)
    return resolver


def bearer(token: str) -> dict[str, str]:
    """Return the header of a client."""
    return {"authorization": f"Bearer {token}"}


def of_platform(token: str | None, user: str = ADA, tenant: str = TENANT) -> dict[str, str]:
    """Return the headers that the platform sets for a user, with their token where its token store is on."""
    claims = [{"typ": "tid", "val": tenant}, {"typ": "oid", "val": user}]
    document = {"auth_typ": "aad", "name_typ": "name", "role_typ": "roles", "claims": claims}
    encoded = base64.b64encode(json.dumps(document).encode()).decode()
    headers = {"x-ms-client-principal": encoded, "x-ms-client-principal-idp": "aad"}
    return headers if token is None else {**headers, "x-ms-token-aad-access-token": token}
