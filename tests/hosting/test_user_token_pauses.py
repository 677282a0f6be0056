"""A tool without a token of its user: it pauses for that user, acts as the app, or gets an error before it acts."""

from __future__ import annotations

import asyncio
import copy
import pickle
import time
from typing import Any

import pytest

from hosting.entra import EntraTokens, entra
from hosting.errors import ConfigurationError
from hosting.principal import Principal, PrincipalRequest, easy_auth
from hosting.user_tokens import OnBehalfOf, UserToken, UserTokenError, on_behalf_of
from tests.support.clock import Clock
from tests.support.identity_provider import ADA, APP, BOB, GRAPH, PROOF, TENANT, IdentityProvider
from tests.support.mailer import SIGN_IN, by_platform, exchange, mailer, of_platform
from tests.support.owned_app import RUN, THREADS, OwnedApp

pytestmark = pytest.mark.behaviour("user-tokens.pause")

APPROVALS = f"{THREADS}/t/approvals"


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
    """One process."""
    return Desk(provider)


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


async def test_a_call_that_may_not_be_made_again_gets_an_error_before_it_acts(desk: Desk) -> None:
    """Its tool is told, and the run ends as it does."""
    answer = await desk.run("call once 1", has_token=False)

    assert answer["response"].endswith("told: 1 not sent: absent")
    assert (desk.served, desk.provider.asked) == ([], [])


async def test_the_apps_own_identity_serves_where_the_tool_says_so(desk: Desk) -> None:
    """Only where the user's token is not there."""
    alone, with_user = await desk.run("call either 1", has_token=False), await desk.run("call either 2")

    assert alone["response"].endswith(f"told: 1 by {APP} <UserToken of the app>")
    assert with_user["response"].endswith(f"told: 2 by {ADA} <UserToken of the user>")


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


async def test_a_context_of_one_user_gives_another_no_token(desk: Desk, provider: IdentityProvider) -> None:
    """Work for somebody else may inherit the context of a request."""
    tokens = by_platform(provider)
    request = PrincipalRequest(of_platform(provider.token(ADA), ADA), "POST /run")

    ada = await tokens(request)
    bob = Principal(f"https://login.microsoftonline.com/{TENANT}/v2.0", BOB)

    assert ada is not None
    assert tokens.sent_by(ada) is not None
    assert tokens.sent_by(bob) is None
    assert await asyncio.create_task(_sent_in_a_clean_context(tokens, ada)) is None
    await tokens(PrincipalRequest({}, "POST /run"))
    assert tokens.sent_by(ada) is None


async def _sent_in_a_clean_context(tokens: OnBehalfOf, principal: Principal) -> object:
    """Return the token that a schedule's run has: one of an invocation without a request."""
    from contextvars import Context

    return Context().run(tokens.sent_by, principal)


@pytest.mark.behaviour("user-tokens.of-the-caller")
async def test_an_exchanged_token_is_kept_for_one_sign_in_until_shortly_before_its_end() -> None:
    """Two at once are one exchange; another token of the same user is another; no failure is kept."""
    made: list[str] = []
    clock = Clock(1_000.0)

    class Exchange:
        sign_in = ("Here", SIGN_IN)
        fails = False

        def lasts_until(self, token: str, principal: Principal, now: float) -> float | None:
            return now + 10_000

        def of_user(self, token: str, principal: Principal, scope: str) -> UserToken:
            made.append(scope)
            if self.fails:
                raise UserTokenError("unavailable", "Not now.")
            return UserToken(f"{len(made)}", clock() + 1_000)

        def of_app(self, scope: str) -> UserToken:
            raise AssertionError

    ada, exchange = Principal("https://login.example", ADA), Exchange()
    tokens = OnBehalfOf(lambda request: ada, exchange, "x-token", clock)

    async def token(sent: str, scope: str = "a") -> str:
        await tokens(PrincipalRequest({"x-token": f"a.b.{sent}"}, "POST /run"))
        found = tokens.sent_by(ada)
        assert found is not None
        return (await tokens.of_user(found, scope)).value

    assert [*await asyncio.gather(token("1"), token("1"), token("1"))] == ["1", "1", "1"]
    assert await token("1", "b") == "2"
    assert await token("2") == "3"
    assert await token("1") == "1"
    clock.now += 701
    exchange.fails = True
    with pytest.raises(UserTokenError):
        await token("1")
    exchange.fails = False
    assert await token("1") == "5"


