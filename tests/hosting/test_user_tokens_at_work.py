"""Runs that have their user's token, and runs that wait for it: for a sign-in, in another process, of a trigger."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hosting.authorizations import Authorization, challenge_of
from hosting.entra import EntraTokens
from hosting.principal import Principal, easy_auth
from hosting.user_tokens import OnBehalfOf
from tests.support.identity_provider import ADA, APP, BOB, GRAPH, PROOF, TENANT, IdentityProvider
from tests.support.mailer import SIGN_IN, by_platform, mailer, of_platform
from tests.support.owned_app import RUN, THREADS, OwnedApp

APPROVALS = f"{THREADS}/t/approvals"
WANTED = {"access_token": {"acrs": {"essential": True, "value": "c1"}, "capolids": {"values": ["9ab03e19-ed42"]}}}
HEADER = "x-ms-token-aad-access-token"
HOSTILE: dict[str, Callable[[str], object]] = {
    "a token": lambda token: token,
    "a token as a value": lambda token: json.dumps({"access_token": {"acrs": {"value": token}}}),
    "a token as a name": lambda token: json.dumps({"access_token": {token: None}}),
    "another member": lambda token: json.dumps({**WANTED, "id_token": {"note": {"value": token[:20]}}}),
    "an unknown word": lambda token: json.dumps({"access_token": {"acrs": {"note": token[:20]}}}),
    "no object": lambda token: [token],
    "a list": lambda token: json.dumps([WANTED]),
    "deep": lambda token: "[" * 1_500,
    "long": lambda token: json.dumps({"access_token": {"acrs": {"values": [token[:60]] * 40}}}),
    "no text": lambda token: "\udcff",
    "a number": lambda token: 5,
}
NO_WAIT: dict[str, Any] = {"wait_for_response": False}


class Desk:
    """An app behind the platform's sign-in. `served` has whom the service took for the caller of each call."""

    def __init__(self, provider: IdentityProvider) -> None:
        self.provider = provider
        self.served: list[str] = []
        self.app = OwnedApp(by_platform(provider), agent=mailer(provider, self.served))

    async def send(
        self, method: str, path: str, user: str, *, has_token: bool = True, body: Any = None
    ) -> dict[str, Any]:
        """Send a request of that user, with their token or without; return the answer's object."""
        headers = of_platform(self.provider.token(user) if has_token else None, user)
        answer = await self.app.ask(None, method, path, headers=headers, json=body)
        return {"http": answer.status_code, **(answer.json() if answer.content else {})}

    async def run(self, message: str, user: str = ADA, *, has_token: bool = True, path: str = RUN) -> dict[str, Any]:
        """Send a message on the thread `t`, or below a grant."""
        body = {"message": message, **({"thread_id": "t"} if path == RUN else {})}
        return await self.send("POST", path, user, has_token=has_token, body=body)


@pytest.fixture
def desk(provider: IdentityProvider) -> Desk:
    return Desk(provider)


@pytest.mark.behaviour("user-tokens.pause")
async def test_a_run_without_a_token_goes_on_when_its_user_comes_back(desk: Desk) -> None:
    """Nobody else may answer, and an answer without a token asks again."""
    waiting = await desk.run("call mail 1", has_token=False)
    [asked] = waiting["pending_approvals"]
    place, yes = f"{APPROVALS}/{asked['id']}", {"approved": True}

    of_bob = await desk.send("POST", place, BOB, body=yes)
    without = await desk.send("POST", place, ADA, has_token=False, body=yes)
    [again] = without["pending_approvals"]
    done = await desk.send("POST", f"{APPROVALS}/{again['id']}", ADA, body=yes)

    assert asked["authorization"] == {
        "service": "Microsoft Entra ID",
        "url": SIGN_IN,
        "scopes": [f"{GRAPH}/.default"],
    }
    assert (of_bob["http"], done["response"]) == (404, f"told: 1 by {ADA}")
    assert desk.served == [ADA]


@pytest.mark.behaviour("user-tokens.pause")
async def test_on_a_shared_thread_the_token_is_of_whoever_sent_the_message(desk: Desk) -> None:
    """Never the owner's, who was there a moment ago; without one the other's call waits for the other."""
    await desk.run("call mail 1")
    issuer = Principal(f"https://login.microsoftonline.com/{TENANT}/v2.0", BOB)
    grant = await desk.send(
        "POST", f"{THREADS}/t/grants", ADA, body={"issuer": issuer.issuer, "id": BOB, "access": "run"}
    )
    shared = f"/api/shared/{grant['grant']}"

    of_bob = await desk.run("call mail 2", BOB, path=f"{shared}/run")
    waiting = await desk.run("call mail 3", BOB, has_token=False, path=f"{shared}/run")
    [asked] = waiting["pending_approvals"]
    by_owner = await desk.send("POST", f"{APPROVALS}/{asked['id']}", ADA, body={"approved": True})
    done = await desk.send("POST", f"{shared}/approvals/{asked['id']}", BOB, body={"approved": True})

    assert of_bob["response"].endswith(f"told: 2 by {BOB}")
    assert (by_owner["http"], done["response"]) == (403, f"told: 3 by {BOB}")
    assert desk.served == [ADA, BOB, BOB]


