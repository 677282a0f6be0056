"""Bearer tokens: the caller is identified by a token that an identity provider signed.

Theory. Nothing in a token is believed before its signature holds. Until then its header does one thing: its `kid` is
looked up among the keys that the issuer publishes. The algorithm is the app's choice and not the token's. The keys are
fetched from the one address that the app gave, and serve from memory: a token of a known key makes no network call.
"""

from __future__ import annotations

import asyncio
import base64
import ipaddress
import json
import logging
import math
import re
import socket
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from msgspec import Struct

from hosting.errors import ConfigurationError, IdentityUnavailableError
from hosting.exchange import UnreadableAnswerError, exchange
from hosting.principal import Principal, PrincipalRequest, PrincipalResolver, readable, sent_once

if TYPE_CHECKING:
    from jwt import PyJWK

logger = logging.getLogger(__name__)

ALGORITHMS: Mapping[str, tuple[str, str | None]] = {
    **{f"{family}{bits}": ("RSA", None) for family in ("RS", "PS") for bits in (256, 384, 512)},
    "ES256": ("EC", "P-256"),
    "ES384": ("EC", "P-384"),
    "ES512": ("EC", "P-521"),
    "EdDSA": ("OKP", "Ed25519"),
}
"""The algorithms that may be chosen, each with the `kty` and the `crv` of its keys; all of them asymmetric."""

FRESH_SECONDS = 3600.0
STALE_SECONDS = 86_400.0
PAUSE_SECONDS = 30.0
"""The shortest time between two fetches for keys that are not known."""

PAUSE_WITHOUT_KEYS_SECONDS = 2.0
_FETCH_SECONDS = 5.0
_MOST_FETCHED_BYTES = 262_144
_MOST_HEADER_CHARACTERS = 16_384
_MOST_LEEWAY_SECONDS = 300
_LEAST_RSA_BITS = 2048
_BEARER = re.compile(r"bearer +([\w-]+\.[\w-]+\.[\w-]+)", re.IGNORECASE | re.ASCII)


def bearer_token(
    issuer: str,
    audience: str,
    jwks: str,
    *,
    algorithm: str = "RS256",
    leeway_seconds: float = 60,
    id_claim: str = "sub",
    name_claim: str = "name",
    roles_claim: str = "roles",
) -> PrincipalResolver:
    """Return the resolver of `Authorization: Bearer` tokens (RFC 7519) that `issuer` signed for `audience`.

    `jwks` is the address of the issuer's key set, or of its OpenID metadata, whose `issuer` must then be the same. It
    is https, or http on this machine. A token must have `exp`, `iss`, `aud` and the claim `id_claim`. `leeway_seconds`
    (0 to 300) is how far the issuer's clock may be from ours. `roles_claim` holds a list of texts, or one.

    Whatever is wrong with a token signs nobody in. Raises `IdentityUnavailableError` while the keys cannot be fetched,
    and `ConfigurationError` here for an option that cannot be meant and where PyJWT is not installed.

    For Entra ID, of the tenant TENANT (its id) and your app registration, whose tokens must be of version 2:

        bearer_token(
            issuer="https://login.microsoftonline.com/TENANT/v2.0",
            audience="CLIENT_ID",
            jwks="https://login.microsoftonline.com/TENANT/v2.0/.well-known/openid-configuration",
            id_claim="oid",
        )
    """
    _refuse_wrong({"issuer": issuer, "audience": audience, "id_claim": id_claim}, algorithm, leeway_seconds, jwks)
    keys = IssuerKeys(jwks, issuer, algorithm)
    return BearerTokens(keys, issuer, audience, algorithm, leeway_seconds, id_claim, name_claim, roles_claim)


