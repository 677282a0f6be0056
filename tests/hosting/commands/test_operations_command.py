"""`python dev.py operations` against an app on the local host, over what a process left that was killed long ago."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import httpx
import pytest

from hosting.commands.operations import main
from hosting.commands.owners import main as assign
from hosting.core.thread.commands import AcceptRun, DeleteThread
from hosting.names import Address
from hosting.principal import Principal
from tests.support.kept_in import settings_of
from tests.support.known_callers import ISSUER, app_of_known_callers, left_behind
from tests.support.running_host import GUARD_SECONDS, RunningHost
from tests.support.threads import accepted

pytestmark = pytest.mark.behaviour("overview.stuck")

ADA = Principal(ISSUER, "ada").owner
THREADS = "/api/agents/Joker/threads"
AGO = 1000.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return app_of_known_callers(tmp_path_factory.mktemp("operated"))


@pytest.fixture(scope="module")
def http(folder: Path) -> Iterator[httpx.Client]:
    """The app on a host, asked by an administrator."""
    with (
        RunningHost(folder, environ={"AGENT_ADMIN_ROLE": "operators"}) as running,
        httpx.Client(base_url=running.origin, headers={"x-user": "root"}, timeout=GUARD_SECONDS) as client,
    ):
        yield client


def command(http: httpx.Client, *options: str, user: str = "root") -> int:
    return main(["--url", str(http.base_url), "--header", f"X-User: {user}", "--watch", "0", *options])


@pytest.mark.slow
def test_what_a_dead_process_left_is_listed_with_its_reason_and_repaired(
    folder: Path, http: httpx.Client, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run whose signal never came, and a deletion; asked for again both end."""
    for thread_id in ("asked", "deleted"):
        body = {"message": "hi", "thread_id": thread_id}
        assert http.post("/api/agents/Joker/run", json=body, headers={"x-user": "ada"}).status_code == 200
    end = time.monotonic() + GUARD_SECONDS
    while http.get("/api/operations").json()["looked_at"] < 2:
        assert time.monotonic() < end
        time.sleep(0.05)
    asked, deleted = (Address.of("Joker", thread_id, ADA) for thread_id in ("asked", "deleted"))
    event = accepted("r" * 32, at=time.time() - AGO).model_copy(update={"agent": "Joker", "thread_id": "asked"})
    asyncio.run(left_behind(folder, asked, AcceptRun(event, 32)))
    asyncio.run(left_behind(folder, deleted, DeleteThread(time.time() - AGO)))

    listed = command(http)
    found = capsys.readouterr().out.splitlines()
    repaired = command(http, "--repair")
    asked_again = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    run = f"{THREADS}/asked/runs/{'r' * 32}?owner={ADA}"
    while (answer := http.get(run)).status_code == 202:
        assert time.monotonic() < end + GUARD_SECONDS
        time.sleep(0.05)
    after = command(http)

    assert (listed, repaired, after) == (1, 0, 0)
    assert found[0].startswith("Joker: 0 running, 1 queued since 20")
    assert sorted(line.partition(", since")[0] for line in found[1:]) == [
        f"Joker, run {'r' * 32} of thread asked, owner {ADA}",
        f"Joker, thread deleted, owner {ADA}",
    ]
    assert sorted(asked_again) == ["  retried: accepted", "  retried: deleted"]
    assert answer.json()["response"] == "echo: Hello from " + "r" * 32
    assert http.get(f"{THREADS}/deleted?owner={ADA}").status_code == 404


