"""Runs that have their user's token, and runs that wait for it: for a sign-in, and in another process."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hosting.authorizations import Authorization, challenge_of
from hosting.entra import EntraTokens
from hosting.principal import easy_auth
from hosting.user_tokens import OnBehalfOf
from tests.support.identity_provider import ADA, APP, BOB, GRAPH, PROOF, TENANT, IdentityProvider
from tests.support.mailer import SIGN_IN, mailer, of_platform
from tests.support.owned_app import RUN, THREADS, OwnedApp

THREAD = f"{THREADS}/t"
WANTED = {"access_token": {"acrs": {"essential": True, "value": "c1"}, "capolids": {"values": ["9ab03e19-ed42"]}}}
HOSTILE: dict[str, Callable[[str], object]] = {
    "a token": lambda token: token,
    "a token as a value": lambda token: json.dumps({"access_token": {"acrs": {"value": token}}}),
    "a token as a name": lambda token: json.dumps({"access_token": {token: None}}),
    "another member": lambda token: json.dumps({**WANTED, "id_token": {"note": {"value": token[:20]}}}),
    "no object": lambda token: [token],
    "deep": lambda token: "[" * 1_500,
    "long": lambda token: json.dumps({"access_token": {"acrs": {"values": [token[:60]] * 40}}}),
    "no text": lambda token: "\udcff",
}
RIGHT = "the user's own"
STORES = ("AGENT_LOG", "AGENT_ARCHIVE", "AGENT_ATTACHMENTS")


class Desk:
    """An app behind the platform's sign-in, over the files of a folder if there is one.

    Its clock is `ahead` of the provider's by so many seconds. `served` has whom the service took for the caller.
    """

    def __init__(self, provider: IdentityProvider, folder: Path | None = None, ahead: float = 0.0) -> None:
        self.provider = provider
        self.served: list[str] = []

        def clock() -> float:
            return time.time() + ahead

        options: dict[str, Any] = {"sign_in_url": SIGN_IN, "authority": provider.authority, "clock": clock}
        exchange = EntraTokens(APP, TENANT, assertion=lambda: PROOF, **options)
        signed_in = easy_auth({"WEBSITE_AUTH_ENABLED": "True"})
        self.tokens = OnBehalfOf(signed_in, exchange, "x-ms-token-aad-access-token", clock)
        files: dict[str, Any] = {name: f"sqlite:{folder / name}" for name in STORES} if folder else {}
        self.app = OwnedApp(self.tokens, agent=mailer(provider, self.served), **files)

    async def ask(
        self, path: str, user: str = ADA, *, method: str = "POST", token: str | None = RIGHT, **body: Any
    ) -> dict[str, Any]:
        """Send a request of that user, with their token, another or none; return the answer's object."""
        headers = of_platform(self.provider.token(user) if token == RIGHT else token, user)
        answer = await self.app.ask(None, method, path, headers=headers, json=body)
        assert self.provider.canary not in answer.text
        return {"http": answer.status_code, **answer.json()}

    async def run(self, message: str, **more: Any) -> dict[str, Any]:
        """Send Ada's message on the thread `t`."""
        return await self.ask(RUN, message=message, thread_id="t", **more)

    async def approve(
        self, waiting: dict[str, Any], user: str = ADA, *, below: str = THREAD, **more: Any
    ) -> dict[str, Any]:
        """Say yes to what a run waits for."""
        [asked] = waiting["pending_approvals"]
        return await self.ask(f"{below}/approvals/{asked['id']}", user, approved=True, **more)

    async def ended(self) -> list[dict[str, Any]]:
        """Return the runs of the thread, once no entity has anything to do."""
        await self.app.stored()
        listed = await self.ask(f"{THREAD}/runs", method="GET")
        return [await self.ask(f"{THREAD}/runs/{run['run_id']}", method="GET") for run in listed["runs"]]


@pytest.fixture
async def desk(provider: IdentityProvider) -> Desk:
    return Desk(provider)


@pytest.mark.behaviour("user-tokens.pause")
async def test_a_run_without_a_token_goes_on_when_its_user_comes_back(desk: Desk) -> None:
    """Nobody else may answer, and an answer without a token asks again."""
    waiting = await desk.run("call mail 1", token=None)
    of_bob = await desk.approve(waiting, BOB)
    again = await desk.approve(waiting, token=None)
    done = await desk.approve(again)

    asked = waiting["pending_approvals"][0]["authorization"]
    assert asked == {"service": "Microsoft Entra ID", "url": SIGN_IN, "scopes": [f"{GRAPH}/.default"]}
    assert (of_bob["http"], done["response"], desk.served) == (404, f"told: 1 by {ADA}", [ADA])


