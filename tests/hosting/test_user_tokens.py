"""Tokens of the caller: real MSAL with an identity provider of ours, and all that is to give nobody a token."""

from __future__ import annotations

import asyncio
import base64
import contextvars
import json
import logging
import sys
import time
import traceback
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import jwt
import pytest
from agent_framework import Agent, tool
from agent_framework.observability import OBSERVABILITY_SETTINGS, ChatTelemetryLayer
from cryptography.hazmat.primitives.asymmetric import rsa

from hosting.entra import EntraTokens, entra
from hosting.errors import ConfigurationError
from hosting.principal import Principal, PrincipalRequest, easy_auth
from hosting.tools import current
from hosting.user_tokens import UserToken, UserTokenError, on_behalf_of, token_for
from tests.support.canary import holds
from tests.support.clerk import ClerksClient
from tests.support.exported_spans import Exported
from tests.support.identity_provider import ADA, APP, BOB, GRAPH, OTHER_TENANT, PROOF, TENANT, IdentityProvider
from tests.support.mailer import SIGN_IN, bearer, by_bearer, by_platform, mailer, of_platform
from tests.support.owned_app import RUN, OwnedApp

OTHER_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
SPOILT: dict[str, Callable[[IdentityProvider], Callable[[dict[str, Any]], Any]]] = {
    "no answer": lambda provider: lambda answer: None,
    "500": lambda provider: lambda answer: 500,
    "redirect": lambda provider: lambda answer: 307,
    "garbage": lambda provider: lambda answer: b"\xff" + json.dumps(answer).encode(),
    "too large": lambda provider: lambda answer: {**answer, "more": "x" * 300_000},
    "nothing": lambda provider: lambda answer: {},
    "another user's": lambda provider: with_id_token(provider, oid=BOB),
    "another app's": lambda provider: with_id_token(provider, aud=OTHER_TENANT),
    "of nobody": lambda provider: lambda answer: {**answer, "id_token": None},
    "no end": lambda provider: lambda answer: {**answer, "expires_in": None},
    "two lines": lambda provider: lambda answer: {**answer, "access_token": f"{answer['access_token']}\r\nx: y"},
    "no text": lambda provider: lambda answer: {**answer, "access_token": [answer["access_token"]]},
    "refusal": lambda provider: lambda answer: {"error": "invalid_grant", "error_description": str(answer)},
}
LEFT = "a local that shows that locals are seen"
BODY = {"message": "call other https://graph.example, once 2, careless 3, mail 4", "thread_id": "t"}
BODY_OF_ASK = {"message": "call ask 1"}


class WithLocals(logging.Handler):
    """Keeps what a handler writes that shows the locals of each frame, as rich's and error trackers do."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())
        if record.exc_info and record.exc_info[0] is not None:
            whole = traceback.TracebackException(*record.exc_info, capture_locals=True)
            self.lines += whole.format()


@pytest.fixture
def lines() -> Iterator[list[str]]:
    """All that any library logs, with the locals of its tracebacks."""
    root, handler, level = logging.getLogger(), WithLocals(), logging.getLogger().level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield handler.lines
    root.removeHandler(handler)
    root.setLevel(level)
    try:
        seen = LEFT  # noqa: F841 - a local for the handler
        raise ValueError
    except ValueError:
        handler.emit(logging.LogRecord("test", logging.DEBUG, "", 0, "", (), sys.exc_info()))
    assert LEFT in "".join(handler.lines)


class Watched:
    """An app, and whom the service took for the caller of each call. At its end no token is in what it left."""

    def __init__(self, provider: IdentityProvider, folder: Path, *, is_platform: bool) -> None:
        self.provider = provider
        self.served: list[str] = []
        self.is_platform = is_platform
        files: dict[str, Any] = {
            name: f"sqlite:{folder / name}" for name in ("AGENT_LOG", "AGENT_ARCHIVE", "AGENT_ATTACHMENTS")
        }
        self.tokens = by_platform(provider) if is_platform else by_bearer(provider)
        self.app = OwnedApp(self.tokens, agent=mailer(provider, self.served), **files)
        self._folder = folder
        self._answers: list[str] = []

    def headers(self, token: str, user: str = ADA) -> dict[str, str]:
        """Return the headers of that user's request with the token."""
        return of_platform(token, user) if self.is_platform else bearer(token)

    async def run(self, message: str, headers: dict[str, str], **body: Any) -> dict[str, Any]:
        """Begin a run; return the answer, or the refusal."""
        return await self.send("POST", RUN, headers, {"message": message, "thread_id": "t", **body})

    async def send(self, method: str, path: str, headers: dict[str, str], body: Any = None) -> dict[str, Any]:
        """Send a request and return the answer's object."""
        answer = await self.app.ask(None, method, path, headers=headers, json=body)
        self._answers.append(answer.text)
        return dict(answer.json())

    async def leaves_no_token(self, logged: str) -> None:
        """Fail where a token is in a file, an answer, an entity's state or a line of the log."""
        canary, states = self.provider.canary, json.dumps(await self.app.stored())
        assert not holds(self._folder, canary.encode())
        assert [text for text in (*self._answers, states, logged) if canary in text] == []


