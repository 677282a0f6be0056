"""Tokens of the caller: real MSAL with an identity provider of ours, and all that is to give nobody a token."""

from __future__ import annotations

import base64
import io
import json
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.support.canary import holds
from tests.support.identity_provider import ADA, BOB, GRAPH, OTHER_TENANT, TENANT, IdentityProvider
from tests.support.mailer import bearer, by_bearer, by_platform, mailer, of_platform
from tests.support.owned_app import RUN, OwnedApp

pytestmark = pytest.mark.behaviour("user-tokens.none-for-others")

OTHER_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)

WATCHED = "a line that shows that lines are seen"


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
        assert WATCHED in logged
        assert [text for text in (*self._answers, states, logged) if canary in text] == []


@pytest.fixture(params=[False, True], ids=["bearer", "platform"])
async def watched(
    request: pytest.FixtureRequest, provider: IdentityProvider, tmp_path: Path, logged: io.StringIO
) -> AsyncIterator[Watched]:
    """An app of each sign-in, over files, with all that is logged."""
    watched = Watched(provider, tmp_path, is_platform=request.param)
    logging.getLogger("msal").debug(WATCHED)
    yield watched
    await watched.leaves_no_token(logged.getvalue())


@pytest.fixture
def logged() -> Iterator[io.StringIO]:
    """All that any library logs, with its tracebacks."""
    root, text = logging.getLogger(), io.StringIO()
    handler, level = logging.StreamHandler(text), root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield text
    root.removeHandler(handler)
    root.setLevel(level)


@pytest.mark.behaviour("user-tokens.of-the-caller")
async def test_a_tool_acts_with_the_rights_of_whoever_sent_the_message(watched: Watched) -> None:
    """Also twice, with one exchange; another user's is another."""
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
    "another tenant's user": lambda provider: provider.token(tid=OTHER_TENANT),
    "expired": lambda provider: provider.token(exp=int(time.time()) - 100),
    "not yet valid": lambda provider: provider.token(nbf=int(time.time()) + 1_000),
    "wrong audience": lambda provider: provider.token(aud=GRAPH),
    "wrong issuer": lambda provider: provider.token(iss="https://login.example/"),
    "signed by another": lambda provider: provider.token(key=OTHER_KEY),
    "unsigned": unsigned,
    "signed with the public key": by_public_key,
    "of no user": lambda provider: provider.token(oid=None, sub=None),
    "of no tenant": lambda provider: provider.token(tid=None, iss="https://login.example/"),
    "without an end": lambda provider: provider.token(exp=None),
    "an end that is no time": lambda provider: provider.token(exp="tomorrow"),
    "no token": lambda provider: "not.a-token",
    "words": lambda provider: "one two three",
    "sent twice": lambda provider: f"{provider.token()}, {provider.token(BOB)}",
    "too long": lambda provider: provider.token(note="x" * 20_000),
    "other claims": of_claims(b'{"oid": "x"}'),
    "a list of claims": of_claims(b"[1]"),
    "claims that are no text": of_claims(b"\xff\xfe"),
    "claims without an end": of_claims(b"[" * 3_000),
}


@pytest.mark.parametrize("case", FORGED)
async def test_a_token_that_is_not_the_callers_gives_none(watched: Watched, case: str) -> None:
    """With a bearer token nobody is signed in; the platform's user is, and the provider refuses what we sent it."""
    answer = await watched.run("call once 5", watched.headers(FORGED[case](watched.provider)))

    told = answer.get("response", "")
    assert answer["status"] == 401 if "status" in answer and not told else "not sent: " in told
    assert watched.served == []


async def test_the_platforms_user_gets_no_token_of_another(provider: IdentityProvider, tmp_path: Path) -> None:
    """Another user's header, and a user of another tenant with the same id."""
    watched = Watched(provider, tmp_path, is_platform=True)

    headers = [of_platform(provider.token(BOB), ADA), of_platform(provider.token(ADA), ADA, OTHER_TENANT)]
    answers = [await watched.run("call once 5", each) for each in headers]

    assert [answer["response"].endswith("told: 5 not sent: absent") for answer in answers] == [True, True]
    assert (watched.served, provider.asked) == ([], [])


