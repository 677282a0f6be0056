"""What the app logs and Azure would drop: left out and named once, shown with a mark where it is asked for."""

from pathlib import Path

import httpx
import pytest

from devhost.forwarding import MARK
from tests.support.running_host import RunningHost, run_command

APP = """
import asyncio, logging, threading
import azure.functions as func

log = logging.getLogger("shop")
log.info("the app is imported")
log.warning("the app is doubtful")
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
"""
FORWARDED = ["a sync function", "a thread that was told", "an async function", "a task of its own"]
DROPPED = ["a thread of its own", "a thread of the loop's"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An app that logs wherever it can."""
    (tmp_path / "host.json").write_text('{"version": "2.0"}', encoding="utf-8")
    (tmp_path / "function_app.py").write_text(APP, encoding="utf-8")
    return tmp_path


def logged(folder: Path, *options: str) -> tuple[list[str], list[str]]:
    """Return what the app logged, and what the host said of it, while both functions ran."""
    with RunningHost(folder, "--port", "0", *options) as host:
        for route in ("sync", "async"):
            assert httpx.get(f"{host.origin}/api/{route}").text == "done"
        host.stop()
    received = [line.partition(" shop: ")[2] for line in host.printed if " shop: " in line]
    return received, [
        line.partition(" devhost.forwarding: ")[2] for line in host.printed if "devhost.forwarding" in line
    ]


@pytest.mark.slow
@pytest.mark.behaviour("devhost.forwarded-logs")
def test_what_azure_would_drop_is_left_out_and_its_logger_named_once(folder: Path) -> None:
    """A warning of the start among it: who wants it read on Azure prints it."""
    received, of_it = logged(folder)

    assert received == FORWARDED
    assert len(of_it) == 1
    assert of_it[0].startswith("'shop' logs outside of an invocation.")


@pytest.mark.slow
@pytest.mark.behaviour("devhost.forwarded-logs")
def test_all_of_it_is_shown_where_that_is_asked_for(folder: Path) -> None:
    """With the mark, or with the invocation that each record carries: one for each of the two calls."""
    received, of_it = logged(folder, "--verbose")

    carried = [line.partition(" [invocation ") for line in received if MARK not in line]
    assert [line for line in received if MARK in line] == [
        f"{line} {MARK}" for line in ("the app is imported", "the app is doubtful", *DROPPED)
    ]
    assert [line for line, _, _ in carried] == FORWARDED
    ids = [invocation_id for _, _, invocation_id in carried]
    assert (ids[0] == ids[1], ids[2] == ids[3], len(set(ids))) == (True, True, 2)
    assert not of_it


@pytest.mark.slow
@pytest.mark.behaviour("devhost.forwarded-logs")
def test_a_start_that_fails_shows_what_was_printed_and_its_cause(folder: Path) -> None:
    """What was logged is left out, as it is on Azure, and its logger named."""
    (folder / "function_app.py").write_text(
        f"{APP}\nprint('the shop is new')\nraise ValueError('no stock')\n", encoding="utf-8"
    )

    ended = run_command(folder, "start", "--port", "0")

    assert ended.returncode == 1
    assert "the shop is new" in ended.stdout
    assert "the app is doubtful" not in ended.stderr
    assert "'shop' logs outside of an invocation." in ended.stderr
    assert "ValueError: no stock" in ended.stderr
