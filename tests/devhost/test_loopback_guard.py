"""Web pages of other sites cannot reach the host's own endpoints."""

from __future__ import annotations

import httpx
import pytest

from devhost.http.loopback import is_loopback_name
from tests.support.running_host import GUARD_SECONDS

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


@pytest.mark.parametrize(
    ("name", "expected"),
    [("localhost", True), ("127.8.9.1", True), ("::1", True), ("localhost.", True), ("0.0.0.0", False), ("", False)],
)
def test_loopback_names_are_told_from_others(name, expected):
    """Names and addresses, without port."""
    assert is_loopback_name(name) is expected