@pytest.mark.slow
def test_an_owner_is_looked_at_alone_over_the_stores_of_many_processes(
    request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a process left of theirs that died before its signal is found, repaired and answered; nobody else's is."""
    environ, bob, run_id = settings_of("redis", request), Principal(ISSUER, "bob").owner, "n" * 32
    folder = app_of_known_callers(tmp_path)
    event = accepted(run_id, at=time.time() - AGO).model_copy(update={"agent": "Joker", "thread_id": "new"})
    for owner in (ADA, bob):
        asyncio.run(left_behind(folder, Address.of("Joker", "new", owner), AcceptRun(event, 32), **environ))
    with (
        RunningHost(folder, environ={"AGENT_ADMIN_ROLE": "operators", **environ}) as running,
        httpx.Client(base_url=running.origin, timeout=GUARD_SECONDS) as http,
    ):
        codes = [command(http, "--owner", ADA), command(http, "--owner", ADA, "--repair")]
        told = capsys.readouterr().out
        end = time.monotonic() + GUARD_SECONDS
        run = f"{THREADS}/new/runs/{run_id}"
        while http.get(run, headers={"x-user": "ada"}).status_code == 202:
            assert time.monotonic() < end
            time.sleep(0.05)
        codes.append(command(http, "--owner", ADA))
        left = command(http, "--owner", bob)

    assert (codes, left) == ([1, 0, 0], 1)
    assert [told.count(f"Joker, run {run_id} of thread new, owner {owner}") for owner in (ADA, bob)] == [2, 0]
    assert told.endswith("  retried: accepted\n")


class Looks(BaseHTTPRequestHandler):
    """An app that answers each look with the next of these pages, and not at all where one is None."""

    pages: ClassVar[list[Any]] = []

    def do_GET(self) -> None:
        found = self.pages.pop(0) if len(self.pages) > 1 else self.pages[0]
        if found is None:
            return
        page = found if isinstance(found, bytes) else json.dumps(found).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def seen(**by_run: str) -> dict[str, Any]:
    """Return a page of runs that say nothing, with the last text seen of each."""
    told = {"agent": "Joker", "kind": "agent", "owner": "app", "thread_id": "t", "code": "silent", "since": "then"}
    stuck = [{**told, "run_id": run, "reason": "Nothing.", "seen": text} for run, text in by_run.items()]
    return {"agents": [], "complete": False, "looked_at": 500, "stuck": stuck}


@contextmanager
def answering(*pages: object) -> Iterator[str]:
    """Yield the address of an app that answers each look with the next of these."""
    Looks.pages = list(pages)
    with ThreadingHTTPServer(("127.0.0.1", 0), Looks) as server:
        serving = threading.Thread(target=server.serve_forever, args=(0.01,))
        serving.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            serving.join()


@pytest.mark.parametrize(
    ("page", "sentence"),
    [
        ({"status": "ok"}, "is not an app of this kind"),
        ([], "is not an app of this kind"),
        (b"<html>", "is not an app of this kind"),
        (b"", "is not an app of this kind"),
        (None, ": Remote end closed"),
    ],
    ids=["other JSON", "a list", "a page", "nothing", "no answer"],
)
def test_another_service_at_the_address_is_named(
    page: object, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever it answers, by one sentence; the other command says the same."""
    with answering(page) as origin:
        codes = [
            main(["--url", origin]),
            assign(["assign", "a", "--all", "--issuer", "i", "--id", "x", "--url", origin]),
        ]

    lines = capsys.readouterr().err.splitlines()
    assert codes == [1, 1]
    assert [sentence in line for line in lines] == [True, True]


@pytest.mark.behaviour("http.lists-end")
@pytest.mark.parametrize(
    ("cursors", "sentence"),
    [
        ([""], ""),
        (["a", "b", ""], ""),
        (["a", "a", ""], "repeats a page"),
        (["a", "b", "a", ""], "repeats a page"),
    ],
)
def test_a_command_reads_a_list_to_its_end_or_says_that_it_has_none(
    cursors: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """An empty cursor is none; nothing is assigned of a list that would not end."""
    with answering(*({"threads": [], "next_cursor": cursor} for cursor in cursors)) as origin:
        code = assign(["assign", "a", "--all", "--issuer", "i", "--id", "x", "--url", origin])

    told = capsys.readouterr().err
    assert (code, bool(told), sentence in told) == (1 if sentence else 0, bool(sentence), True)


@pytest.mark.parametrize("watched", ["-1", "nan", "inf", "3601", "soon"])
def test_a_time_to_watch_that_is_none_is_refused(watched: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([f"--watch={watched}"])

    assert f"{watched!r} is not a number of seconds from 0 to 3,600" in capsys.readouterr().err


def test_a_run_that_shows_a_sign_of_life_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    """Of those that say nothing; what was not looked at is said too."""
    with answering(seen(dead="a", alive="b"), seen(dead="a", alive="c", new="d")) as origin:
        code = main(["--url", origin, "--watch", "0"])

    assert code == 1
    assert capsys.readouterr().out.splitlines() == [
        "These numbers count only the 500 threads that changed last.",
        "Joker, run dead of thread t, owner app, since then: Nothing.",
    ]