@pytest.mark.parametrize("place", ["body", "query", "other header", "basic", "two headers", "forged platform"])
async def test_a_token_in_another_place_is_none(provider: IdentityProvider, tmp_path: Path, place: str) -> None:
    """Only the one header is read, and a client that plays the platform is nobody."""
    watched, token = Watched(provider, tmp_path, is_platform=False), provider.token()
    headers = {
        "other header": {"x-ms-token-aad-access-token": token},
        "basic": {"authorization": f"Basic {token}"},
        "two headers": {"authorization": f"Bearer {token}, Bearer {token}"},
        "forged platform": of_platform(token),
    }.get(place, {})
    path = f"{RUN}?access_token={token}" if place == "query" else RUN
    body = {"message": "call mail 1", **({"access_token": token} if place == "body" else {})}

    answer = await watched.app.ask(None, "POST", path, headers=headers, json=body)

    assert (answer.status_code, watched.served, provider.asked) == (401, [], [])
    assert provider.canary not in answer.text


def with_id_token(provider: IdentityProvider, **claims: Any) -> Callable[[dict[str, Any]], Any]:
    """Return what changes the answer's word on whose token it is."""
    return lambda answer: {**answer, "id_token": provider.token(**claims)}


SPOILT: dict[str, Callable[[IdentityProvider], Callable[[dict[str, Any]], Any]]] = {
    "no answer": lambda provider: lambda answer: None,
    "500": lambda provider: lambda answer: 500,
    "429": lambda provider: lambda answer: 429,
    "redirect": lambda provider: lambda answer: 307,
    "redirect to a page": lambda provider: lambda answer: 302,
    "garbage": lambda provider: lambda answer: b"\xff" + json.dumps(answer).encode(),
    "page": lambda provider: lambda answer: f"<html>{json.dumps(answer)}</html>".encode(),
    "list": lambda provider: lambda answer: json.dumps([answer]).encode(),
    "too large": lambda provider: lambda answer: {**answer, "more": "x" * 300_000},
    "nothing": lambda provider: lambda answer: {},
    "another user's": lambda provider: with_id_token(provider, oid=BOB),
    "another tenant's": lambda provider: with_id_token(provider, tid=OTHER_TENANT),
    "another app's": lambda provider: with_id_token(provider, aud=OTHER_TENANT),
    "another issuer's": lambda provider: with_id_token(provider, iss="https://login.example/v2.0"),
    "of nobody": lambda provider: lambda answer: {**answer, "id_token": None},
    "of garbage": lambda provider: lambda answer: {**answer, "id_token": "a.b.c"},
    "no end": lambda provider: lambda answer: {**answer, "expires_in": None},
    "past end": lambda provider: lambda answer: {**answer, "expires_in": -5},
    "no number": lambda provider: lambda answer: {**answer, "expires_in": "soon"},
    "another kind": lambda provider: lambda answer: {**answer, "token_type": "mac"},
    "two lines": lambda provider: lambda answer: {**answer, "access_token": f"{answer['access_token']}\r\nx: y"},
    "no text": lambda provider: lambda answer: {**answer, "access_token": [answer["access_token"]]},
    "refusal": lambda provider: lambda answer: {"error": "invalid_grant", "error_description": str(answer)},
}


@pytest.mark.parametrize("case", SPOILT)
async def test_an_answer_of_the_provider_that_is_not_whole_gives_no_token(watched: Watched, case: str) -> None:
    """And none of it is in a log or an error; the next whole one does."""
    watched.provider.spoil = SPOILT[case](watched.provider)
    headers = watched.headers(watched.provider.token())

    answer = await watched.run("call once 5", headers)

    assert answer["response"].endswith(("told: 5 not sent: refused", "told: 5 not sent: unavailable")), answer
    assert (watched.served, watched.provider.elsewhere) == ([], [])
