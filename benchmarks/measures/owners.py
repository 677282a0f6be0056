"""What it costs to know who asks: until the address of the thread is there, by each way in which an app may ask."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

import jwt
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import rsa

from benchmarks.figures import Figure, Result
from benchmarks.samples import median
from benchmarks.sizes import Sizes
from benchmarks.turns import WrongAnswerError
from hosting.bearer import bearer_token
from hosting.core.stores.memory import MemoryObjects, MemoryThreadStore
from hosting.core.thread_log import ThreadLog
from hosting.features.owners.access import OwnerAccess
from hosting.features.owners.sharing import Sharing
from hosting.http.routes import run_route
from hosting.names import Address
from hosting.principal import Principal, PrincipalRequest, PrincipalResolver, easy_auth

ISSUER, AUDIENCE, WHO, KEY_ID = "https://login.example", "app", "ada", "one"
ROUNDS = 9


async def measure(sizes: Sizes) -> Result:
    """In this process, in rounds of which the middle one counts; the issuer of tokens is a server on this machine.

    Raises WrongAnswerError where somebody else is signed in, and where a warm token asks the issuer again.
    """
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    asked: list[str] = []

    async def keys(request: web.Request) -> web.StreamResponse:
        asked.append(request.path)
        public: dict[str, Any] = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key()))
        return web.json_response({"keys": [{**public, "use": "sig", "kid": KEY_ID}]})

    app = web.Application()
    app.router.add_get("/keys", keys)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": WHO, "exp": int(time.time()) + 3600}
        token = jwt.encode(claims, key, "RS256", headers={"kid": KEY_ID})
        signed = bearer_token(ISSUER, AUDIENCE, f"http://127.0.0.1:{runner.addresses[0][1]}/keys")
        ways: dict[str, tuple[PrincipalResolver, dict[str, str]]] = {
            "a function of the app": (_own, {"x-user": WHO}),
            "easy_auth": (easy_auth({"WEBSITE_AUTH_ENABLED": "True"}), _platform_headers()),
            "bearer token, warm": (signed, {"authorization": f"Bearer {token}"}),
        }
        figures = [Figure(name, await _microseconds(*way, sizes.checks), "µs") for name, way in ways.items()]
    finally:
        await runner.cleanup()
    if len(asked) != 1:
        raise WrongAnswerError(f"The issuer was asked for its keys {len(asked)} times.")
    return Result(tuple(figures))


def _own(request: PrincipalRequest) -> Principal:
    return Principal(ISSUER, request.headers["x-user"])


def _platform_headers() -> dict[str, str]:
    claims = [{"typ": "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/nameidentifier", "val": WHO}]
    principal = {"auth_typ": "google", "name_typ": "name", "role_typ": "roles", "claims": claims}
    text = base64.b64encode(json.dumps(principal).encode()).decode()
    return {"x-ms-client-principal": text, "x-ms-client-principal-id": WHO, "x-ms-client-principal-idp": "google"}


async def _microseconds(resolver: PrincipalResolver, headers: dict[str, str], checks: int) -> float:
    """Return what one request costs, from its headers to its thread's entity."""
    log = ThreadLog(MemoryThreadStore("hub"), MemoryObjects(), "hub")
    access, route, rounds = OwnerAccess(resolver, "", Sharing(log)), run_route("Joker"), []
    await access.of(route, headers, {}, {})
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(checks):
            sender = await access.of(route, headers, {}, {})
            Address.of("Joker", "t", sender.owner).entity  # noqa: B018
        rounds.append((time.perf_counter() - began) / checks * 1e6)
    if sender.principal is None or sender.principal.id != WHO:
        raise WrongAnswerError(f"{sender.principal} was signed in.")
    return median(rounds)