@pytest.mark.behaviour("user-tokens.pause")
async def test_on_a_shared_thread_the_token_is_of_whoever_sent_the_message(desk: Desk) -> None:
    """Never the owner's, who was there a moment ago; without one the other's call waits for the other."""
    await desk.run("call mail 1")
    issuer = f"https://login.microsoftonline.com/{TENANT}/v2.0"
    grant = await desk.ask(f"{THREAD}/grants", issuer=issuer, id=BOB, access="run")
    shared = f"/api/shared/{grant['grant']}"

    of_bob = await desk.ask(f"{shared}/run", BOB, message="call mail 2")
    waiting = await desk.ask(f"{shared}/run", BOB, token=None, message="call mail 3")
    by_owner = await desk.approve(waiting)
    done = await desk.approve(waiting, BOB, below=shared)

    assert of_bob["response"].endswith(f"told: 2 by {BOB}")
    assert (by_owner["http"], done["response"]) == (403, f"told: 3 by {BOB}")
    assert desk.served == [ADA, BOB, BOB]


def wants_more(claims: object) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Return the provider's answer to a sign-in that is not enough."""
    text = "AADSTS50076: use multi-factor authentication"
    return lambda answer: {"error": "interaction_required", "error_description": text, "claims": claims}


@pytest.mark.behaviour("user-tokens.sign-in-again")
async def test_a_run_waits_for_the_sign_in_that_the_provider_wants(desk: Desk) -> None:
    """With the claims that it must give, in the answer and in the list; an answer without them asks again."""
    desk.provider.spoil = wants_more(json.dumps(WANTED))
    waiting = await desk.run("call mail 1")
    listed = await desk.ask(f"{THREAD}/approvals", method="GET")

    again = await desk.approve(waiting)
    desk.provider.spoil = dict
    done = await desk.approve(again, token=desk.provider.token(jti="a second factor"))

    asked = waiting["pending_approvals"][0]["authorization"]
    assert (asked["url"], json.loads(asked["claims"])) == (SIGN_IN, WANTED)
    assert listed["approvals"][0]["authorization"] == asked
    assert (done["response"], desk.served) == (f"told: 1 by {ADA}", [ADA])


@pytest.mark.behaviour("user-tokens.sign-in-again")
async def test_claims_of_a_provider_that_are_none_are_left_out(desk: Desk) -> None:
    for case, claims in HOSTILE.items():
        desk.provider.spoil = wants_more(claims(desk.provider.token()))
        waiting = await desk.ask(RUN, message="call mail 1")
        assert "claims" not in waiting["pending_approvals"][0]["authorization"], case


@pytest.mark.behaviour("user-tokens.sign-in-again")
@pytest.mark.parametrize(
    ("ahead", "of_token", "outcome"),
    [
        (-600.0, {"exp": -30, "nbf": -3_600}, "not sent: sign_in"),
        (600.0, {"exp": 300}, "not sent: absent"),
        (-30.0, {"nbf": 0}, f"1 by {ADA}"),
        (-90.0, {"nbf": 0}, "not sent: absent"),
    ],
)
async def test_clocks_that_differ_give_a_token_or_ask_for_a_sign_in(
    provider: IdentityProvider, ahead: float, of_token: dict[str, int], outcome: str
) -> None:
    """A token that one of both clocks takes for ended is none; a minute is let pass where it is not valid yet."""
    now = int(time.time())
    token = provider.token(**{claim: now + seconds for claim, seconds in of_token.items()})

    told = await Desk(provider, ahead=ahead).run("call once 1", token=token)

    assert told["response"].endswith(outcome)


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


@pytest.mark.behaviour("user-tokens.of-runs-that-nobody-waits-for")
async def test_a_run_that_nobody_waits_for_has_its_senders_token_in_the_same_process(desk: Desk) -> None:
    """Also two that wait for their turn; each is its own sender's, and none stays behind."""
    entities = desk.app.host.entities
    entities.gate.clear()
    accepted = [await desk.run(f"call mail {number}", wait_for_response=False) for number in (1, 2)]
    entities.gate.set()

    ended = await desk.ended()

    assert [answer["http"] for answer in accepted] == [202, 202]
    said = sorted(run["response"].partition("told: ")[2] for run in ended)
    assert said == [f"{number} by {ADA}" for number in (1, 2)]
    assert desk.served == [ADA, ADA]
    assert not desk.tokens._kept


@pytest.mark.behaviour("user-tokens.of-runs-that-nobody-waits-for")
async def test_another_process_has_no_token_for_it_and_waits_for_its_user(
    provider: IdentityProvider, tmp_path: Path
) -> None:
    """As after a crash: it pauses, and goes on when the same user answers there."""
    here, there = Desk(provider, tmp_path), Desk(provider, tmp_path)
    here.app.host.entities.gate.clear()
    await here.run("call mail 1", wait_for_response=False)
    there.app.host.entities.take_over(here.app.host.entities)
    [waiting] = await there.ended()

    of_bob = await there.approve(waiting, BOB)
    done = await there.approve(waiting)

    assert waiting["pending_approvals"][0]["authorization"]["url"] == SIGN_IN
    assert (of_bob["http"], done["response"]) == (404, f"told: 1 by {ADA}")
    assert (here.served, there.served) == ([], [ADA])