class Door:
    """An app by the platform's sign-in, whose clock is `ahead` of the provider's by so many seconds."""

    def __init__(self, provider: IdentityProvider, ahead: float = 0.0) -> None:
        self.provider = provider
        self.served: list[str] = []
        self.ahead = ahead

        def clock() -> float:
            return time.time() + self.ahead

        options: dict[str, Any] = {"sign_in_url": SIGN_IN, "authority": provider.authority, "clock": clock}
        exchange = EntraTokens(APP, TENANT, assertion=lambda: PROOF, **options)
        self.tokens = OnBehalfOf(easy_auth({"WEBSITE_AUTH_ENABLED": "True"}), exchange, HEADER, clock)
        self.app = OwnedApp(self.tokens, agent=mailer(provider, self.served))

    async def run(self, message: str, token: str | None = None) -> dict[str, Any]:
        """Send Ada's message with her token, or that one."""
        return await self.send(RUN, {"message": message, "thread_id": "t"}, token)

    async def comes_back(self, waiting: dict[str, Any], token: str | None = None) -> dict[str, Any]:
        [asked] = waiting["pending_approvals"]
        return await self.send(f"{THREADS}/t/approvals/{asked['id']}", {"approved": True}, token)

    async def send(self, path: str, body: dict[str, Any], token: str | None) -> dict[str, Any]:
        """Send a request, and return the answer's object."""
        headers = of_platform(token or self.provider.token())
        answer = await self.app.ask(None, "POST", path, headers=headers, json=body)
        assert self.provider.canary not in answer.text
        return dict(answer.json())


def wants_more(claims: object) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return the provider's answer to a sign-in that is not enough."""
    text = "AADSTS50076: use multi-factor authentication"
    return lambda answer: {"error": "interaction_required", "error_description": text, "claims": claims}


@pytest.mark.behaviour("user-tokens.sign-in-again")
async def test_a_run_waits_for_the_sign_in_that_the_provider_wants(provider: IdentityProvider) -> None:
    """With the claims that it must give, in the answer and in the list; an answer without them asks again."""
    door = Door(provider)
    provider.spoil = wants_more(json.dumps(WANTED))
    waiting = await door.run("call mail 1")
    listed = (await door.app.ask(None, "GET", f"{THREADS}/t/approvals", headers=of_platform(provider.token()))).json()

    again = await door.comes_back(waiting)
    provider.spoil = dict
    done = await door.comes_back(again, provider.token(jti="a second factor"))

    [asked] = waiting["pending_approvals"]
    assert (asked["authorization"]["url"], json.loads(asked["authorization"]["claims"])) == (SIGN_IN, WANTED)
    assert listed["approvals"][0]["authorization"] == asked["authorization"]
    assert (done["response"], door.served) == (f"told: 1 by {ADA}", [ADA])


@pytest.mark.behaviour("user-tokens.sign-in-again")
async def test_claims_of_a_provider_that_are_none_are_left_out(provider: IdentityProvider) -> None:
    door = Door(provider)
    for case, claims in HOSTILE.items():
        provider.spoil = wants_more(claims(provider.token()))
        waiting = await door.send(RUN, {"message": "call mail 1"}, None)
        assert "claims" not in waiting["pending_approvals"][0]["authorization"], case


@pytest.mark.behaviour("user-tokens.sign-in-again")
@pytest.mark.parametrize(
    ("ahead", "of_token", "outcome"),
    [
        (-600.0, {"exp": -30, "nbf": -3_600}, "sign_in"),
        (600.0, {"exp": 300}, "absent"),
        (-30.0, {"nbf": 0}, "by"),
        (-90.0, {"nbf": 0}, "absent"),
        (600.0, {"exp": 3_600}, "by"),
    ],
)
async def test_clocks_that_differ_give_a_token_or_ask_for_a_sign_in(
    provider: IdentityProvider, ahead: float, of_token: dict[str, int], outcome: str
) -> None:
    """A token that one of both clocks takes for ended is none; a minute is let pass where it is not valid yet."""
    door, now = Door(provider, ahead), int(time.time())
    token = provider.token(**{claim: now + seconds for claim, seconds in of_token.items()})

    told = (await door.run("call once 1", token))["response"]

    assert told.endswith(f"1 by {ADA}" if outcome == "by" else f"not sent: {outcome}")


@pytest.mark.behaviour("user-tokens.sign-in-again")
def test_a_claims_challenge_is_names_and_short_values() -> None:
    """Whoever reads the thread reads it; what a tool gives is held to the same."""
    shown = Authorization.of("Here", SIGN_IN, (), json.dumps(WANTED)).shown()

    assert json.loads(shown["claims"]) == WANTED
    assert "claims" not in Authorization.of("Here", SIGN_IN, ()).shown()
    assert "claims" not in Authorization.of("Here", SIGN_IN, ()).model_dump()
    assert challenge_of('{"access_token": {"nbf": {"essential": true, "value": "1701234567"}, "xms_cc": null}}')
    with pytest.raises(ValueError, match="are no challenge"):
        Authorization.of("Here", SIGN_IN, (), "more")


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


@pytest.mark.behaviour("user-tokens.of-runs-that-nobody-waits-for")
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


@pytest.mark.behaviour("user-tokens.of-runs-that-nobody-waits-for")
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
