"""What the host shows of what the app logs: what Azure would get, at host.json's levels, and no keys of its own."""

from __future__ import annotations

import logging
from pathlib import Path

import httpx
import pytest

from devhost.forwarding import MARK, LogLevels, without_keys
from tests.support.app_folder import make_app
from tests.support.running_host import GUARD_SECONDS, RunningHost, run_command

RULES = {
    "default": "Warning",
    "Function": "Information",
    "Function.dafx-*.User": "Warning",
    "function.dafx-A.user": "Information",
    "function.dafx-Special.user": "Information",
    "Host": "None",
}


LEVELS = {
    "Azure.Core": logging.WARNING,
    "Function.http-Joker.User": logging.INFO,
    "Function.dafx-Joker": logging.INFO,
    "Function.dafx-Joker.User": logging.WARNING,
    "Function.DAFX-Special.User": logging.INFO,
    "Function.dafx-A.User": logging.INFO,
    "Host.Triggers.DurableTask": logging.CRITICAL + 1,
}
SHOWN = {
    "GET /x?code=k HTTP/1.1": "GET /x?code=*** HTTP/1.1",
    "'http://a/b?v=1&SIG=a%2Fb#c'": "'http://a/b?v=1&SIG=***#c'",
    "?api-key=k&subscription_key=l": "?api-key=***&subscription_key=***",
    "?access_token=k&top=5": "?access_token=***&top=5",
    "?%63ode=k&s%49g=l&%74op=5": "?%63ode=***&s%49g=***&%74op=5",
    "exit code=3": "exit code=3",
    "?codec=opus": "?codec=opus",
}


@pytest.mark.behaviour("devhost.log-levels")
def test_the_longest_rule_that_fits_decides() -> None:
    """In any case; without one the default does, of the real host where there is none. One letter is as long as `*`."""
    assert {category: LogLevels.of(RULES).of_category(category) for category in LEVELS} == LEVELS
    assert LogLevels.of({}).of_category("Azure.Core") == logging.INFO


@pytest.mark.behaviour("devhost.keys-not-logged")
def test_what_names_a_key_is_covered_and_the_rest_is_shown() -> None:
    assert {text: without_keys(text) for text in SHOWN} == SHOWN


APP = """
import asyncio, atexit, logging, threading
import azure.functions as func
from azurefunctions.extensions.http.fastapi import JSONResponse, Request

log = logging.getLogger("shop")
log.info("the app is imported")
log.warning("the app is doubtful")
atexit.register(log.error, "a session was not closed")
app = func.FunctionApp(http_auth_level=func.AuthLevel.ANONYMOUS)

def in_a_thread(text, before=lambda: None):
    thread = threading.Thread(target=lambda: (before(), log.warning(text)))
    thread.start()
    thread.join()

@app.route(route="sync")
def sync(req: func.HttpRequest, context) -> str:
    log.info("a sync function")
    in_a_thread("a thread of its own")
    local, id = context.thread_local_storage, context.invocation_id
    in_a_thread("a thread that was told", lambda: setattr(local, "invocation_id", id))
    return "done"

@app.route(route="async")
async def asynchronous(req: func.HttpRequest) -> str:
    log.info("an async function")
    await asyncio.create_task(child())
    await asyncio.to_thread(log.warning, "a thread of the loop's")
    return "done"

async def child():
    log.info("a task of its own")

@app.route(route="quiet")
@app.function_name("quiet-one")
async def quiet(req: func.HttpRequest) -> str:
    log.info("quiet")
    print("printed")
    return "done"

@app.route(route="fails")
def fails(req: func.HttpRequest) -> str:
    logging.warning("was asked for as %s", req.url)
    raise ValueError(req.url)

@app.route(route="a b/{name}")
async def asked(req: Request) -> JSONResponse:
    return JSONResponse({}, 201)

access = logging.getLogger("uvicorn.access")
"""
QUIET = "access.setLevel(logging.ERROR)\naccess.propagate = False\naccess.handlers.clear()\n"
FILTERED = "access.addFilter(lambda record: False)\n"
"""The server of such functions sets up its logging after the app was imported, and leaves filters alone."""
HOST = {"version": "2.0", "logging": {"logLevel": {"Function.quiet-*.User": "Warning"}}}
FORWARDED = ["a sync function", "a thread that was told", "an async function", "a task of its own"]
DROPPED = ["a thread of its own", "a thread of the loop's"]