@pytest.fixture(params=[False, True], ids=["bearer", "platform"])
async def watched(
    request: pytest.FixtureRequest, provider: IdentityProvider, tmp_path: Path, lines: list[str]
) -> AsyncIterator[Watched]:
    """An app of each sign-in, over files, with all that is logged."""
    watched = Watched(provider, tmp_path, is_platform=request.param)
    yield watched
    await watched.leaves_no_token("".join(lines))


@pytest.mark.behaviour("user-tokens.of-the-caller")
async def test_a_tool_acts_with_the_rights_of_whoever_sent_the_message(watched: Watched) -> None:
    ada, bob = watched.provider.token(ADA), watched.provider.token(BOB)

    said = [await watched.run("call mail 1, once 2, either 3", watched.headers(ada)) for _ in range(2)]
    of_bob = await watched.run("call mail 4", watched.headers(bob, BOB))

    expected = f"told: 1 by {ADA} | 2 by {ADA} | 3 by {ADA} <UserToken of the user>"
    assert [answer["response"].partition("told: ")[2] for answer in said] == [expected.removeprefix("told: ")] * 2
    assert of_bob["response"].endswith(f"told: 4 by {BOB}")
    assert [form["assertion"] for form in watched.provider.asked] == [ada, bob]


def unsigned(provider: IdentityProvider) -> str:
    """Return a token without a signature."""
    header = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
    return f"{header}.{provider.token().split('.')[1]}.none"


def by_public_key(provider: IdentityProvider) -> str:
    """Return a token whose secret is the provider's public key, which everybody has."""
    return jwt.encode(jwt.decode(provider.token(), options={"verify_signature": False}), provider.canary, "HS256")


def of_claims(text: bytes) -> Callable[[IdentityProvider], str]:
    """Return what makes a token with these claims, and the signature of others."""

    def made(provider: IdentityProvider) -> str:
        header, _, signature = provider.token().split(".")
        return f"{header}.{base64.urlsafe_b64encode(text).decode().rstrip('=')}.{signature}"

    return made


FORGED: dict[str, Callable[[IdentityProvider], str]] = {
    "another tenant": lambda provider: provider.token(
        tid=OTHER_TENANT, iss=provider.issuer.replace(TENANT, OTHER_TENANT)
    ),
    "expired": lambda provider: provider.token(exp=int(time.time()) - 100),
    "not yet valid": lambda provider: provider.token(nbf=int(time.time()) + 1_000),
    "wrong audience": lambda provider: provider.token(aud=GRAPH),
    "wrong issuer": lambda provider: provider.token(iss="https://login.example/"),
    "signed by another": lambda provider: provider.token(key=OTHER_KEY),
    "unsigned": unsigned,
    "signed with the public key": by_public_key,
    "of no user": lambda provider: provider.token(oid=None, sub=None),
    "without an end": lambda provider: provider.token(exp=None),
    "sent twice": lambda provider: f"{provider.token()}, {provider.token(BOB)}",
    "too long": lambda provider: provider.token(note="x" * 20_000),
    "other claims": of_claims(b'{"oid": "x"}'),
    "claims that are no text": of_claims(b"\xff\xfe"),
    "claims without an end": of_claims(b"[" * 3_000),
}


