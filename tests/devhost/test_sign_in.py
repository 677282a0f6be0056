"""`start --principal NAME`: the host signs requests in as the platform's authentication would."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from devhost.cli import command_line
from tests.support.app_folder import make_app
from tests.support.mcp_exchange import call, raw_client
from tests.support.running_host import GUARD_SECONDS, RunningHost

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("devhost.signs-in")]

ECHO = '''
import dataclasses
import json
import os

import azure.functions as func
from azurefunctions.extensions.http.fastapi import JSONResponse, Request

from hosting.principal import PrincipalRequest, easy_auth

app = func.FunctionApp(http_auth_level=func.AuthLevel.ANONYMOUS)
signed_in = easy_auth()


def seen(headers, is_mcp=False):
    """Who easy_auth says that it is, and what it read."""
    lower = {name.lower(): value for name, value in headers.items()}
    who = signed_in(PrincipalRequest(lower, "echo", is_mcp=is_mcp))
    sent = {name: value for name, value in lower.items() if "principal" in name}
    return {"who": who and dataclasses.asdict(who), "sent": sent, "on": os.environ.get("WEBSITE_AUTH_ENABLED")}


@app.route(route="classic")
def classic(req: func.HttpRequest) -> func.HttpResponse:
    return func.HttpResponse(json.dumps(seen(req.headers)))


@app.route(route="fastapi")
async def fastapi(req: Request) -> JSONResponse:
    return JSONResponse(seen(req.headers))


@app.mcp_tool_trigger(arg_name="context", tool_name="whoami", description="Says who asks")
def whoami(context: str) -> str:
    return json.dumps(seen(json.loads(context)["transport"]["properties"]["headers"], is_mcp=True))
'''

Pairs = list[tuple[str, str]]


def echo_app(folder: Path) -> Path:
    return make_app(folder, ECHO)


@pytest.fixture(scope="module")
def signed_in_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    with RunningHost(echo_app(tmp_path_factory.mktemp("signed_in")), "--port", "0", "--principal", "ada") as host:
        yield host


@pytest.fixture(scope="module")
def plain_host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    with RunningHost(echo_app(tmp_path_factory.mktemp("plain")), "--port", "0") as host:
        yield host


def routed(host: RunningHost, style: str, headers: Pairs) -> httpx.Response:
    """What a route answers to these headers, which are sent in the letter case that they have."""
    return httpx.get(f"{host.origin}/api/{style}", headers=headers, timeout=GUARD_SECONDS)


async def told(host: RunningHost, door: str, headers: Pairs) -> dict[str, Any]:
    """What the app saw of a request by a route or by MCP."""
    if door != "mcp":
        return routed(host, door, headers).json()
    async with raw_client(host) as client:
        client.headers = httpx.Headers([*client.headers.raw, *((k.encode(), v.encode()) for k, v in headers)])
        result = (await call(client, "tools/call", {"name": "whoami", "arguments": {}}))["result"]
    seen: dict[str, Any] = json.loads(result["content"][0]["text"])
    return seen


def somebody(name: str) -> dict[str, Any]:
    """Who the local host says that somebody of this name is."""
    return {"issuer": "easy-auth/local", "id": name, "name": name, "roles": []}


def forged(name: str) -> str:
    claims = [{"typ": "sub", "val": name}]
    return base64.b64encode(json.dumps({"auth_typ": "local", "claims": claims}).encode()).decode()


DOORS = pytest.mark.parametrize("door", ["classic", "fastapi", "mcp"])
SMUGGLED: Pairs = [
    ("X-MS-CLIENT-PRINCIPAL", forged("eve")),
    ("x-ms-client-principal", forged("eve")),
    ("X-Ms-Client-Principal-Id", "eve"),
    ("x-ms-client-principal-id", "eve"),
    ("X-MS-CLIENT-PRINCIPAL-IDP", "local"),
    ("x-ms-client-principal-name", "eve"),
    ("X-MS-Client-Principal-Roles", "admin"),
]


@DOORS
async def test_each_request_is_signed_in_by_the_name(signed_in_host: RunningHost, door: str) -> None:
    """By a route of either style and by MCP, with the platform's four headers; the app sees that it is on."""
    seen = await told(signed_in_host, door, [])

    assert (seen["who"], seen["on"]) == (somebody("ada"), "True")
    assert sorted(seen["sent"]) == [f"x-ms-client-principal{end}" for end in ("", "-id", "-idp", "-name")]


@DOORS
async def test_what_a_client_sends_in_the_platforms_place_is_taken_away(signed_in_host: RunningHost, door: str) -> None:
    """In any letter case, twice, and also a header of that name which the host does not add."""
    assert await told(signed_in_host, door, SMUGGLED) == await told(signed_in_host, door, [])


@DOORS
async def test_one_request_may_be_somebody_elses(signed_in_host: RunningHost, door: str) -> None:
    """The next one is not; the app does not see the header that asked for it."""
    bob = await told(signed_in_host, door, [("X-LOCAL-principal", "bob@x.test"), *SMUGGLED])

    assert bob["who"] == somebody("bob@x.test")
    assert "x-local-principal" not in bob["sent"]
    assert (await told(signed_in_host, door, []))["who"] == somebody("ada")


WRONG_NAMES = ["", "a:", ":b", "a b", "a,b", "a/b", "é", "a" * 65]


@pytest.mark.parametrize("name", WRONG_NAMES)
def test_a_request_of_a_wrong_name_is_refused(signed_in_host: RunningHost, name: str) -> None:
    answer = httpx.get(
        f"{signed_in_host.origin}/api/classic",
        headers=[(b"x-local-principal", name.encode("latin-1"))],
        timeout=GUARD_SECONDS,
    )

    assert answer.status_code == 400
    assert answer.text == (
        f"X-Local-Principal: {name!r} is not a valid name to sign in with; give 1 to 64 letters, digits, '.', '@', "
        "'_' and '-', and roles after it, as in root:operators."
    )


@pytest.mark.parametrize("name", WRONG_NAMES)
def test_a_wrong_name_is_refused_by_the_command(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command_line().parse_args(["start", f"--principal={name}"])

    assert f"{name!r} is not a valid name to sign in with" in capsys.readouterr().err


@DOORS
async def test_without_the_option_headers_pass_as_they_are(plain_host: RunningHost, door: str) -> None:
    """Nobody is signed in by them: the platform is not there."""
    headers = [
        ("x-ms-client-principal", forged("eve")),
        ("X-Ms-Client-Principal-Id", "eve"),
        ("X-Local-Principal", "b"),
    ]
    seen = await told(plain_host, door, headers)

    assert seen == {"who": None, "sent": {name.lower(): value for name, value in headers}, "on": None}