def _refuse_wrong(texts: Mapping[str, object], algorithm: str, leeway_seconds: float, jwks: object) -> None:
    try:
        from jwt.algorithms import has_crypto
    except ImportError:
        has_crypto = False
    if not has_crypto:
        raise ConfigurationError(
            'bearer_token needs PyJWT: run pip install "pyjwt[crypto]", and '
            "add the line of requirements-auth.txt to requirements.txt."
        )
    for name, value in texts.items():
        if not isinstance(value, str) or not value:
            raise ConfigurationError(f"{name} of bearer_token is {value!r}: it must be a non-empty text.")
    if algorithm not in ALGORITHMS:
        raise ConfigurationError(
            f"algorithm of bearer_token is {algorithm!r}: it must be one of {', '.join(ALGORITHMS)}, which have "
            "public keys."
        )
    if not 0 <= leeway_seconds <= _MOST_LEEWAY_SECONDS:
        raise ConfigurationError(
            f"leeway_seconds of bearer_token is {leeway_seconds!r}: it must be 0 to {_MOST_LEEWAY_SECONDS}."
        )
    if not _is_safe(jwks):
        raise ConfigurationError(
            f"jwks of bearer_token is {jwks!r}: it must be an address that begins with https://, or with http:// on "
            "this machine."
        )


class BearerTokens(Struct, frozen=True):
    """The resolver: reads and checks the token of a request."""

    sign_in_scheme: ClassVar[str] = "Bearer"
    """The scheme of the header Authorization by which clients sign in."""

    keys: IssuerKeys
    issuer: str
    audience: str
    algorithm: str
    leeway_seconds: float
    id_claim: str
    name_claim: str
    roles_claim: str

    async def __call__(self, request: PrincipalRequest) -> Principal | None:
        """Return the token's principal, None for an invalid token; raises `IdentityUnavailableError`."""
        import jwt

        sent = sent_once(request.headers, "authorization")
        if not sent or len(sent) > _MOST_HEADER_CHARACTERS:
            return None
        found = _BEARER.fullmatch(sent)
        if found is None:
            return None
        try:
            return await self._check(found[1])
        except (jwt.PyJWTError, ValueError, TypeError, RecursionError) as error:
            logger.debug("A bearer token was refused: %s", type(error).__name__)
            return None

    async def _check(self, token: str) -> Principal | None:
        import jwt

        # PyJWT reads the same bytes again, strictly: this is only to ask for the key.
        header = json.loads(base64.urlsafe_b64decode(token.partition(".")[0] + "=="))
        if not isinstance(header, dict) or header.get("alg") != self.algorithm:
            return None
        key = await self.keys.find(header.get("kid"))
        if key is None:
            return None
        claims = jwt.decode(
            token,
            key,
            algorithms=[self.algorithm],
            audience=self.audience,
            issuer=self.issuer,
            leeway=self.leeway_seconds,
            options={"require": ["exp", "iss", "aud", self.id_claim]},
        )
        name = next(iter(readable([claims.get(self.name_claim)])), None)
        roles = claims.get(self.roles_claim)
        roles = readable(roles if isinstance(roles, list) else [roles])
        return Principal(self.issuer, claims[self.id_claim], name, roles)


