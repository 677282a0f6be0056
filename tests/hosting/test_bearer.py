"""Bearer tokens: real keys, and an issuer on this machine that counts what it is asked."""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import hmac
import json
import logging
import re
import sys
import time
from collections.abc import AsyncIterator
from typing import Any

import jwt
import pytest
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from hosting.bearer import BearerTokens, IssuerKeys, bearer_token
from hosting.errors import ConfigurationError, IdentityUnavailableError, UnauthorizedError
from hosting.principal import Principal, PrincipalRequest, PrincipalResolver, resolve
from tests.support.clock import Clock

pytestmark = pytest.mark.behaviour("hosting.bearer-tokens")

AUDIENCE = "our-app"
HOUR, DAY = 3600, 86_400
RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())


def jwk_of(key: Any, kid: str | None = "one", **more: Any) -> dict[str, Any]:
    """The public half of a key as an issuer publishes it."""
    public = key.public_key()
    kinds = {rsa.RSAPublicKey: jwt.algorithms.RSAAlgorithm, ec.EllipticCurvePublicKey: jwt.algorithms.ECAlgorithm}
    kind = next((kinds[found] for found in kinds if isinstance(public, found)), jwt.algorithms.OKPAlgorithm)
    return {**json.loads(kind.to_jwk(public)), "use": "sig", **({} if kid is None else {"kid": kid}), **more}


class Issuer:
    """An issuer on this machine: what it publishes, how it fails, and what it was asked."""

    def __init__(self) -> None:
        self.keys: list[Any] = [jwk_of(RSA_KEY)]
        self.metadata: dict[str, Any] = {}
        self.fault: web.StreamResponse | None = None
        self.asked: list[str] = []
        self.arrivals: asyncio.Queue[str] = asyncio.Queue()
        self.gate = asyncio.Event()
        self.gate.set()
        self.url = ""

    async def start(self) -> web.AppRunner:
        app = web.Application()
        app.router.add_get("/.well-known/openid-configuration", self._metadata)
        app.router.add_get("/keys", self._keys)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = site.name if runner.addresses is None else f"http://127.0.0.1:{runner.addresses[0][1]}"
        return runner

    async def _answer(self, request: web.Request, document: object) -> web.StreamResponse:
        self.asked.append(request.path)
        self.arrivals.put_nowait(request.path)
        await self.gate.wait()
        return self.fault or web.json_response(document)

    async def _metadata(self, request: web.Request) -> web.StreamResponse:
        return await self._answer(request, {"issuer": self.url, "jwks_uri": f"{self.url}/keys", **self.metadata})

    async def _keys(self, request: web.Request) -> web.StreamResponse:
        return await self._answer(request, {"keys": self.keys})

    def token(self, key: Any = RSA_KEY, algorithm: str = "RS256", kid: str | None = "one", **claims: Any) -> str:
        """A token that is right in all but `claims`; one that is None is left out."""
        now = int(time.time())
        right = {"iss": self.url, "aud": AUDIENCE, "sub": "ada", "iat": now, "nbf": now, "exp": now + HOUR}
        given = {name: value for name, value in {**right, **claims}.items() if value is not None}
        return jwt.encode(given, key, algorithm, headers={} if kid is None else {"kid": kid})

    def resolver(self, **options: Any) -> PrincipalResolver:
        return bearer_token(self.url, AUDIENCE, f"{self.url}/keys", **options)


class Desk:
    def __init__(self, issuer: Issuer) -> None:
        self.clock = Clock(1000.0)
        keys = IssuerKeys(f"{issuer.url}/keys", issuer.url, "RS256", self.clock)
        self.resolver = BearerTokens(keys, issuer.url, AUDIENCE, "RS256", 60, "sub", "name", "roles")

    async def reads(self, token: str) -> str | None:
        found = await signed_in(self.resolver, token)
        return found and found.id


async def signed_in(resolver: PrincipalResolver, token: str, scheme: str = "Bearer ") -> Principal | None:
    return await sent(resolver, {"authorization": f"{scheme}{token}"})


async def sent(resolver: PrincipalResolver, headers: dict[str, str]) -> Principal | None:
    try:
        return await resolve(resolver, PrincipalRequest(headers, "GET /agents"))
    except UnauthorizedError:
        return None


@pytest.fixture
async def issuer() -> AsyncIterator[Issuer]:
    issuer = Issuer()
    runner = await issuer.start()
    yield issuer
    issuer.gate.set()
    await runner.cleanup()


@pytest.fixture
def desk(issuer: Issuer) -> Desk:
    return Desk(issuer)


async def eventually(issuer: Issuer, requests: int) -> None:
    """Wait until the issuer was asked so often."""
    while len(issuer.asked) < requests:
        await asyncio.wait_for(issuer.arrivals.get(), 5)