async def test_a_token_that_has_ended_meanwhile_is_none(provider: IdentityProvider) -> None:
    """A run that takes longer than its user's token."""
    clock = Clock(time.time())
    tokens = OnBehalfOf(
        easy_auth({"WEBSITE_AUTH_ENABLED": "True"}), exchange(provider), "x-ms-token-aad-access-token", clock
    )
    ada = await tokens(PrincipalRequest(of_platform(provider.token(ADA), ADA), "POST /run"))
    assert ada is not None
    assert tokens.sent_by(ada) is not None

    clock.now += 3_601

    assert tokens.sent_by(ada) is None


async def test_a_token_is_shown_and_stored_nowhere(desk: Desk) -> None:
    """A tool that returns it gives the model no more than that there is one."""
    answer = await desk.run("call careless 1")
    token = UserToken("secret", 1.0)

    assert answer["response"].endswith('<UserToken of the user>"')
    assert ("secret" in f"{token} {token!r}", "canary" in str(answer)) == (False, False)
    with pytest.raises(TypeError, match="not stored"):
        pickle.dumps(token)
    with pytest.raises(TypeError, match="not stored"):
        copy.copy(token)


@pytest.mark.parametrize("audience", ["", "a b", "a\nb", "x" * 200, 'a"b'])
async def test_an_audience_that_is_none_is_refused(desk: Desk, audience: str) -> None:
    """Two in one text would be two services."""
    from hosting.user_tokens import token_for

    class Call:
        principal = None
        may_pause = False

    with pytest.raises(UserTokenError) as refused:
        await token_for(Call(), audience, or_app=True)  # type: ignore[arg-type]

    assert refused.value.reason == "audience"


def test_options_that_cannot_be_meant_are_refused() -> None:
    """By a sentence that says what to give."""
    good = EntraTokens(APP, TENANT, sign_in_url=SIGN_IN, authority="https://login.example", assertion=lambda: PROOF)
    wrong: list[dict[str, Any]] = [{"client_id": "app"}, {"tenant": "common"}, {"authority": "http://login.example"}]
    for options in wrong:
        with pytest.raises(ConfigurationError, match="Give"):
            entra(**{"client_id": APP, "tenant": TENANT, "sign_in_url": SIGN_IN, **options})
    with pytest.raises(ConfigurationError, match="header="):
        on_behalf_of(lambda request: None, good)
    with pytest.raises(ConfigurationError, match="cannot be shown"):
        on_behalf_of(easy_auth({}), entra(APP, TENANT, sign_in_url="http://app.example"))


@pytest.mark.behaviour("user-tokens.of-the-caller")
@pytest.mark.parametrize("chosen", [None, BOB])
async def test_the_app_proves_itself_by_its_managed_identity(
    provider: IdentityProvider, monkeypatch: pytest.MonkeyPatch, chosen: str | None
) -> None:
    """App Service's endpoint gives the proof, once; where it does not, no token is asked for."""
    monkeypatch.setenv("IDENTITY_ENDPOINT", provider.managed_identity)
    monkeypatch.setenv("IDENTITY_HEADER", "of-the-platform")
    options: dict[str, Any] = {"sign_in_url": SIGN_IN, "authority": provider.authority, "managed_identity": chosen}
    tokens, ada = entra(APP, TENANT, **options), Principal(provider.issuer, ADA)
    provider.spoil = lambda answer: 500
    with pytest.raises(UserTokenError) as refused:
        await asyncio.to_thread(entra(APP, TENANT, **options).of_app, f"{GRAPH}/.default")
    provider.spoil = dict
    asked_in_vain = len(provider.identities)

    given = [await asyncio.to_thread(tokens.of_user, provider.token(ADA), ada, f"{GRAPH}/.default") for _ in range(2)]

    assert refused.value.reason == "unavailable"
    assert [provider.user_of(token.value) for token in given] == [ADA, ADA]
    [asked] = provider.identities[asked_in_vain:]
    assert "resource=api%3A%2F%2FAzureADTokenExchange" in asked
    assert asked.endswith(" of-the-platform")
    assert (f"client_id={chosen}" in asked) == (chosen is not None)