class IssuerKeys:
    """An issuer's public keys by their `kid`.

    They are fresh for an hour. Then they serve on, at most for a day, while they are fetched again after the answers.
    A `kid` that is not among them has them fetched again, at most every 30 s; the caller meanwhile waits for the same
    fetch. A key that the issuer takes back is thus accepted for an hour more, and longer only where the issuer cannot
    be reached.
    """

    def __init__(self, address: str, issuer: str, algorithm: str, clock: Callable[[], float] = time.monotonic) -> None:
        """`address` is that of the key set or of the OpenID metadata; `clock` returns seconds."""
        self._address, self._issuer, self._algorithm = address, issuer, algorithm
        self._clock = clock
        self._keys: Mapping[str | None, PyJWK] = {}
        self._fetched_at = self._next_fetch_at = -math.inf
        self._has_failed = True  # until the first fetch ends
        self._fetching: asyncio.Task[None] | None = None

    async def find(self, kid: str | None) -> PyJWK | None:
        """Return the key of that `kid`, or the only key for a token without one; None where the issuer has none.

        Raises `IdentityUnavailableError` where the key is not known and the issuer cannot be reached.
        """
        now = self._clock()
        age_seconds = now - self._fetched_at
        if age_seconds >= STALE_SECONDS:
            self._keys = {}
        key = self._keys.get(kid)
        if key is not None:
            if age_seconds >= FRESH_SECONDS:
                self._fetch_soon(now)
            return key
        fetching = self._fetch_soon(now)
        if fetching is not None:
            await asyncio.shield(fetching)
        key = self._keys.get(kid)
        if key is None and self._has_failed:
            raise IdentityUnavailableError(
                "The token cannot be checked: the issuer's keys cannot be fetched now. Try again.",
                max(1.0, self._next_fetch_at - self._clock()),
            )
        return key

    def _fetch_soon(self, now: float) -> asyncio.Task[None] | None:
        """Return the current fetch, or a new one; None if it is too early for a new one."""
        loop = asyncio.get_running_loop()
        running = self._fetching
        if running is not None and not running.done() and running.get_loop() is loop:
            return running
        if now < self._next_fetch_at:
            return None
        self._fetching = loop.create_task(self._fetch())
        return self._fetching

    async def _fetch(self) -> None:
        try:
            self._keys = await asyncio.wait_for(self._download(), _FETCH_SECONDS)
            self._fetched_at, self._has_failed = self._clock(), False
        except (OSError, ValueError, RecursionError) as error:
            self._has_failed = True
            reason = str(error) or type(error).__name__
            logger.warning("The keys of %s cannot be fetched from %s: %s", self._issuer, self._address, reason)
        finally:
            self._next_fetch_at = self._clock() + (PAUSE_SECONDS if self._keys else PAUSE_WITHOUT_KEYS_SECONDS)

    async def _download(self) -> Mapping[str | None, PyJWK]:
        document = await _get_object(self._address)
        if "jwks_uri" in document:
            document = await _get_object(self._address_in(document))
        published = document.get("keys")
        keys: dict[str | None, PyJWK] = {}
        for jwk in published if isinstance(published, list) else ():
            key = _usable_key(jwk, self._algorithm) if isinstance(jwk, dict) else None
            if key is not None:
                keys[key.key_id] = key
        if not keys:
            raise ValueError(f"it has no key for {self._algorithm}")
        if len(keys) == 1:
            keys[None] = next(iter(keys.values()))
        else:
            keys.pop(None, None)
        return keys

    def _address_in(self, metadata: Mapping[str, Any]) -> str:
        if metadata.get("issuer") != self._issuer:
            raise ValueError(f"it is the metadata of {metadata.get('issuer')!r}")
        address = metadata["jwks_uri"]
        if not _is_safe(address) or urlsplit(address).scheme != urlsplit(self._address).scheme:
            raise ValueError(f"its jwks_uri is {address!r}")
        return str(address)


async def _addresses(host: str, port: int) -> list[str]:
    infos = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(info[4][0]) for info in infos]


async def _get_object(address: str) -> Mapping[str, Any]:
    """Return the JSON object at an address; `ValueError` for another answer, a redirect, or too large a body."""
    headers = {"accept": "application/json", "accept-encoding": "identity", "user-agent": "durable-agent-host"}
    try:
        answer = await exchange("GET", address, headers, resolve=_addresses, most_body_bytes=_MOST_FETCHED_BYTES)
    except UnreadableAnswerError as error:
        raise ValueError(f"{address}: {error}") from error
    if answer.status != 200:
        raise ValueError(f"{address} answers {answer.status}")
    document = json.loads(answer.body)
    if not isinstance(document, dict):
        raise ValueError(f"{address} does not answer with a JSON object")
    return document


def _is_safe(address: object) -> bool:
    """Return whether the answer of this address cannot be changed on its way."""
    if not isinstance(address, str):
        return False
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
    except ValueError:
        return False
    if parts.scheme == "https":
        return bool(host)
    try:
        is_loopback = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_loopback = False
    return parts.scheme == "http" and is_loopback


def _usable_key(jwk: Mapping[str, Any], algorithm: str) -> PyJWK | None:
    """Return the public key in the set, None for a key of another use or algorithm, or a weak key."""
    import jwt

    kind, curve = ALGORITHMS[algorithm]
    operations = jwk.get("key_ops", ["verify"])
    may_verify = isinstance(operations, list) and "verify" in operations
    if jwk.get("kty") != kind or jwk.get("use") not in (None, "sig") or jwk.get("alg") not in (None, algorithm):
        return None
    # Whoever publishes the private part has given the key away.
    if "d" in jwk or not may_verify or (curve and jwk.get("crv") != curve):
        return None
    if not isinstance(jwk.get("kid"), str | None):
        return None
    try:
        key = jwt.PyJWK(dict(jwk), algorithm)
    except (jwt.PyJWTError, ValueError, TypeError, KeyError):
        return None
    return key if kind != "RSA" or key.key.key_size >= _LEAST_RSA_BITS else None
