"""A host that listens on other addresses than the loopback: opened to a network, and yet not to every web page."""

from __future__ import annotations

import httpx
import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from devhost.http.origins import OriginGuard

OWN = "http://box.lan:7071"


async def greet(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer anything."""
    await PlainTextResponse("served")(scope, receive, send)


async def post(**headers: str) -> int:
    """Post to an opened host by a name of its network; return the status."""
    app = OriginGuard(greet, None, is_loopback=False)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=OWN) as client:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return (await client.post("/api/x", headers=named)).status_code


@pytest.mark.behaviour("devhost.dns-rebinding")
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": OWN, "sec_fetch_site": "same-origin"},
        {"origin": "https://mine.example", "x_forwarded_host": "mine.example", "sec_fetch_site": "same-origin"},
        {"origin": "http://localhost:7071"},
    ],
    ids=["no page", "a page of its own", "a page of its own behind a proxy", "a page of this machine"],
)
async def test_an_opened_host_serves_programs_and_its_own_pages(headers: dict[str, str]) -> None:
    """By whatever name it is called."""
    assert await post(**headers) == 200


@pytest.mark.behaviour("devhost.dns-rebinding")
@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.test"},
        {"origin": "https://evil.test", "sec_fetch_site": "cross-site"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:7071.evil.test"},
        {"sec_fetch_site": "cross-site"},
        {"origin": "http://box.lan:8080", "sec_fetch_site": "same-site"},
        {"origin": "moz-extension://box.lan:7071"},
        {"origin": ""},
    ],
)
async def test_an_opened_host_keeps_other_sites_pages_out(headers: dict[str, str]) -> None:
    """They reach it by the developer's browser, as they reach one on the loopback."""
    assert await post(**headers) == 403
