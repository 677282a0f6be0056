"""HTTP functions of both styles through a real host on a socket; expectations are the recorded ones."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from devhost.cli import command_line
from tests.support.mcp_exchange import call, raw_client
from tests.support.running_host import GUARD_SECONDS, RunningHost

pytestmark = pytest.mark.slow

TEXT = "text/plain; charset=utf-8"
FAILED = (500, TEXT, b"Internal Server Error")


@pytest.mark.behaviour("devhost.classic-request-as-recorded")
def test_a_function_sees_the_request_as_the_worker_builds_it(client: httpx.Client, host: RunningHost) -> None:
    """Method, URL as received, headers, joined query values, decoded route values, body, context, pool thread."""
    path = "/api/echo/b%2Fob%20x/7?q=a%20b&q=c&Q=d&empty=&code=k&z=%zz"
    answer = client.put(path, headers=[("X-Test", "1"), ("X-Test", "2")], content=b"body")
    assert answer.json() == {
        "method": "PUT",
        "url": host.origin + path,
        "header": "1,2",
        "params": {"q": "a b,c,d", "code": "k", "z": "%zz"},
        "route": {"name": "b%2Fob x", "id": "7"},
        "body": "body",
        "function": "echo",
        "has_id": True,
        "thread": True,
    }


@pytest.mark.behaviour("devhost.streaming-request-as-recorded")
def test_a_streaming_function_sees_forwarding_headers_and_decoded_path_values(
    client: httpx.Client, host: RunningHost
) -> None:
    """Added are the invocation id and who asked for which host; a chunked body arrives whole."""

    def chunks() -> Iterator[bytes]:
        yield b"ab"
        yield b"c"

    seen = client.post("/api/streaming/echo/bob%20x?a=1&a=2", content=chunks()).json()
    forwarded = seen.pop("forwarded")
    assert len(forwarded.pop("x-ms-invocation-id")) == 36
    name = host.origin.removeprefix("http://")
    assert forwarded == {"x-forwarded-for": "127.0.0.1", "x-forwarded-host": name, "x-forwarded-proto": "http"}
    assert seen == {
        "method": "POST",
        "url": f"{host.origin}/api/streaming/echo/bob x?a=1&a=2",
        "path": {"name": "bob x"},
        "query": [["a", "1"], ["a", "2"]],
        "length": 3,
    }


@pytest.mark.behaviour("devhost.classic-returns-as-recorded")
@pytest.mark.behaviour("devhost.streaming-returns-as-recorded")
@pytest.mark.parametrize(
    ("path", "status", "content_type", "body"),
    [
        ("returns/none", 500, None, b""),
        ("returns/dict", 500, None, b""),
        ("returns/text", 200, TEXT, b"plain text"),
        ("returns/empty", 200, TEXT, b""),
        ("returns/json_object", 200, TEXT, b'{\n  "a": 1,\n  "b": [\n    1,\n    2\n  ],\n  "c": "x"\n}'),
        ("returns/json_list", 200, TEXT, b"[\n  1,\n  2\n]"),
        ("returns/json_text", 200, TEXT, b"q"),
        ("returns/envelope", 201, "application/x-z; charset=utf-8", b'{"a":1}'),
        ("returns/status_text", 202, TEXT, b"text"),
        ("returns/response", 200, "application/json", b'{"a":1}'),
        ("returns/no_content", 204, TEXT, b""),
        ("returns/odd_status", 599, TEXT, b"odd"),
        ("returns/wrong_length", 500, None, b""),
        ("returns/latin", 200, "text/html; charset=latin-1", b"\xe9"),
        ("streaming/results/dict", 200, "application/json", b'{"a":[1]}'),
        ("streaming/results/text", 200, "application/json", b'"t"'),
        ("streaming/results/number", 200, "application/json", b"5"),
        ("streaming/results/none", *FAILED),
        ("streaming/results/raise", *FAILED),
        ("streaming/results/refuse", 418, "application/json", b'{"detail":"a teapot"}'),
    ],
)
def test_a_returned_value_is_answered_as_the_real_host_answers_it(
    client: httpx.Client, path: str, status: int, content_type: str | None, body: bytes
) -> None:
    answer = client.get(f"/api/{path}")
    assert (answer.status_code, answer.headers.get("content-type"), answer.content) == (status, content_type, body)


@pytest.mark.behaviour("devhost.failures-hidden-from-callers")
def test_a_raising_function_is_an_empty_500_and_its_traceback_is_logged(
    client: httpx.Client, host: RunningHost
) -> None:
    answer = client.get("/api/raises/value")
    assert (answer.status_code, answer.content) == (500, b"")
    host.wait_for("ValueError: not for callers")


@pytest.mark.behaviour("devhost.isolated-functions")
@pytest.mark.parametrize("kind", ["cancelled", "exits", "interrupts"])
def test_functions_that_raise_what_none_should_are_answered_500_and_streams_end(
    client: httpx.Client, host: RunningHost, kind: str
) -> None:
    """Both styles; a stream that failed is over; what runs behind a response ends alone."""
    paths = ("raises", "streaming/results", *(f"streaming/breaks/{where}" for where in ("here", "apart", "behind")))
    answers = [client.get(f"/api/{path}/{kind}") for path in (*paths, paths[2])]
    host.wait_for("A response of function 'streaming_breaks'")
    assert [(answer.status_code, answer.text) for answer in answers] == [
        (500, ""),
        (500, "Internal Server Error"),
        (200, "first"),
        (200, "first"),
        (200, "whole"),
        (200, "first"),
    ]


@pytest.mark.behaviour("devhost.function-timeout")
@pytest.mark.parametrize("path", ["slow/30", "slow_thread/2"])
def test_a_function_past_its_timeout_is_answered_500(client: httpx.Client, host: RunningHost, path: str) -> None:
    """Async functions are cancelled; the thread of a sync one cannot be, but its caller need not wait."""
    answer = client.get(f"/api/{path}")
    assert (answer.status_code, answer.content) == (500, b"")
    host.wait_for("Timeout value of 00:00:01 was exceeded by function")


@pytest.mark.behaviour("devhost.unmatched-is-404")
@pytest.mark.behaviour("devhost.order-by-upper-cased-name")
@pytest.mark.behaviour("devhost.process-variables-win")
def test_what_no_route_takes_is_an_empty_404(client: httpx.Client) -> None:
    """The first function by name wins over a more precise route. Local settings are in the app's environment."""
    lines = ["GET /api/nope", "GET /api/echo/x/notanumber", "GET /api//echo/x", "GET /echo/x"]
    lines += [f"{verb} /api/echo/x" for verb in ("DELETE", "HEAD", "OPTIONS")]
    lines += ["GET /api/admin-only", "GET /api/turned-off"]
    answers = {line: client.request(*line.split()) for line in lines}

    assert {line: (answer.status_code, answer.content) for line, answer in answers.items()} == dict.fromkeys(
        lines, (404, b"")
    )
    assert client.get("/api/shadow/literal").text == "a_parameter"
    assert client.get("/api/setting/GREETING").text == "from local settings"
    assert client.get("/api/setting/WEBSITE_HOSTNAME").text == f"localhost:{client.base_url.port}"


