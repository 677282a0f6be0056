"""Runs that a clock begins, in real processes: a schedule's, a default's, and one that a kill left without a token."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from hosting.names import new_id
from tests.faults.app_process import until_dead
from tests.faults.killing_app import ClerksApp
from tests.faults.mailer_app import MAILER
from tests.support.canary import holds
from tests.support.carriers import GUARD_SECONDS
from tests.support.identity_provider import ADA, BOB, IdentityProvider
from tests.support.mailer import bearer

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("user-tokens.of-runs-that-nobody-waits-for")]

RUN = "/api/agents/Clerk/run"
ON_POSIX = pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL")


class Users:
    """A provider, an app over files, and the two users as its clients."""

    def __init__(self, folder: Path, provider: IdentityProvider) -> None:
        elsewhere = {"ISSUER": provider.issuer, "KEYS": provider.keys, "AUTHORITY": provider.authority}
        files = {name: f"sqlite:{folder / name}" for name in ("AGENT_LOG", "AGENT_ARCHIVE", "AGENT_ATTACHMENTS")}
        self.app = ClerksApp(folder, {**files, **elsewhere, "SSL_CERT_FILE": str(provider.certificate)}, MAILER)
        self.provider = provider
        self.thread_id = new_id()
        self.thread = f"/api/agents/Clerk/threads/{self.thread_id}"

    @asynccontextmanager
    async def client(self, origin: str, user: str = ADA) -> AsyncIterator[httpx.AsyncClient]:
        """Open a client that signs in as that user."""
        headers = bearer(self.provider.token(user))
        async with httpx.AsyncClient(base_url=origin, headers=headers, timeout=GUARD_SECONDS) as http:
            yield http

    async def sign_in_for(self, http: httpx.AsyncClient) -> str:
        """Return the place of the sign-in that the thread waits for, once it does."""
        while True:
            waiting = (await http.get(f"{self.thread}/approvals")).json().get("approvals") or ()
            for approval in waiting:
                if approval["kind"] == "authorization":
                    return f"{self.thread}/approvals/{approval['id']}"
            await asyncio.sleep(0.05)

    async def goes_on(self, origin: str) -> list[str]:
        """Answer the sign-in as the other user and as the run's own; return what the agent says at last."""
        async with self.client(origin, BOB) as of_bob, self.client(origin) as of_ada:
            place = await asyncio.wait_for(self.sign_in_for(of_ada), 4 * GUARD_SECONDS)
            said = [*self.app.said()]
            refused = await of_bob.post(place, json={"approved": True})
            done = await of_ada.post(place, json={"approved": True})
            return [*said, str(refused.status_code), done.json()["response"]]


@pytest.fixture
def users(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Both users; at the end no file has a token."""
    provider = IdentityProvider(tmp_path_factory.mktemp("provider"))
    yield Users(tmp_path, provider)
    provider.stop()
    assert not holds(tmp_path, provider.canary.encode())


async def end_of(http: httpx.AsyncClient, run: str) -> dict[str, Any]:
    """Return the end of a run, once it has one."""
    while (answer := await http.get(run)).status_code == 202:  # noqa: ASYNC110 - by HTTP
        await asyncio.sleep(0.05)
    return dict(answer.json())


async def by_schedule(users: Users, http: httpx.AsyncClient) -> None:
    """Make a schedule that is due in a moment."""
    at = (datetime.now(UTC) + timedelta(seconds=4)).isoformat()
    body = {"at": at, "message": "call mail 5", "thread_id": users.thread_id}
    assert (await http.post("/api/agents/Clerk/schedules", json=body)).status_code == 201


async def by_default(users: Users, http: httpx.AsyncClient) -> None:
    """Have the run ask a person, who does not answer."""
    answer = await http.post(RUN, json={"message": "call later 5", "thread_id": users.thread_id})
    assert answer.json()["pending_approvals"][0]["kind"] == "ask"


@pytest.mark.parametrize(("begin", "said"), [(by_schedule, "5"), (by_default, "5 today")])
async def test_a_run_that_a_clock_begins_waits_for_its_user(
    users: Users, begin: Callable[[Users, httpx.AsyncClient], Awaitable[None]], said: str
) -> None:
    """Though the user was there a moment ago, in the same process."""
    with users.app.host() as host:
        async with users.client(host.origin) as http:
            await begin(users, http)
        went_on = await users.goes_on(host.origin)

    assert went_on == ["404", f"told: {said} by {ADA}"]
    assert users.app.said() == [f"mail {ADA}"]


async def test_a_run_that_nobody_waits_for_has_its_token_in_a_real_host(users: Users) -> None:
    """The entity's invocation is in the process that accepted it."""
    body = {"message": "call mail 5", "thread_id": users.thread_id, "wait_for_response": False}
    with users.app.host() as host:
        async with users.client(host.origin) as http:
            accepted = await http.post(RUN, json=body)
            run = f"{users.thread}/runs/{accepted.json()['run_id']}"
            ended = await asyncio.wait_for(end_of(http, run), 4 * GUARD_SECONDS)

    assert accepted.status_code == 202
    assert ended["response"].endswith(f"told: 5 by {ADA}")


@ON_POSIX
@pytest.mark.parametrize("point", ["before 2", "after 2", "before 3"])
async def test_a_kill_leaves_a_run_that_nobody_waits_for_without_its_token(users: Users, point: str) -> None:
    """Append 1 accepts it, 2 claims it, 3 begins the call."""
    body = {"message": "call mail 5", "thread_id": users.thread_id, "wait_for_response": False}
    with users.app.host(KILL=point) as host:
        async with users.client(host.origin) as http:
            with suppress(httpx.TransportError):
                await http.post(RUN, json=body)
        assert await until_dead(host) != 0

    with users.app.host() as host:
        went_on = await users.goes_on(host.origin)

    assert went_on[-2:] == ["404", f"told: 5 by {ADA}"]
    assert set(users.app.said()) == {f"mail {ADA}"}
