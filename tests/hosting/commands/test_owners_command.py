"""`python dev.py owners assign` against an app on the local host."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from hosting.commands.owners import main
from tests.support.known_callers import ISSUER, app_of_known_callers
from tests.support.running_host import GUARD_SECONDS, RunningHost

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("owners.assigned")]


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app on a host, with three threads of its own."""
    folder = app_of_known_callers(tmp_path_factory.mktemp("assigned"))
    with RunningHost(folder, environ={"AGENT_ADMIN_ROLE": "operators"}) as running:
        for thread in ("one", "two", "three"):
            begun = httpx.post(f"{running.origin}/api/begin/{thread}", headers={"x-user": "eve"}, timeout=GUARD_SECONDS)
            assert (begun.status_code, begun.text) == (200, '"echo: hello"')
        yield running.origin


def command(origin: str, *threads: str, user: str = "root", who: str = "ada") -> int:
    named = ["--issuer", ISSUER, "--id", who, "--url", origin, "--header", f"X-User: {user}"]
    return main(["assign", "Joker", *threads, *named])


def listed(origin: str, user: str) -> list[str]:
    answer = httpx.get(f"{origin}/api/agents/Joker/threads", headers={"x-user": user})
    return [one["thread_id"] for one in answer.json()["threads"]]


def test_threads_are_handed_to_their_owner(origin: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Those that are named, then all that are left; each is a line. A second time finds nothing to do."""
    codes = [command(origin, "two"), command(origin, "--all", who="bob"), command(origin, "--all", who="bob")]

    assert codes == [0, 0, 0]
    assert sorted(capsys.readouterr().out.splitlines()) == ["one: assigned", "three: assigned", "two: assigned"]
    assert (listed(origin, "ada"), listed(origin, "bob"), listed(origin, "eve")) == (["two"], ["one", "three"], [])


def test_what_cannot_be_done_is_a_sentence_and_an_exit_code(origin: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody's rights, an unknown thread, wrong arguments, no app."""
    codes = [
        command(origin, "one", user="eve"),
        command(origin, "never"),
        command(origin),
        command("ftp://nowhere", "one"),
        command("http://127.0.0.1:9", "one"),
        main(["assign", "Joker", "one", "--issuer", "i", "--id", "a", "--header", "nothing"]),
    ]
    lines = capsys.readouterr().err.splitlines()

    assert codes == [1] * 6
    assert lines[0].startswith("one: Only administrators, ")
    assert lines[1].startswith("never: There is no thread 'never' of 'joker'.")
    assert lines[2] == "Name threads, or give --all."
    assert lines[3].startswith("--url is 'ftp://nowhere")
    assert lines[4].startswith("one: The app cannot be reached")
    assert lines[5].startswith("--header is 'nothing'.")