async def test_a_token_says_who_it_is_with_name_and_roles(issuer: Issuer) -> None:
    """The issuer is the one that the app trusts; the address of its metadata is enough."""
    address = f"{issuer.url}/.well-known/openid-configuration"
    resolver = bearer_token(issuer.url, AUDIENCE, address)

    found = await signed_in(
        resolver, issuer.token(name="Ada", roles=["admin", "admin", 7, "a\nb"], aud=["x", AUDIENCE])
    )

    assert found == Principal(issuer.url, "ada", "Ada", ("admin",))
    for roles in (None, {"admin": True}):  # of another shape they are none, and sign nobody out
        assert await signed_in(resolver, issuer.token(roles=roles)) == Principal(issuer.url, "ada")
    assert issuer.asked == ["/.well-known/openid-configuration", "/keys"]


@pytest.mark.parametrize(
    ("algorithm", "key"),
    [("RS256", RSA_KEY), ("PS512", RSA_KEY), ("ES256", EC_KEY), ("EdDSA", ed25519.Ed25519PrivateKey.generate())],
)
async def test_each_kind_of_key_signs_for_its_algorithm(issuer: Issuer, algorithm: str, key: Any) -> None:
    issuer.keys = [{"kty": "none"}, "no key", jwk_of(OTHER_RSA_KEY, "two", alg="RS384"), jwk_of(key)]
    if algorithm.startswith("PS"):
        issuer.keys.append(jwk_of(EC_KEY, "two"))

    assert await signed_in(issuer.resolver(algorithm=algorithm), issuer.token(key, algorithm), "bearer  ") is not None


NOW = int(time.time())


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": NOW - 61},
        {"exp": None},
        {"exp": "soon"},
        {"nbf": NOW + HOUR},
        {"iat": NOW + HOUR},
        {"iss": "https://evil.test"},
        {"iss": ["http://127.0.0.1"]},
        {"aud": "other-app"},
        {"aud": AUDIENCE[:3]},
        {"aud": ["other-app"]},
        {"sub": ""},
        {"sub": "a\nb"},
        {"sub": "a" * 513},
    ],
)
async def test_claims_that_do_not_hold_sign_nobody_in(issuer: Issuer, claims: dict[str, Any]) -> None:
    """Expired, not yet valid, of another issuer or for another audience, or without an id."""
    token = issuer.token()
    body = {**jwt.decode(token, options={"verify_signature": False}), **claims}
    payload = json.dumps({name: value for name, value in body.items() if value is not None}).encode()
    wrong = jwt.PyJWS().encode(payload, RSA_KEY, "RS256", headers={"kid": "one"})

    assert await signed_in(issuer.resolver(), wrong) is None


def segment(content: object) -> str:
    text = content if isinstance(content, bytes) else json.dumps(content).encode()
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def forgeries(issuer: Issuer) -> dict[str, str]:
    """Tokens that somebody else made, by how."""
    head, body, signature = issuer.token().split(".")
    public = RSA_KEY.public_key()
    secrets = {
        "pem": public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        "der": public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
        "jwk": json.dumps(jwk_of(RSA_KEY)).encode(),
        "n": jwk_of(RSA_KEY)["n"].encode(),
        "empty": b"",
    }
    symmetric = segment({"alg": "HS256", "typ": "JWT", "kid": "one"})
    signed = {
        f"HS256 with the public key as {name}": f"{symmetric}.{body}."
        + segment(hmac.new(secret, f"{symmetric}.{body}".encode(), hashlib.sha256).digest())
        for name, secret in secrets.items()
    }
    nothing = {
        f"alg {alg!r}": f"{segment({'alg': alg, 'kid': 'one'})}.{body}.{end}"
        for alg in ("none", "None", "nOnE", "", None, ["RS256"], {"RS256": 1})
        for end in ("", signature)
    }
    own = {"jwk": jwk_of(OTHER_RSA_KEY), "jku": f"{issuer.url}/evil", "x5u": f"{issuer.url}/evil", "kid": "one"}
    kids = [
        "../../dev/null", "/dev/null", "' OR 1=1 --", "..\\..", "one\x00", "One", "", "two", "\ud800", 1, None, ["one"],
        {"one": 1}, "x" * 9000,
    ]  # fmt: skip
    named = {f"kid {str(kid)[:20]!r}": f"{segment({'alg': 'RS256', 'kid': kid})}.{body}.{signature}" for kid in kids}
    return {
        **signed,
        **nothing,
        **named,
        "another key": issuer.token(OTHER_RSA_KEY),
        "its own key in the header": jwt.encode({"sub": "ada"}, OTHER_RSA_KEY, "RS256", headers=own),
        "another algorithm of the key": issuer.token(algorithm="RS384"),
        "another kind of key": issuer.token(EC_KEY, "ES256"),
        "another body": f"{head}.{segment({'sub': 'eve', 'exp': NOW + HOUR})}.{signature}",
        "no signature": f"{head}.{body}.",
        "two parts": f"{head}.{body}",
        "five parts": f"{head}.{body}.{signature}.{body}.{signature}",
        "critical": jwt.encode({"sub": "ada"}, RSA_KEY, "RS256", headers={"kid": "one", "crit": ["exp"], "exp": 1}),
        "nested": f"{segment(b'[' * 9000)}.{body}.{signature}",
        "no object": f"{segment([])}.{body}.{signature}",
        "no JSON": f"{segment(b'{')}.{body}.{signature}",
        "no text": f"{segment(bytes([255, 254, 200]))}.{body}.{signature}",
        "padded": f"{head}.{body}.{signature}==",
        "no token": "token",
        "empty": "",
    }


