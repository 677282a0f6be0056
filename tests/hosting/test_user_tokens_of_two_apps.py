"""Two apps in one process, each with the sign-in and the exchange of its own, and a third without one."""

from __future__ import annotations

import time

import pytest
from agent_framework import Agent, tool

from hosting.principal import Principal, easy_auth
from hosting.tools import current
from hosting.user_tokens import UserToken, UserTokenError, on_behalf_of
from tests.support.clerk import ClerksClient
from tests.support.identity_provider import GRAPH
from tests.support.mailer import SIGN_IN, of_platform
from tests.support.owned_app import RUN, OwnedApp


class Exchange:
    """An exchange whose tokens have its name."""

    sign_in = ("Here", SIGN_IN)

    def __init__(self, name: str) -> None:
        self._name = name

    def lasts_until(self, token: str, principal: Principal, now: float) -> float:
        """Return an end that is far away."""
        return now + 1_000

    def of_user(self, token: str, principal: Principal, scope: str) -> UserToken:
        """Return a token."""
        return UserToken(f"{self._name} for the user", time.time() + 1_000)

    def of_app(self, scope: str) -> UserToken:
        """Return a token."""
        return UserToken(f"{self._name} for the app", time.time() + 1_000)


@tool
async def ask(n: str) -> str:
    """Say what the token is."""
    try:
        return (await current().user_token(GRAPH, or_app=True)).value
    except UserTokenError as error:
        return error.reason


@pytest.mark.behaviour("user-tokens.of-the-caller")
async def test_each_app_of_a_process_exchanges_by_its_own_provider() -> None:
    """Whichever was made last; an app without `on_behalf_of` has none, also for the app's own identity."""
    resolver = easy_auth({"WEBSITE_AUTH_ENABLED": "True"})
    resolvers = [on_behalf_of(resolver, Exchange("first")), on_behalf_of(resolver, Exchange("second")), resolver]
    apps = [OwnedApp(each, agent=Agent(ClerksClient(), name="Clerk", tools=[ask])) for each in resolvers]
    answers = [
        await app.ask(None, "POST", RUN, headers=of_platform(token), json={"message": "call ask 1"})
        for app in apps
        for token in ("a.b.c", None)
    ]

    assert [answer.json()["response"].partition("told: ")[2] for answer in answers] == [
        *("first for the user", "first for the app"),
        *("second for the user", "second for the app"),
        *("not_set_up", "not_set_up"),
    ]