def logged(folder: Path, last_lines: str, *options: str) -> tuple[list[str], list[str], list[str]]:
    """Return what the app's logger said while its functions ran, the requests that were printed, and all that was."""
    with RunningHost(make_app(folder, APP + last_lines, host=HOST), "--port", "0", *options) as host:
        for route in ("sync", "async", "quiet", "fails?code=opens-it&q=seen", "a%20b/x?code=opens-it&q=a+b"):
            httpx.get(f"{host.origin}/api/{route}", timeout=GUARD_SECONDS)
        httpx.get(f"{host.origin}/admin/host/status?code=opens-it", timeout=GUARD_SECONDS)
        host.stop()
    requests = [line.partition(" - ")[2] for line in host.printed if " - " in line and "opens-it" in line]
    return [line.partition(" shop: ")[2] for line in host.printed if " shop: " in line], requests, host.printed


@pytest.mark.slow
@pytest.mark.behaviour("devhost.forwarded-logs")
@pytest.mark.behaviour("devhost.log-levels")
@pytest.mark.behaviour("devhost.access-lines")
def test_what_azure_would_drop_is_left_out_and_its_logger_named_once(tmp_path: Path) -> None:
    """A warning of the start among it, and what is logged as the process ends; what is printed is kept at any level.

    So is a request of a function on the extension's types, with its query, as the worker's own server prints it.
    """
    received, requests, printed = logged(tmp_path, QUIET)

    assert received == FORWARDED
    assert requests == ['"GET /api/a%20b/x?code=opens-it&q=a+b HTTP/1.1" 201 Created']
    assert sum("'shop' logs outside of an invocation." in line for line in printed) == 1
    assert "printed" in printed
    assert printed[printed.index("Stopped.") + 1 :] == []


@pytest.mark.slow
@pytest.mark.behaviour("devhost.forwarded-logs")
@pytest.mark.behaviour("devhost.keys-not-logged")
def test_all_of_it_is_shown_where_that_is_asked_for(tmp_path: Path) -> None:
    """With the mark, or with the invocation that each record carries: one for each call.

    A key in an address is in no line of the host's own; the app's line and a traceback have it, as they have on Azure.
    """
    received, requests, printed = logged(tmp_path, FILTERED, "--verbose")
    ends = "a session was not closed"
    outside = [f"{line} {MARK}" for line in ("the app is imported", "the app is doubtful", *DROPPED)]
    carried = [line.partition(" [invocation ") for line in received if MARK not in line and ends not in line]

    assert [line for line in requests if "a%20b" in line] == []
    assert [line for line in received if MARK in line and ends not in line] == outside
    assert ends in " ".join(printed[printed.index("Stopped.") + 1 :])
    assert [line for line, _, _ in carried] == [*FORWARDED, "quiet"]
    ids = [invocation_id for _, _, invocation_id in carried]
    assert (ids[0] == ids[1], ids[2] == ids[3], len(set(ids))) == (True, True, 3)
    lines = [line for line in printed if "api/fails?" in line]
    own = [line for line in lines if " devhost." in line]
    assert (len(own), "/api/fails?code=***&q=seen" in own[0], len(lines) >= 3) == (1, True, True)
    assert all("/api/fails?code=opens-it&q=seen" in line for line in lines if line not in own)


@pytest.mark.slow
@pytest.mark.behaviour("devhost.forwarded-logs")
def test_a_start_that_fails_shows_what_was_printed_and_its_cause(tmp_path: Path) -> None:
    """What was logged is left out, as it is on Azure, and its logger named."""
    broken = f"{APP}\nprint('the shop is new')\nraise ValueError('no stock')\n"
    ended = run_command(make_app(tmp_path, broken), "start", "--port", "0")

    assert (ended.returncode, "the shop is new" in ended.stdout) == (1, True)
    assert "the app is doubtful" not in ended.stderr
    assert "'shop' logs outside of an invocation." in ended.stderr
    assert "ValueError: no stock" in ended.stderr