async def test_what_somebody_else_made_signs_nobody_in(issuer: Issuer, caplog: pytest.LogCaptureFixture) -> None:
    """`none`, the public key as a secret, keys of the token's own, odd `kid`s; nothing of it is fetched or logged."""
    caplog.set_level(logging.DEBUG, "hosting.bearer")
    resolver, tokens = issuer.resolver(), forgeries(issuer)
    tokens["exactly one"] = issuer.token()

    accepted = [name for name, token in tokens.items() if await signed_in(resolver, token) is not None]

    assert accepted == ["exactly one"]
    assert issuer.asked == ["/keys"]
    parts = {part for token in tokens.values() for part in token.split(".") if len(part) > 20}
    assert [part for part in parts if part in caplog.text] == []


async def test_a_token_of_100_kb_is_refused_before_anything_is_read(issuer: Issuer) -> None:
    resolver = issuer.resolver()

    assert await signed_in(resolver, issuer.token(pad="x" * 75_000)) is None
    assert issuer.asked == []
    assert await signed_in(resolver, issuer.token(pad="x" * 9000)) is not None


@pytest.mark.parametrize(
    "unfit",
    [
        jwk_of(RSA_KEY, use="enc"),
        jwk_of(RSA_KEY, alg="PS256"),
        jwk_of(RSA_KEY, key_ops=["sign"]),
        jwk_of(RSA_KEY, n="AQAB"),
        jwk_of(RSA_KEY, kid=None) | {"kid": ["one"]},
        jwk_of(EC_KEY),
        json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(RSA_KEY)) | {"kid": "one", "key_ops": ["verify"]},
        {"kty": "oct", "kid": "one", "k": "c2VjcmV0", "alg": "RS256"},
        jwk_of(rsa.generate_private_key(public_exponent=65537, key_size=1024)),
    ],
)
async def test_a_key_that_does_not_fit_is_not_used(issuer: Issuer, unfit: dict[str, Any]) -> None:
    """Of another use, algorithm or kind, unreadable, too short, or no longer secret."""
    issuer.keys = [unfit, jwk_of(OTHER_RSA_KEY, "two")]
    resolver = issuer.resolver()

    assert await signed_in(resolver, issuer.token()) is None
    assert await signed_in(resolver, issuer.token(OTHER_RSA_KEY, kid="two")) is not None


async def test_a_token_without_a_kid_is_of_the_only_key(issuer: Issuer) -> None:
    alone = issuer.resolver()
    assert await signed_in(alone, issuer.token(kid=None)) is not None

    issuer.keys = [jwk_of(RSA_KEY, None), jwk_of(OTHER_RSA_KEY, "two")]
    assert await signed_in(issuer.resolver(), issuer.token(kid=None)) is None


async def test_keys_are_fetched_once_for_all_and_unknown_ones_asked_for_once_in_30_seconds(
    issuer: Issuer, desk: Desk
) -> None:
    """Who comes at once waits for the same fetch, a known token for none; made-up keys make the issuer no work."""
    issuer.gate.clear()
    waiting = [asyncio.create_task(desk.reads(issuer.token())) for _ in range(20)]
    await eventually(issuer, 1)
    waiting[0].cancel()
    await asyncio.sleep(0)
    issuer.gate.set()
    assert await asyncio.gather(*waiting[1:]) == ["ada"] * 19
    for asked, ahead in ((1, 29), (2, 1), (2, HOUR - 1)):
        desk.clock.now += ahead
        is_known = ahead == HOUR - 1
        for number in range(20):
            name = "one" if is_known else f"made up {number}"
            assert await desk.reads(issuer.token(kid=name)) == ("ada" if is_known else None)
        assert len(issuer.asked) == asked


