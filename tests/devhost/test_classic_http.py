"""Classic HTTP functions through a real host on a socket; expectations are the recorded ones."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.support.running_host import GUARD_SECONDS, RunningHost

pytestmark = pytest.mark.slow

TEXT = "text/plain; charset=utf-8"


@pytest.fixture(scope="module")
def client(classic_host: RunningHost) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=classic_host.origin, timeout=GUARD_SECONDS) as client:
        yield client


@pytest.mark.behaviour("devhost.classic-request-as-recorded")
def test_a_function_sees_the_request_as_the_worker_builds_it(client, classic_host):
    """Method, URL as received, headers, joined query values, decoded route values, body, context, pool thread."""
    path = "/api/echo/b%2Fob%20x/7?q=a%20b&q=c&Q=d&empty=&code=k&z=%zz"
    answer = client.put(path, headers=[("X-Test", "1"), ("X-Test", "2")], content=b"body")
    assert answer.json() == {
        "method": "PUT",
        "url": classic_host.origin + path,
        "header": "1,2",
        "params": {"q": "a b,c,d", "code": "k", "z": "%zz"},
        "route": {"name": "b%2Fob x", "id": "7"},
        "body": "body",
        "function": "echo",
        "has_id": True,
        "thread": True,
    }


@pytest.mark.behaviour("devhost.classic-returns-as-recorded")
@pytest.mark.parametrize(
    ("kind", "status", "content_type", "body"),
    [
        ("none", 500, None, b""),
        ("dict", 500, None, b""),
        ("text", 200, TEXT, b"plain text"),
        ("empty", 200, TEXT, b""),
        ("json_object", 200, TEXT, b'{\n  "a": 1,\n  "b": [\n    1,\n    2\n  ],\n  "c": "x"\n}'),
        ("json_list", 200, TEXT, b"[\n  1,\n  2\n]"),
        ("json_text", 200, TEXT, b"q"),
        ("envelope", 201, "application/x-z; charset=utf-8", b'{"a":1}'),
        ("status_text", 202, TEXT, b"text"),
        ("response", 200, "application/json", b'{"a":1}'),
        ("no_content", 204, TEXT, b""),
        ("odd_status", 599, TEXT, b"odd"),
        ("wrong_length", 500, None, b""),
        ("latin", 200, "text/html; charset=latin-1", b"\xe9"),
    ],
)
def test_a_returned_value_is_answered_as_the_real_host_answers_it(client, kind, status, content_type, body):
    answer = client.get(f"/api/returns/{kind}")
    assert (answer.status_code, answer.headers.get("content-type"), answer.content) == (status, content_type, body)


@pytest.mark.behaviour("devhost.failures-hidden-from-callers")
def test_a_raising_function_is_an_empty_500_and_its_traceback_is_logged(client, classic_host):
    """The caller learns nothing of the error, the developer everything."""
    answer = client.get("/api/raises")
    assert (answer.status_code, answer.content) == (500, b"")
    classic_host.wait_for("ValueError: not for callers")


@pytest.mark.behaviour("devhost.function-timeout")
@pytest.mark.parametrize("path", ["/api/slow/30", "/api/slow_thread/2"])
def test_a_function_past_its_timeout_is_answered_500(client, classic_host, path):
    """Async functions are cancelled; the thread of a sync one cannot be, but its caller need not wait."""
    answer = client.get(path)
    assert (answer.status_code, answer.content) == (500, b"")
    classic_host.wait_for("Timeout value of 00:00:01 was exceeded by function")


@pytest.mark.behaviour("devhost.unmatched-is-404")
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/nope"),
        ("GET", "/api/echo/x/notanumber"),
        ("DELETE", "/api/echo/x"),
        ("HEAD", "/api/echo/x"),
        ("OPTIONS", "/api/echo/x"),
        ("GET", "/api//echo/x"),
        ("GET", "/echo/x"),
        ("GET", "/api/admin-only"),
        ("GET", "/api/turned-off"),
    ],
)
def test_what_no_route_takes_is_an_empty_404(client, method, path):
    answer = client.request(method, path)
    assert (answer.status_code, answer.content) == (404, b"")


@pytest.mark.behaviour("devhost.order-by-upper-cased-name")
def test_the_first_function_by_name_wins_over_a_more_precise_route(client):
    assert client.get("/api/shadow/literal").text == "a_parameter"


@pytest.mark.behaviour("devhost.process-variables-win")
def test_local_settings_are_in_the_apps_environment(client):
    """Also the variables that the real host sets."""
    assert client.get("/api/setting/GREETING").text == "from local settings"
    assert client.get("/api/setting/WEBSITE_HOSTNAME").text == f"localhost:{client.base_url.port}"


@pytest.mark.behaviour("devhost.admin-endpoints")
def test_the_built_in_endpoints_answer_the_tools(client):
    """Home page, status, ping, the functions with their configuration."""
    assert client.get("/").headers["content-type"] == "text/html"
    assert client.get("/admin/host/status").json()["state"] == "Running"
    assert client.post("/admin/host/ping").headers["cache-control"] == "no-store,no-cache"
    described = {function["name"]: function for function in client.get("/admin/functions").json()}
    assert described["echo"]["invoke_url_template"].endswith("/api/echo/{name}/{id?}")
    assert described["echo"]["config"]["bindings"][0]["type"] == "httpTrigger"
    assert described["turned_off"]["isDisabled"] is True
    assert client.get("/admin/functions/echo").json() == described["echo"]


@pytest.mark.behaviour("devhost.admin-endpoints")
def test_an_admin_endpoint_that_is_not_there_says_so(client):
    answer = client.post("/admin/host/restart")
    assert (answer.status_code, answer.text) == (404, "The local host has no POST /admin/host/restart.")
