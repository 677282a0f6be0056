"""`python dev.py operations` and `owners assign` against an app on the local host, which a process left long ago."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from hosting.commands.operations import main
from hosting.commands.owners import main as owners
from hosting.core.thread.commands import AcceptRun, DeleteThread
from hosting.names import Address
from hosting.principal import Principal
from tests.support.known_callers import ISSUER, app_of_known_callers, left_behind
from tests.support.running_host import GUARD_SECONDS, RunningHost
from tests.support.threads import accepted

pytestmark = pytest.mark.slow

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


def assign(http: httpx.Client, *threads: str, user: str = "root", who: str = "dora") -> int:
    """Run the command that hands threads to somebody, and return its exit code."""
    named = ["--issuer", ISSUER, "--id", who, "--url", str(http.base_url), "--header", f"X-User: {user}"]
    return owners(["assign", "Joker", *threads, *named])


@pytest.mark.behaviour("overview.stuck")
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


@pytest.mark.behaviour("owners.assigned")
def test_threads_are_handed_to_their_owner(http: httpx.Client, capsys: pytest.CaptureFixture[str]) -> None:
    """Those that are named, then all that are left; each is a line. A second time finds nothing to do."""
    for thread in ("one", "two", "three"):
        begun = http.post(f"/api/begin/{thread}", headers={"x-user": "eve"})
        assert (begun.status_code, begun.text) == (200, '"echo: hello"')
    codes = [assign(http, "two"), assign(http, "--all", who="carl"), assign(http, "--all", who="carl")]
    given = capsys.readouterr().out.splitlines()

    def threads_of(user: str) -> list[str]:
        answer = http.get(THREADS, headers={"x-user": user})
        return [one["thread_id"] for one in answer.json()["threads"]]

    assert codes == [0, 0, 0]
    assert sorted(given) == ["one: assigned", "three: assigned", "two: assigned"]
    assert (threads_of("dora"), threads_of("carl"), threads_of("eve")) == (["two"], ["one", "three"], [])


@pytest.mark.behaviour("owners.assigned")
def test_what_cannot_be_assigned_is_a_sentence_and_an_exit_code(
    http: httpx.Client, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody's rights, an unknown thread, no thread."""
    codes = [assign(http, "one", user="eve"), assign(http, "never"), assign(http)]
    lines = capsys.readouterr().err.splitlines()

    assert codes == [1, 1, 1]
    assert lines[0].startswith("one: Only administrators, ")
    assert lines[1].startswith("never: There is no thread 'never' of 'joker'.")
    assert lines[2] == "Name threads, or give --all."