@pytest.mark.behaviour("user-tokens.none-for-others")
async def test_a_token_that_is_not_the_callers_gives_none(watched: Watched) -> None:
    """With a bearer token nobody is signed in; the platform's user is, and the provider refuses what we sent it."""
    for case, forged in FORGED.items():
        answer = await watched.run("call once 5", watched.headers(forged(watched.provider)))
        assert "not sent: " in answer["response"] if "response" in answer else answer["status"] == 401, case

    assert watched.served == []


@pytest.mark.behaviour("user-tokens.none-for-others")
async def test_the_platforms_user_gets_no_token_of_another(provider: IdentityProvider, tmp_path: Path) -> None:
    """Another user's header, and a user of another tenant with the same id."""
    watched = Watched(provider, tmp_path, is_platform=True)

    headers = [of_platform(provider.token(BOB), ADA), of_platform(provider.token(ADA), ADA, OTHER_TENANT)]
    answers = [await watched.run("call once 5", each) for each in headers]

    assert [answer["response"].endswith("told: 5 not sent: absent") for answer in answers] == [True, True]
    assert (watched.served, provider.asked) == ([], [])


@pytest.mark.behaviour("user-tokens.none-for-others")
async def test_a_token_in_another_place_is_none(provider: IdentityProvider, tmp_path: Path) -> None:
    """Only the one header is read, and a client that plays the platform is nobody."""
    watched, token = Watched(provider, tmp_path, is_platform=False), provider.token()
    body = {"message": "call mail 1"}
    places: list[tuple[str, dict[str, str], dict[str, str]]] = [
        (RUN, {}, {**body, "access_token": token}),
        (f"{RUN}?access_token={token}", {}, body),
        (RUN, {"x-ms-token-aad-access-token": token}, body),
        (RUN, {"authorization": f"Basic {token}"}, body),
        (RUN, {"authorization": f"Bearer {token}, Bearer {token}"}, body),
        (RUN, of_platform(token), body),
    ]
    answers = [await watched.app.ask(None, "POST", path, headers=headers, json=sent) for path, headers, sent in places]

    assert [answer.status_code for answer in answers] == [401] * len(places)
    assert (watched.served, provider.asked) == ([], [])
    assert not any(provider.canary in answer.text for answer in answers)


def with_id_token(provider: IdentityProvider, **claims: Any) -> Callable[[dict[str, Any]], Any]:
    """Return what changes the answer's word on whose token it is."""
    return lambda answer: {**answer, "id_token": provider.token(**claims)}


@pytest.mark.behaviour("user-tokens.none-for-others")
async def test_an_answer_of_the_provider_that_is_not_whole_gives_no_token(watched: Watched) -> None:
    headers = watched.headers(watched.provider.token())
    for case, spoilt in SPOILT.items():
        watched.provider.spoil = spoilt(watched.provider)
        answer = await watched.run("call once 5", headers)
        assert answer["response"].endswith(("told: 5 not sent: refused", "told: 5 not sent: unavailable")), case

    assert (watched.served, watched.provider.elsewhere) == ([], [])


class Traced(ChatTelemetryLayer[Any], ClerksClient):
    """The clerk's model with the framework's telemetry."""


class Careless:
    """An exchange of the app's own whose errors have the caller's token."""

    sign_in = ("Here", SIGN_IN)

    def __init__(self, *, fails_at_once: bool) -> None:
        self._fails_at_once = fails_at_once

    def lasts_until(self, token: str, principal: Principal, now: float) -> float:
        if self._fails_at_once:
            raise RuntimeError(token)
        return now + 1_000

    def of_user(self, token: str, principal: Principal, scope: str) -> UserToken:
        raise RuntimeError(token)

    def of_app(self, scope: str) -> UserToken:
        raise AssertionError


