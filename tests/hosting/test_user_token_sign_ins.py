"""A user who must sign in again: by the provider's word, after a sign-out, with clocks that differ; guests, devices."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from hosting.authorizations import Authorization, challenge_of
from hosting.entra import EntraTokens
from hosting.principal import easy_auth
from hosting.user_tokens import OnBehalfOf
from tests.support.identity_provider import ADA, APP, PROOF, TENANT, IdentityProvider
from tests.support.mailer import SIGN_IN, bearer, by_bearer, by_platform, mailer, of_platform
from tests.support.owned_app import RUN, THREADS, OwnedApp

pytestmark = pytest.mark.behaviour("user-tokens.sign-in-again")

WANTED = {"access_token": {"acrs": {"essential": True, "value": "c1"}, "capolids": {"values": ["9ab03e19-ed42"]}}}
HEADER = "x-ms-token-aad-access-token"


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
        """Answer the sign-in that a run waits for."""
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


async def test_a_call_that_cannot_wait_is_told_to_sign_in_again(provider: IdentityProvider) -> None:
    """Before it acts."""
    door = Door(provider)
    provider.spoil = wants_more(json.dumps(WANTED))

    answer = await door.run("call once 1")

    assert answer["response"].endswith("not sent: sign_in")
    assert door.served == []


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


@pytest.mark.parametrize("case", HOSTILE)
async def test_claims_of_a_provider_that_are_none_are_left_out(provider: IdentityProvider, case: str) -> None:
    """The run waits all the same, and nothing of them is shown."""
    door = Door(provider)
    provider.spoil = wants_more(HOSTILE[case](provider.token()))

    waiting = await door.run("call mail 1")

    assert "claims" not in waiting["pending_approvals"][0]["authorization"]


@pytest.mark.parametrize("code", ["AADSTS50132", "AADSTS50133", "AADSTS50173", "AADSTS500133"])
async def test_a_user_who_signed_out_meanwhile_is_asked_to_sign_in(provider: IdentityProvider, code: str) -> None:
    """The provider refuses the old token; the one of the new sign-in is exchanged."""
    door = Door(provider)
    provider.spoil = lambda answer: {"error": "invalid_grant", "error_description": f"{code}: revoked"}
    waiting = await door.run("call mail 1")
    provider.spoil = dict

    done = await door.comes_back(waiting, provider.token(jti="another sign-in"))

    assert (done["response"], door.served) == (f"told: 1 by {ADA}", [ADA])


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


async def test_an_exchanged_token_does_not_outlive_the_callers(provider: IdentityProvider) -> None:
    """It is kept for the same sign-in, and given no more once that has ended."""
    door = Door(provider)
    token = provider.token(exp=int(time.time()) + 400)
    first = await door.run("call once 1", token)
    door.ahead = 401.0

    ended = await door.run("call once 2", token)

    assert first["response"].endswith(f"1 by {ADA}")
    assert ended["response"].endswith("2 not sent: absent")


async def test_each_device_of_a_user_has_an_exchange_of_its_own(provider: IdentityProvider) -> None:
    """One that signs out takes nothing from the other."""
    door = Door(provider)
    phone, laptop = provider.token(jti="phone"), provider.token(jti="laptop")
    for token in (phone, laptop, phone):
        await door.run("call once 1", token)
    asked = [form["assertion"] for form in provider.asked]
    provider.spoil = lambda answer: {"error": "invalid_grant", "error_description": "AADSTS50173: revoked"}

    still = await door.run("call once 2", laptop)

    assert asked == [phone, laptop]
    assert still["response"].endswith(f"2 by {ADA}")


@pytest.mark.parametrize("is_platform", [False, True])
async def test_a_guest_of_the_tenant_is_a_user_of_it(provider: IdentityProvider, *, is_platform: bool) -> None:
    """A guest's token is of this tenant, and names the one where they signed in."""
    served: list[str] = []
    app = OwnedApp((by_platform if is_platform else by_bearer)(provider), agent=mailer(provider, served))
    token = provider.token(idp="https://sts.windows.net/22222222-2222-4222-8222-222222222222/", acct=1)
    headers = of_platform(token) if is_platform else bearer(token)

    answer = await app.ask(None, "POST", RUN, headers=headers, json={"message": "call mail 1"})

    assert (answer.json()["response"].partition("told: ")[2], served) == (f"1 by {ADA}", [ADA])


def test_a_claims_challenge_is_names_and_short_values() -> None:
    """Whoever reads the thread reads it; what a tool gives is held to the same."""
    shown = Authorization.of("Here", SIGN_IN, (), json.dumps(WANTED)).shown()

    assert json.loads(shown["claims"]) == WANTED
    assert "claims" not in Authorization.of("Here", SIGN_IN, ()).shown()
    assert "claims" not in Authorization.of("Here", SIGN_IN, ()).model_dump()
    assert challenge_of('{"access_token": {"nbf": {"essential": true, "value": "1701234567"}, "xms_cc": null}}')
    with pytest.raises(ValueError, match="are no challenge"):
        Authorization.of("Here", SIGN_IN, (), "more")