@pytest.mark.behaviour("devhost.admin-endpoints")
def test_the_built_in_endpoints_answer_the_tools(client: httpx.Client) -> None:
    """Home page, status, ping, the functions with their configuration; others say that they are not there."""
    assert client.get("/").headers["content-type"] == "text/html"
    assert client.get("/admin/host/status").json()["state"] == "Running"
    assert client.post("/admin/host/ping").headers["cache-control"] == "no-store,no-cache"
    described = {function["name"]: function for function in client.get("/admin/functions").json()}
    assert described["echo"]["invoke_url_template"].endswith("/api/echo/{name}/{id?}")
    assert described["echo"]["config"]["bindings"][0]["type"] == "httpTrigger"
    assert described["turned_off"]["isDisabled"] is True
    assert client.get("/admin/functions/echo").json() == described["echo"]
    missing = client.post("/admin/host/restart")
    assert (missing.status_code, missing.text) == (404, "The local host has no POST /admin/host/restart.")


@pytest.mark.behaviour("devhost.streams")
def test_a_stream_passes_chunk_by_chunk_and_ends_when_its_client_leaves_or_its_generator_fails(
    client: httpx.Client, host: RunningHost
) -> None:
    with client.stream("GET", "/api/streaming/chunks") as answer:
        text = "".join(answer.iter_text())
    with client.stream("GET", "/api/streaming/endless") as endless:
        assert next(endless.iter_text()).startswith("word\n")

    assert (text, answer.headers["content-type"], answer.headers["transfer-encoding"]) == (
        "data: 0\n\ndata: 1\n\ndata: 2\n\n",
        "text/event-stream; charset=utf-8",
        "chunked",
    )
    assert client.get("/api/streaming/left").text == "the generator was cancelled"
    assert client.get("/api/streaming/breaks/here/value").text == "first"
    host.wait_for("ValueError: not for callers")


