"""Web pages of other sites cannot reach the host, its own endpoints and the app's functions alike."""

from __future__ import annotations

from http.client import HTTPConnection

import httpx
import pytest

from tests.support.running_host import GUARD_SECONDS

pytestmark = pytest.mark.slow

CALL = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ACCEPT = {"accept": "application/json, text/event-stream"}


def ping(base_url: str, **headers: str) -> httpx.Response:
    url = f"{base_url}/runtime/webhooks/mcp"
    return httpx.post(url, json=CALL, headers={**ACCEPT, **headers}, timeout=GUARD_SECONDS)


@pytest.mark.behaviour("devhost.dns-rebinding")
@pytest.mark.parametrize("host", ["evil.test", "127.0.0.1.evil.test", "localhost.evil.test:80", "192.168.0.1"])
def test_a_host_header_that_is_not_loopback_is_refused(classic_host, host):
    """A name that someone pointed at 127.0.0.1 still shows in the Host header."""
    answer = ping(classic_host.origin, host=host)
    assert (answer.status_code, "is not this machine's loopback" in answer.text) == (403, True)


@pytest.mark.behaviour("devhost.dns-rebinding")
@pytest.mark.parametrize("origin", ["http://evil.test", "null", "https://localhost.evil.test"])
def test_a_page_of_another_site_is_refused(classic_host, origin):
    """The admin endpoints are kept from it too."""
    assert ping(classic_host.origin, origin=origin).status_code == 403
    status = httpx.get(f"{classic_host.origin}/admin/host/status", headers={"origin": origin}, timeout=GUARD_SECONDS)
    assert status.status_code == 403


@pytest.mark.behaviour("devhost.dns-rebinding")
@pytest.mark.parametrize("origin", ["http://localhost:6274", "http://127.0.0.1", "http://[::1]:3000"])
def test_a_page_on_this_machine_is_served(classic_host, origin):
    """The MCP inspector runs on one."""
    assert ping(classic_host.origin, origin=origin, host="LOCALHOST:1").status_code == 200


def post(base_url: str, **headers: str) -> int:
    """Return the status of the kind of request that any page can send without being asked: a form's text."""
    headers = {"content-type": "text/plain", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return httpx.post(f"{base_url}/api/echo/x", content="{}", headers=headers, timeout=GUARD_SECONDS).status_code


@pytest.mark.behaviour("devhost.dns-rebinding")
@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.test"},
        {"origin": "http://evil.test"},
        {"origin": "null"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site", "origin": "http://localhost:3000"},
    ],
)
def test_a_function_is_kept_from_other_sites_pages_too(classic_host, headers):
    """A post of plain text needs no preflight, so nothing but the host stands before the app."""
    assert post(classic_host.origin, **headers) == 403


@pytest.mark.behaviour("devhost.dns-rebinding")
@pytest.mark.parametrize("headers", [{}, {"sec_fetch_site": "same-origin"}, {"sec_fetch_site": "none"}])
def test_a_function_answers_what_is_no_page_and_its_own_pages(classic_host, headers):
    """curl and SDKs send neither header."""
    assert post(classic_host.origin, **headers) == 200


@pytest.mark.behaviour("devhost.dns-rebinding")
def test_a_refusal_says_how_to_open_the_host(classic_host):
    """In one sentence more."""
    headers = {"origin": "https://page.test"}
    refused = httpx.get(f"{classic_host.origin}/api/echo/x", headers=headers, timeout=GUARD_SECONDS)
    assert refused.text == (
        "Requests from pages of 'https://page.test' are not allowed. "
        "To open the host to a page, name its origin in Host.CORS of local.settings.json."
    )


def sent_status(base_url: str, *headers: tuple[str, str]) -> int:
    """Return the status of a post with these headers, byte by byte as they are here: no client would send them."""
    connection = HTTPConnection(base_url.removeprefix("http://"), timeout=GUARD_SECONDS)
    connection.putrequest("POST", "/api/echo/x", skip_host="host" in dict(headers))
    for name, value in (("content-length", "0"), *headers):
        connection.putheader(name, value)
    connection.endheaders()
    status = connection.getresponse().status
    connection.close()
    return status


@pytest.mark.behaviour("devhost.guard-grammar")
@pytest.mark.parametrize(
    "host",
    [
        *("[::1].evil.com", "[::1]evil.com", "[::1]:80.evil.com", "user@localhost", "user:pw@localhost"),
        *("evil.com\\@localhost", "localhost\\.evil.com", "localhost/", "localhost?", "localhost#", "[localhost]"),
        *("::1", "[127.0.0.1]", "[::1%25lo]", "localhost..", "localhost:65536", "localhost:+80", "localhost:8_0", ""),
        *(
            "127.1",
            "127.0.0.1.",
            "0x7f.0.0.1",
            "localhost,evil.com",
            "localhost evil.com",
            "\xa0localhost",
            "http://localhost",
        ),
    ],
)
def test_a_host_that_is_none_by_the_grammar_is_refused(classic_host, host):
    """Whatever loopback name stands in it."""
    assert sent_status(classic_host.origin, ("host", host)) == 403


@pytest.mark.behaviour("devhost.guard-grammar")
@pytest.mark.parametrize(
    "origin",
    [
        *("", "localhost", "//localhost", "moz-extension://localhost", "capacitor://localhost", "ionic://localhost"),
        *("javascript://localhost", "file://localhost", "http://[::1].evil.com", "http://evil.com\\@localhost"),
        *("http://user@localhost", "http://localhost/", "http://localhost?", "http://localhost#", "http:localhost"),
        *("http://localhost http://evil.com", "http://localhost, http://evil.com", "http://localhost:65536", "http://"),
    ],
)
def test_an_origin_that_is_none_of_a_web_page_is_refused(classic_host, origin):
    """An origin of a page is a scheme, `http` or `https`, and a host: nothing before, between or behind them."""
    assert sent_status(classic_host.origin, ("origin", origin)) == 403


@pytest.mark.behaviour("devhost.guard-grammar")
@pytest.mark.parametrize(
    "site", ["cross-site ", "cross-site\t", "Cross-Site", "cross-site;x", "other", "", "same-origin, none"]
)
def test_a_site_that_is_not_the_pages_own_may_not_write(classic_host, site):
    """A value that no browser sends today tells of no page of this host."""
    assert sent_status(classic_host.origin, ("sec-fetch-site", site)) == 403


@pytest.mark.behaviour("devhost.guard-grammar")
@pytest.mark.parametrize(
    "headers",
    [
        (("host", "localhost"), ("host", "evil.com")),
        (("origin", "http://localhost"), ("origin", "http://evil.com")),
        (("sec-fetch-site", "same-origin"), ("sec-fetch-site", "cross-site")),
    ],
    ids=["hosts", "origins", "sites"],
)
def test_of_what_comes_twice_none_counts(classic_host, headers):
    """The app may read the other one."""
    assert sent_status(classic_host.origin, *headers) == 403


@pytest.mark.behaviour("devhost.guard-grammar")
@pytest.mark.parametrize(
    "header",
    [
        *(
            ("host", host)
            for host in ("localhost", "LocalHost.:1", "127.0.0.1:65535", "[::1]", "[::1]:7071", "localhost ")
        ),
        *(("origin", origin) for origin in ("http://localhost", "https://127.0.0.1:1", "http://[::1]:3000 ")),
        *(("sec-fetch-site", site) for site in ("same-origin", "none", "same-origin ")),
    ],
)
def test_blanks_behind_a_value_are_no_part_of_it(classic_host, header):
    """What is this machine's by the grammar is served."""
    assert sent_status(classic_host.origin, header) == 200