@pytest.mark.behaviour("user-tokens.unseen")
async def test_no_span_has_a_token_though_it_has_all_contents(
    provider: IdentityProvider, spans: Exported, lines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names, attributes, events, status and resource of each; the arguments and results of tools are there."""
    monkeypatch.setattr(OBSERVABILITY_SETTINGS, "_enable_instrumentation", True)
    monkeypatch.setattr(OBSERVABILITY_SETTINGS, "_enable_sensitive_data", True)
    app = OwnedApp(by_platform(provider), agent=mailer(provider, [], Traced()))
    provider.seconds = 3_600
    answered = [await app.ask(None, "POST", RUN, headers=of_platform(provider.token()), json=BODY)]
    provider.spoil = lambda answer: {"error": "invalid_grant", "error_description": str(answer)}
    answered.append(await app.ask(None, "POST", RUN, headers=of_platform(provider.token()), json=BODY))
    await app.stored()

    exported = "".join(span.to_json() for span in spans.get_finished_spans())

    assert [answer.status_code for answer in answered] == [200, 200]
    assert "execute_tool careless" in exported
    assert "<UserToken of the user>" in exported
    assert provider.canary not in exported
    assert provider.canary not in "".join(lines)


@pytest.mark.behaviour("user-tokens.unseen")
@pytest.mark.parametrize("fails_at_once", [False, True])
async def test_an_exchange_that_raises_the_token_shows_it_to_nobody(
    provider: IdentityProvider, lines: list[str], *, fails_at_once: bool
) -> None:
    """The log has the class of the error, and the tool a sentence of ours."""
    resolver = easy_auth({"WEBSITE_AUTH_ENABLED": "True"})
    app = OwnedApp(on_behalf_of(resolver, Careless(fails_at_once=fails_at_once)), agent=mailer(provider, []))

    answer = await app.ask(None, "POST", RUN, headers=of_platform(provider.token()), json={"message": "call once 1"})

    assert answer.json()["response"].endswith(f"not sent: {'absent' if fails_at_once else 'unavailable'}")
    assert any("RuntimeError" in line for line in lines)
    assert provider.canary not in "".join((answer.text, *lines))


@pytest.mark.behaviour("user-tokens.unseen")
async def test_no_object_that_code_can_reach_has_a_token_in_its_text(provider: IdentityProvider) -> None:
    """All context variables of a tool, and the parts of a sign-in."""
    seen: list[str] = []
    tokens = by_bearer(provider)

    @tool
    async def ask(n: str) -> str:
        token = await current().user_token(GRAPH)
        values = [value for _, value in contextvars.copy_context().items()]
        seen.extend(repr(each) for each in (values, current(), token, tokens, tokens.exchange, vars(tokens)))
        seen.append(repr(asyncio.all_tasks()))
        return n

    app = OwnedApp(tokens, agent=Agent(ClerksClient(), name="Clerk", tools=[ask]))
    await app.ask(None, "POST", RUN, headers=bearer(provider.token()), json=BODY_OF_ASK)
    request = PrincipalRequest({"authorization": provider.token()}, "POST /run")
    seen.append(repr(request))

    assert len(seen) == 8
    assert not [text for text in seen if provider.canary in text]


@pytest.mark.parametrize("audience", ["", "a b", "x" * 200])
async def test_an_audience_that_is_none_is_refused(audience: str) -> None:
    """Two in one text would be two services."""

    class Call:
        principal = None
        may_pause = False

    with pytest.raises(UserTokenError) as refused:
        await token_for(Call(), audience, or_app=True)  # type: ignore[arg-type]

    assert refused.value.reason == "audience"


def test_options_that_cannot_be_meant_are_refused() -> None:
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
