"""Keys that stand in addresses are in no line of the host's own, and nothing comes behind its last line."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from devhost.forwarding import without_keys
from tests.support.app_folder import make_app
from tests.support.running_host import GUARD_SECONDS, RunningHost

APP = """
import logging
import azure.functions as func

app = func.FunctionApp(http_auth_level=func.AuthLevel.ANONYMOUS)


@app.route(route="fails")
def fails(req: func.HttpRequest) -> str:
    logging.warning("was asked for as %s", req.url)
    raise ValueError(req.url)
"""


@pytest.mark.slow
@pytest.mark.behaviour("devhost.keys-not-logged")
def test_a_key_in_an_address_is_in_no_line_of_the_hosts_own(tmp_path: Path) -> None:
    """Not in that of a request at --verbose; the app's own line and a traceback have it, as they have it on Azure."""
    with RunningHost(make_app(tmp_path, APP), "--port", "0", "--verbose") as host:
        httpx.get(f"{host.origin}/api/fails?code=opens-it&q=seen", timeout=GUARD_SECONDS)
        host.wait_for("GET /api/fails")
    lines = [line for line in host.printed if "api/fails?" in line]

    own = [line for line in lines if " devhost." in line]
    assert len(own) == 1
    assert "/api/fails?code=***&q=seen" in own[0]
    assert len(lines) >= 3
    assert all("/api/fails?code=opens-it&q=seen" in line for line in lines if line not in own)


STREAMING = """
import azure.functions as func
from azurefunctions.extensions.http.fastapi import JSONResponse, Request

app = func.FunctionApp(http_auth_level=func.AuthLevel.ANONYMOUS)


@app.route(route="a b/{name}", methods=["POST"])
async def asked(req: Request) -> JSONResponse:
    return JSONResponse({}, 201)
"""
QUIET = """
import logging

logging.getLogger("uvicorn.access").setLevel(logging.ERROR)
logging.getLogger("uvicorn.access").propagate = False
logging.getLogger("uvicorn.access").handlers.clear()
"""
FILTERED = """
import logging

logging.getLogger("uvicorn.access").addFilter(lambda record: False)
"""


@pytest.mark.slow
@pytest.mark.behaviour("devhost.access-lines")
@pytest.mark.parametrize(("before", "is_printed"), [("", True), (QUIET, True), (FILTERED, False)])
def test_a_request_is_printed_as_the_workers_own_server_does(tmp_path: Path, before: str, is_printed: bool) -> None:
    """With its query. That server sets up its logging after the app was imported, and leaves filters alone."""
    with RunningHost(make_app(tmp_path, before + STREAMING)) as host:
        httpx.post(f"{host.origin}/api/a%20b/x?code=opens-it&q=a+b", timeout=GUARD_SECONDS)
        httpx.get(f"{host.origin}/admin/host/status?code=opens-it", timeout=GUARD_SECONDS)
        host.stop()
    lines = [line.partition(" - ")[2] for line in host.printed if "opens-it" in line]

    assert lines == ['"POST /api/a%20b/x?code=opens-it&q=a+b HTTP/1.1" 201 Created'] * is_printed


LATE = """
import atexit
import logging

atexit.register(logging.getLogger("shop").error, "a session was not closed")
"""


@pytest.mark.slow
@pytest.mark.behaviour("devhost.forwarded-logs")
@pytest.mark.parametrize(("options", "is_shown"), [((), False), (("--verbose",), True)])
def test_what_a_package_logs_as_the_process_ends_is_for_verbose_only(
    tmp_path: Path, options: tuple[str, ...], is_shown: bool
) -> None:
    """Neither it nor a line that it was left out stands behind the last word, where nobody can do anything about it."""
    with RunningHost(make_app(tmp_path, LATE + APP), "--port", "0", *options) as host:
        host.stop()
    behind = host.printed[host.printed.index("Stopped.") + 1 :]

    assert ["a session was not closed" in line for line in behind if line] == [True] * is_shown


@pytest.mark.behaviour("devhost.keys-not-logged")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("GET /x?code=k HTTP/1.1", "GET /x?code=*** HTTP/1.1"),
        ("'http://a/b?v=1&SIG=a%2Fb#c'", "'http://a/b?v=1&SIG=***#c'"),
        ("?api-key=k&subscription_key=l", "?api-key=***&subscription_key=***"),
        ("?access_token=k&top=5", "?access_token=***&top=5"),
        ("?%63ode=k&s%49g=l&%74op=5", "?%63ode=***&s%49g=***&%74op=5"),
        ("exit code=3", "exit code=3"),
        ("?codec=opus", "?codec=opus"),
    ],
)
def test_what_names_a_key_is_covered_and_the_rest_is_shown(text: str, shown: str) -> None:
    """By the parameter's name, in any case, however it is written."""
    assert without_keys(text) == shown