Pairs = list[tuple[str, str]]
DOORS = pytest.mark.parametrize("door", ["classic", "fastapi", "mcp"])


async def told(host: RunningHost, door: str, headers: Pairs) -> dict[str, Any]:
    """What the app saw of a request by a route or by MCP; the headers are sent in the letter case that they have."""
    if door != "mcp":
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as client:
            return dict((await client.get(f"/api/who/{door}", headers=headers)).json())
    async with raw_client(host) as client:
        client.headers = httpx.Headers([*client.headers.raw, *((k.encode(), v.encode()) for k, v in headers)])
        result = (await call(client, "tools/call", {"name": "whoami", "arguments": {}}))["result"]
    return dict(json.loads(result["content"][0]["text"]))


def somebody(name: str) -> dict[str, Any]:
    """Who the local host says that somebody of this name is."""
    return {"issuer": "easy-auth/local", "id": name, "name": name, "roles": []}


FORGED = base64.b64encode(b'{"auth_typ": "local", "claims": [{"typ": "sub", "val": "eve"}]}').decode()
SMUGGLED: Pairs = [
    ("X-MS-CLIENT-PRINCIPAL", FORGED),
    ("x-ms-client-principal", FORGED),
    ("X-Ms-Client-Principal-Id", "eve"),
    ("x-ms-client-principal-id", "eve"),
    ("X-MS-CLIENT-PRINCIPAL-IDP", "local"),
    ("x-ms-client-principal-name", "eve"),
    ("X-MS-Client-Principal-Roles", "admin"),
]


@pytest.mark.behaviour("devhost.signs-in")
@DOORS
async def test_each_request_is_signed_in_by_the_name_and_nobody_sends_the_platforms_headers(
    signed_in_host: RunningHost, door: str
) -> None:
    """In any letter case, twice, and under names that the host does not add. One request may be somebody else's."""
    ada, smuggled = await told(signed_in_host, door, []), await told(signed_in_host, door, SMUGGLED)
    bob = await told(signed_in_host, door, [("X-LOCAL-principal", "bob@x.test"), *SMUGGLED])

    assert (ada["who"], ada["on"]) == (somebody("ada"), "True")
    assert sorted(ada["sent"]) == [f"x-ms-client-principal{end}" for end in ("", "-id", "-idp", "-name")]
    assert smuggled == ada
    assert (bob["who"], "x-local-principal" in bob["sent"]) == (somebody("bob@x.test"), False)
    assert await told(signed_in_host, door, []) == ada


@pytest.mark.behaviour("devhost.signs-in")
@pytest.mark.parametrize("name", ["", "a:", ":b", "a b", "a/b", "é", "a" * 65])
def test_a_wrong_name_is_refused_in_a_request_and_by_the_command(
    signed_in_host: RunningHost, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    headers = [(b"x-local-principal", name.encode("latin-1"))]
    answer = httpx.get(f"{signed_in_host.origin}/api/who/classic", headers=headers, timeout=GUARD_SECONDS)
    with pytest.raises(SystemExit):
        command_line().parse_args(["start", f"--principal={name}"])

    sentence = f"{name!r} is not a valid name to sign in with"
    assert (answer.status_code, sentence in capsys.readouterr().err) == (400, True)
    assert answer.text == (
        f"X-Local-Principal: {sentence}; give 1 to 64 letters, digits, '.', '@', '_' and '-', and roles after it, as "
        "in root:operators."
    )


@pytest.mark.behaviour("devhost.signs-in")
@DOORS
async def test_without_the_option_headers_pass_as_they_are(host: RunningHost, door: str) -> None:
    """Nobody is signed in by them: the platform is not there."""
    headers = [*SMUGGLED[1:3], ("X-Local-Principal", "b")]
    sent = {name.lower(): value for name, value in headers}
    assert await told(host, door, headers) == {"who": None, "sent": sent, "on": None}
