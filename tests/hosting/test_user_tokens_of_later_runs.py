"""Runs that nobody waits for: their token is in the memory of the process that accepted them, and nowhere else."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hosting import user_tokens
from hosting.principal import Principal, PrincipalRequest
from hosting.user_tokens import OnBehalfOf
from tests.support.carriers import GUARD_SECONDS
from tests.support.clock import Clock
from tests.support.identity_provider import ADA, BOB, IdentityProvider
from tests.support.mailer import SIGN_IN, by_platform, mailer, of_platform
from tests.support.owned_app import RUN, THREADS, OwnedApp

pytestmark = pytest.mark.behaviour("user-tokens.of-runs-that-nobody-waits-for")

BATCH = "/api/agents/Clerk/runs/batch"
NO_WAIT: dict[str, Any] = {"wait_for_response": False}


class Process(OwnedApp):
    """One process of the app over files that others have too; `served` has whom the service took for each caller."""

    def __init__(self, provider: IdentityProvider, folder: Path) -> None:
        self.served: list[str] = []
        self.provider = provider
        self.tokens = by_platform(provider)
        files: dict[str, Any] = {
            name: f"sqlite:{folder / name}" for name in ("AGENT_LOG", "AGENT_ARCHIVE", "AGENT_ATTACHMENTS")
        }
        super().__init__(self.tokens, agent=mailer(provider, self.served), **files)

    async def send(self, method: str, path: str, user: str = ADA, **body: Any) -> dict[str, Any]:
        """Send a request of that user with their token, and return the answer's object."""
        headers = of_platform(self.provider.token(user), user)
        answer = await self.ask(None, method, path, headers=headers, json=body)
        return {"http": answer.status_code, **answer.json()}

    async def ended(self) -> list[dict[str, Any]]:
        """Return the runs of the thread `t`, once no entity has anything to do."""
        await self.stored()
        listed = await self.send("GET", f"{THREADS}/t/runs")
        return [await self.send("GET", f"{THREADS}/t/runs/{run['run_id']}") for run in listed["runs"]]


async def test_a_run_that_nobody_waits_for_has_its_senders_token_in_the_same_process(
    provider: IdentityProvider, tmp_path: Path
) -> None:
    """Also two that wait for their turn; each is its own sender's, and none stays behind."""
    process = Process(provider, tmp_path)
    process.host.entities.gate.clear()
    accepted = [
        await process.send("POST", RUN, message=f"call mail {number}", thread_id="t", **NO_WAIT) for number in (1, 2)
    ]
    process.host.entities.gate.set()

    ended = await process.ended()

    assert [answer["http"] for answer in accepted] == [202, 202]
    said = sorted(run["response"].partition("told: ")[2] for run in ended)
    assert said == [f"{number} by {ADA}" for number in (1, 2)]
    assert process.served == [ADA, ADA]
    assert not process.tokens._kept


async def test_a_batch_that_nobody_waits_for_has_it_too(provider: IdentityProvider, tmp_path: Path) -> None:
    """For each of its runs."""
    process = Process(provider, tmp_path)
    requests = [{"message": f"call mail {number}", "thread_id": "t"} for number in (1, 2)]

    answer = await process.send("POST", BATCH, BOB, requests=requests, **NO_WAIT)
    await process.stored()

    assert answer["http"] == 202
    assert process.served == [BOB, BOB]


async def test_another_process_has_no_token_for_it_and_waits_for_its_user(
    provider: IdentityProvider, tmp_path: Path
) -> None:
    """As after a crash: it pauses, and goes on when the same user answers there."""
    here, there = Process(provider, tmp_path), Process(provider, tmp_path)
    here.host.entities.gate.clear()
    await here.send("POST", RUN, message="call mail 1", thread_id="t", **NO_WAIT)
    there.host.entities.take_over(here.host.entities)
    [waiting] = await there.ended()
    [asked] = waiting["pending_approvals"]
    place = f"{THREADS}/t/approvals/{asked['id']}"

    of_bob = await there.send("POST", place, BOB, approved=True)
    done = await there.send("POST", place, approved=True)

    assert (asked["authorization"]["url"], there.served[:-1], here.served) == (SIGN_IN, [], [])
    assert (of_bob["http"], done["response"]) == (404, f"told: 1 by {ADA}")


async def test_an_answer_that_nobody_waits_for_brings_its_token(provider: IdentityProvider, tmp_path: Path) -> None:
    """The run that goes on is one that its sender began."""
    process = Process(provider, tmp_path)
    headers = of_platform(None, ADA)
    body = {"message": "call mail 1", "thread_id": "t"}
    waiting = (await process.ask(None, "POST", RUN, headers=headers, json=body)).json()
    place = f"{THREADS}/t/approvals/{waiting['pending_approvals'][0]['id']}"

    answer = await process.send("POST", place, approved=True, **NO_WAIT)
    await asyncio.wait_for(process.stored(), GUARD_SECONDS)

    assert (answer["http"], process.served) == (202, [ADA])


class Never:
    """An exchange that is not asked; each token lasts 1,000 s."""

    sign_in = ("Here", SIGN_IN)

    def lasts_until(self, token: str, principal: Principal, now: float) -> float:
        """Return its end."""
        return now + 1_000

    def of_user(self, *_: Any) -> Any:
        """Fail."""
        raise AssertionError

    of_app = of_user


async def test_tokens_that_are_kept_have_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """In number and in time; another principal's run gets none of them, and one gets it once."""
    monkeypatch.setattr(user_tokens, "MOST_KEPT", 3)
    clock, ada, bob = Clock(1_000.0), Principal("https://login.example", ADA), Principal("https://login.example", BOB)
    tokens = OnBehalfOf(lambda request: ada, Never(), "x-token", clock)
    await tokens(PrincipalRequest({"x-token": "a.b.c"}, "POST /run"))
    for number in range(5):
        tokens.keep(f"run-{number}")
    await tokens(PrincipalRequest({}, "POST /run"))

    kept = [tokens.sent_by(ada, f"run-{number}") is not None for number in range(5)]
    of_bob = tokens.sent_by(bob, "run-4")
    begun = tokens.begin("run-4", ada)
    its_own = begun.at_hand()
    begun.end()
    again = tokens.begin("run-4", ada)
    goes_on = again.at_hand()
    again.end()
    tokens.forget("run-4")
    clock.now += 1_001
    ended = tokens.sent_by(ada, "run-3")
    tokens.keep("run-5")

    assert kept == [False, False, True, True, True]
    assert (of_bob, ended, list(tokens._kept)) == (None, None, [])
    assert its_own is not None
    assert its_own is goes_on
    assert (begun.at_hand(), tokens.sent_by(bob, "run-4")) == (None, None)
