"""Tokens of the caller, under SIGKILL: the next process has none, waits for the user, and no file ever had one."""

from __future__ import annotations

import asyncio
import contextlib
import sys
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
from tests.support.kept_in import KINDS, kept_in
from tests.support.mailer import bearer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.behaviour("user-tokens.survives-kill"),
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

POINTS = ["after 2", "before 2", "before 3"]


async def asked(http: httpx.AsyncClient, thread: str) -> dict[str, Any]:
    """Return the sign-in that the thread waits for, once it does."""
    while not (waiting := (await http.get(f"{thread}/approvals")).json().get("approvals")):  # noqa: ASYNC110 - by HTTP
        await asyncio.sleep(0.05)
    return dict(waiting[0])


@pytest.mark.parametrize(("point", "stores"), kept_in(*KINDS, first=POINTS[0], rest=POINTS[1:]), indirect=["stores"])
async def test_a_run_that_another_process_takes_up_waits_for_its_user(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, point: str, stores: dict[str, str]
) -> None:
    """Append 1 accepts the run, 2 begins the call, 3 has its result. Bob's token does not help Ada's run."""
    provider = IdentityProvider(tmp_path_factory.mktemp("provider"))
    elsewhere = {"ISSUER": provider.issuer, "KEYS": provider.keys, "AUTHORITY": provider.authority}
    app = ClerksApp(tmp_path, {**stores, **elsewhere, "SSL_CERT_FILE": str(provider.certificate)}, MAILER)
    thread, of_ada = f"/api/agents/Clerk/threads/{(thread_id := new_id())}", bearer(provider.token(ADA))
    with app.host(KILL=point) as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS, headers=of_ada) as http:
            with contextlib.suppress(httpx.TransportError):
                await http.post("/api/agents/Clerk/run", json={"message": "call mail 5", "thread_id": thread_id})
        assert await until_dead(host) != 0
        said = host.printed_so_far()
    before = app.said()

    with app.host() as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS, headers=of_ada) as http:
            wanted = await asyncio.wait_for(asked(http, thread), 4 * GUARD_SECONDS)
            assert app.said() == before
            answer = f"{thread}/approvals/{wanted['id']}"
            of_bob = await http.post(answer, json={"approved": True}, headers=bearer(provider.token(BOB)))
            done = (await http.post(answer, json={"approved": True})).json()
        said += host.printed_so_far()
    provider.stop()

    assert (wanted["kind"], of_bob.status_code, done["response"]) == ("authorization", 404, f"told: 5 by {ADA}")
    assert set(app.said()) == {f"mail {ADA}"}
    assert not holds(tmp_path, provider.canary.encode())
    assert provider.canary not in said
