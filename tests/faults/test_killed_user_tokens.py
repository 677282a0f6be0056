"""Runs with their user's rights in real processes: those of a clock, and those that a kill left without a token."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hosting.names import new_id
from tests.faults.killed_app import KILLED, KilledApp
from tests.support.canary import holds
from tests.support.carriers import Api
from tests.support.identity_provider import ADA, BOB, IdentityProvider
from tests.support.kept_in import KINDS, kept_in
from tests.support.mailer import bearer

pytestmark = KILLED

CLERKS = "/api/agents/Clerk"
MAILER = """
import os

import jwt
from tests.support.mailer import by_bearer, mailer


class Elsewhere:
    issuer, keys, authority = (os.environ[name] for name in ("ISSUER", "KEYS", "AUTHORITY"))

    def user_of(self, token):
        return jwt.decode(token, options={"verify_signature": False})["oid"]


class Served(list):
    def append(self, user):
        super().append(user)
        note(f"mail {user}")


app = AgentFunctionApp(agents=[mailer(Elsewhere(), Served())], principal=by_bearer(Elsewhere()))
"""
"""An agent that acts with the rights of its user, by a provider in another process."""


class Users:
    """A provider, an app, and the two users as its clients."""

    def __init__(self, folder: Path, stores: dict[str, str], provider: IdentityProvider) -> None:
        elsewhere = {"ISSUER": provider.issuer, "KEYS": provider.keys, "AUTHORITY": provider.authority}
        self.app = KilledApp(folder, stores, MAILER, SSL_CERT_FILE=str(provider.certificate), **elsewhere)
        self.provider = provider
        self.thread_id = new_id()

    @asynccontextmanager
    async def signed_in(self, **environ: str) -> AsyncIterator[Api]:
        """Run a host, and yield how Ada reaches it."""
        async with self.app.running(**environ) as api:
            api.http.headers.update(bearer(self.provider.token(ADA)))
            yield api

    async def goes_on(self, api: Api) -> tuple[list[str], int, str]:
        """Return what was done before the sign-in, how Bob's is refused, and what the agent says after Ada's."""

        async def sign_in() -> Any:
            waiting = (await api.http.get(f"{CLERKS}/threads/{self.thread_id}/approvals")).json()
            return next((each for each in waiting.get("approvals", []) if each["kind"] == "authorization"), None)

        place = f"{CLERKS}/threads/{self.thread_id}/approvals/{(await self.app.until(sign_in))['id']}"
        said, of_bob = self.app.said, bearer(self.provider.token(BOB))
        refused = await api.http.post(place, json={"approved": True}, headers=of_bob)
        done = await api.http.post(place, json={"approved": True})
        return said, refused.status_code, done.json()["response"]


@pytest.fixture
def users(tmp_path: Path, stores: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Users]:
    """Both users; at the end no file has a token."""
    provider = IdentityProvider(tmp_path_factory.mktemp("provider"))
    yield Users(tmp_path, stores, provider)
    provider.stop()
    assert not holds(tmp_path, provider.canary.encode())


@pytest.mark.behaviour("user-tokens.survives-kill")
@pytest.mark.behaviour("user-tokens.of-runs-that-nobody-waits-for")
@pytest.mark.parametrize(
    ("point", "waits", "stores"),
    kept_in(*KINDS, first=("after 2", False), rest=[("after 2", True), ("before 3", True), ("before 3", False)]),
    indirect=["stores"],
)
async def test_a_run_that_another_process_takes_up_waits_for_its_user(users: Users, point: str, waits: bool) -> None:
    """Around the begin of the call and its result. Bob's token does not help Ada's run, and nobody printed one."""
    body = {"message": "call mail 5", "thread_id": users.thread_id, "wait_for_response": waits}
    of_ada = bearer(users.provider.token(ADA))
    await users.app.killed_by(lambda api: api.http.post(f"{CLERKS}/run", json=body, headers=of_ada), point)
    printed, before = users.app.host.printed_so_far(), users.app.said

    async with users.signed_in() as api:
        went_on = await users.goes_on(api)
        printed += users.app.host.printed_so_far()

    assert went_on == (before, 404, f"told: 5 by {ADA}")
    assert set(users.app.said) == {f"mail {ADA}"}
    assert users.provider.canary not in printed


async def by_schedule(users: Users, api: Api) -> None:
    at = (datetime.now(UTC) + timedelta(seconds=1)).isoformat()
    body = {"at": at, "message": "call mail 5", "thread_id": users.thread_id}
    assert (await api.http.post(f"{CLERKS}/schedules", json=body)).status_code == 201


async def by_default(users: Users, api: Api) -> None:
    """Have the run ask a person, who does not answer."""
    answer = await api.http.post(f"{CLERKS}/run", json={"message": "call later 5", "thread_id": users.thread_id})
    assert answer.json()["pending_approvals"][0]["kind"] == "ask"


@pytest.mark.behaviour("user-tokens.of-runs-that-nobody-waits-for")
@pytest.mark.parametrize(("begin", "said"), [(by_schedule, "5"), (by_default, "5 today")])
async def test_a_run_that_a_clock_begins_waits_for_its_user(
    users: Users, begin: Callable[[Users, Api], Awaitable[None]], said: str
) -> None:
    """Though the user was there a moment ago, in the same process."""
    async with users.signed_in() as api:
        await begin(users, api)
        went_on = await users.goes_on(api)

    assert went_on == ([], 404, f"told: {said} by {ADA}")
    assert users.app.said == [f"mail {ADA}"]
