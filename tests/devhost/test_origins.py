"""Web pages of other sites cannot reach the host, its own endpoints and the app's functions alike."""

from __future__ import annotations

import httpx
import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

from devhost.http.origins import OriginGuard
from tests.support.mcp_exchange import PATH
from tests.support.running_host import GUARD_SECONDS, RunningHost

OWN = "http://box.lan:7071"


async def greet(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer anything."""
    await PlainTextResponse("served")(scope, receive, send)


async def posted(*headers: tuple[str, str], is_loopback: bool = True) -> int:
    """Return the status of a post with these headers, byte by byte as they are here: no client would send them."""
    sent: list[Message] = []
    named = [*headers] if any(name == "host" for name, _ in headers) else [("host", "localhost"), *headers]
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/x",
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in named],
    }

    async def keep(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.request", "body": b""}

    await OriginGuard(greet, None, is_loopback=is_loopback)(scope, receive, keep)
    return int(sent[0]["status"])


OTHER_HOSTS = [
    *("evil.test", "127.0.0.1.evil.test", "localhost.evil.test:80", "192.168.0.1", "0.0.0.0"),
    *("[::1].evil.com", "[::1]evil.com", "[::1]:80.evil.com", "user@localhost", "user:pw@localhost"),
    *("evil.com\\@localhost", "localhost\\.evil.com", "localhost/", "localhost?", "localhost#", "[localhost]"),
    *("::1", "[127.0.0.1]", "[::1%25lo]", "localhost..", "localhost:65536", "localhost:+80", "localhost:8_0", ""),
    *("127.1", "127.0.0.1.", "0x7f.0.0.1", "localhost,evil.com", "localhost evil.com", "\xa0localhost"),
    "http://localhost",
]
"""A name that someone pointed at 127.0.0.1 still shows in the Host header, whatever loopback name stands in it."""
OTHER_ORIGINS = [
    *("http://evil.test", "null", "https://localhost.evil.test"),
    *("", "localhost", "//localhost", "moz-extension://localhost", "capacitor://localhost", "ionic://localhost"),
    *("javascript://localhost", "file://localhost", "http://[::1].evil.com", "http://evil.com\\@localhost"),
    *("http://user@localhost", "http://localhost/", "http://localhost?", "http://localhost#", "http:localhost"),
    *("http://localhost http://evil.com", "http://localhost, http://evil.com", "http://localhost:65536", "http://"),
]
"""An origin of a page is a scheme, `http` or `https`, and a host: nothing before, between or behind them."""
OTHER_SITES = ["cross-site", "same-site", "cross-site ", "Cross-Site", "cross-site;x", "other", "", "same-origin, none"]
"""A value that no browser sends today tells of no page of this host."""


TWICE = {"host": ("localhost", "evil.com"), "origin": ("http://localhost", "http://evil.com")}
TWICE["sec-fetch-site"] = ("same-origin", "cross-site")
OWN_HEADERS = [
    *(("host", name) for name in ("localhost", "LocalHost.:1", "127.8.9.1:65535", "[::1]", "[::1]:7071", "localhost ")),
    *(("origin", page) for page in ("http://localhost", "https://127.0.0.1:1", "http://[::1]:3000 ")),
    *(("sec-fetch-site", site) for site in ("same-origin", "none", "same-origin ")),
    ("x-none", "curl and SDKs send none of them"),
]


@pytest.mark.behaviour("devhost.dns-rebinding")
@pytest.mark.behaviour("devhost.guard-grammar")
async def test_what_is_not_this_machines_by_the_grammar_is_refused_and_what_is_is_served() -> None:
    """Of what comes twice none counts: the app may read the other one."""
    named = {"host": OTHER_HOSTS, "origin": OTHER_ORIGINS, "sec-fetch-site": OTHER_SITES}
    others = [[(name, value)] for name, values in named.items() for value in values]
    others += [[(name, value) for value in values] for name, values in TWICE.items()]

    assert [headers for headers in others if await posted(*headers) != 403] == []
    assert [header for header in OWN_HEADERS if await posted(header) != 200] == []


NETWORK: list[tuple[int, dict[str, str]]] = [
    (200, {}),
    (200, {"origin": OWN, "sec-fetch-site": "same-origin"}),
    (200, {"origin": "https://a.test", "x-forwarded-host": "a.test", "sec-fetch-site": "same-origin"}),
    (200, {"origin": "http://localhost:7071"}),
    (403, {"origin": "https://evil.test"}),
    (403, {"origin": "null"}),
    (403, {"origin": "http://127.0.0.1:7071.evil.test"}),
    (403, {"sec-fetch-site": "cross-site"}),
    (403, {"origin": "http://box.lan:8080", "sec-fetch-site": "same-site"}),
    (403, {"origin": "moz-extension://box.lan:7071"}),
    (403, {"origin": ""}),
]


@pytest.mark.behaviour("devhost.dns-rebinding")
async def test_a_host_that_is_opened_to_a_network_serves_its_own_pages_and_no_other_sites() -> None:
    """By whatever name it is called: others' pages reach it by the developer's browser, as they reach the loopback."""
    named = ("host", "box.lan:7071")
    assert [(await posted(named, *each.items(), is_loopback=False), each) for _, each in NETWORK] == NETWORK


@pytest.mark.slow
@pytest.mark.behaviour("devhost.dns-rebinding")
@pytest.mark.parametrize("path", [PATH, "/admin/host/status", "/api/echo/x"])
def test_every_door_of_a_host_is_guarded(host: RunningHost, path: str) -> None:
    """A post of plain text needs no preflight: nothing but the host stands before the app. A link may be followed."""
    page = {"origin": "https://page.test", "content-type": "text/plain"}
    refused = httpx.post(f"{host.origin}{path}", content="{}", headers=page, timeout=GUARD_SECONDS)
    link = httpx.get(f"{host.origin}/api/echo/x", headers={"sec-fetch-site": "cross-site"}, timeout=GUARD_SECONDS)

    assert (refused.status_code, link.status_code) == (403, 200)
    assert refused.text == (
        "Requests from pages of 'https://page.test' are not allowed. "
        "To open the host to a page, name its origin in Host.CORS of local.settings.json."
    )