async def test_an_issuer_that_is_away_is_missed_after_a_day_and_for_an_unknown_key_at_once(
    issuer: Issuer, desk: Desk
) -> None:
    """Its keys serve that long; then it is a 503 that says when to come again, and over as soon as it is back."""
    assert await desk.reads(issuer.token()) == "ada"
    issuer.fault = web.Response(status=500)
    desk.clock.now += 31
    for _ in range(3):
        with pytest.raises(IdentityUnavailableError):
            await desk.reads(issuer.token(kid="two"))
    assert len(issuer.asked) == 2
    desk.clock.now += DAY - 32
    assert await desk.reads(issuer.token()) == "ada"
    await eventually(issuer, 3)

    desk.clock.now += 31
    with pytest.raises(IdentityUnavailableError, match="cannot be fetched now") as refused:
        await desk.reads(issuer.token())
    assert (refused.value.status, refused.value.retry_after_seconds) == (503, 2.0)

    issuer.fault = None
    desk.clock.now += 31
    assert await desk.reads(issuer.token(kid="two")) is None
    assert await desk.reads(issuer.token()) == "ada"


GOOD = {"keys": [jwk_of(RSA_KEY)]}
LARGE = {**GOOD, "pad": "x" * 300_000}


@pytest.mark.parametrize(
    "fault",
    [
        {"status": 500, "text": json.dumps(GOOD)},
        {"status": 302, "headers": {"location": "/keys"}},
        {"text": "[]"},
        {"text": "[" * 100_000},
        {"text": '{"keys": []}'},
        {"text": json.dumps(LARGE)},
        {"body": gzip.compress(json.dumps(GOOD).encode()), "headers": {"content-encoding": "gzip"}},
    ],
)
async def test_an_answer_that_is_no_key_set_is_an_outage(
    issuer: Issuer, fault: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    """An error, a redirect, no JSON, too large, no key: the log names the issuer and why."""
    issuer.fault = web.Response(**fault)

    with pytest.raises(IdentityUnavailableError):
        await signed_in(issuer.resolver(), issuer.token())
    assert [record.levelname for record in caplog.records if record.name == "hosting.bearer"] == ["WARNING"]
    assert f"The keys of {issuer.url} cannot be fetched from {issuer.url}/keys: " in caplog.text
    assert issuer.asked == ["/keys"]


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ({"issuer": "https://evil.test"}, "it is the metadata of 'https://evil.test'"),
        ({"jwks_uri": "file:///etc/passwd"}, "its jwks_uri is 'file:///etc/passwd'"),
        ({"jwks_uri": "http://issuer.test/keys"}, "its jwks_uri is 'http://issuer.test/keys'"),
        ({"jwks_uri": "https://127.0.0.1:1/keys"}, "its jwks_uri is 'https://127.0.0.1:1/keys'"),
        ({"jwks_uri": 7}, "its jwks_uri is 7"),
    ],
)
async def test_metadata_of_another_issuer_is_an_outage(
    issuer: Issuer, metadata: dict[str, Any], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    issuer.metadata = metadata
    address = f"{issuer.url}/.well-known/openid-configuration"

    with pytest.raises(IdentityUnavailableError):
        await signed_in(bearer_token(issuer.url, AUDIENCE, address), issuer.token())
    assert issuer.asked == ["/.well-known/openid-configuration"]
    assert caplog.text.rstrip().endswith(reason)


RIGHT: dict[str, Any] = {"issuer": "https://i.test", "audience": "me", "jwks": "https://i.test/keys"}


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        *(({"algorithm": name}, "algorithm of bearer_token is") for name in ("HS256", "none", "rs256")),
        *(({"leeway_seconds": seconds}, "leeway_seconds of bearer_token is") for seconds in (-1, 301, float("nan"))),
        ({"issuer": ""}, "issuer of bearer_token is ''"),
        ({"audience": ""}, "audience of bearer_token is ''"),
        ({"id_claim": ""}, "id_claim of bearer_token is ''"),
        *(
            ({"jwks": address}, "jwks of bearer_token is")
            for address in (
                "http://i.test/keys",
                "file:///keys",
                "i.test",
                "",
                "https://",
                "http://[",
                "http://127.1.t/",
            )
        ),
    ],
)
def test_options_that_cannot_be_meant_are_refused_at_start_up(wrong: dict[str, Any], sentence: str) -> None:
    """By a sentence that names the option, the value, and what is right."""
    with pytest.raises(ConfigurationError) as refused:
        bearer_token(**{**RIGHT, **wrong})

    assert refused.value.detail.startswith(sentence)


def test_a_missing_library_is_named_with_the_file_that_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """At start-up, not at the first request; so is PyJWT without the library that knows the keys."""
    sentence = re.escape('pip install "pyjwt[crypto]", and add the line of requirements-auth.txt')

    monkeypatch.setattr("jwt.algorithms.has_crypto", False)
    with pytest.raises(ConfigurationError, match=sentence):
        bearer_token(**RIGHT)
    monkeypatch.setitem(sys.modules, "jwt.algorithms", None)
    with pytest.raises(ConfigurationError, match=sentence):
        bearer_token(**RIGHT)
