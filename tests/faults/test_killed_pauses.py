"""Runs that are paused and resumed, under SIGKILL: of the process that takes the request, and of the one that works."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.faults.app_process import until_dead
from tests.faults.killing_app import SOURCE, ClerksApp
from tests.support.carriers import GUARD_SECONDS
from tests.support.grouped_app import GroupedApp, grouped_app
from tests.support.kept_in import KINDS, kept_in
from tests.support.running_host import RunningHost

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

APP = (
    SOURCE.replace("agents=[clerk(note)]", "").replace(
        "from tests.support.clerk import clerk",
        "import asyncio\nfrom agent_framework import Agent, tool\nfrom hosting.tools import current, idempotent\n"
        "from tests.support.clerk import ClerksClient",
    )
    + """

@idempotent
@tool
async def slow(n: str) -> str:
    note(f"begun {n}")
    await current().progress(0.25, "waits for its gate")
    while not Path(os.environ["GATE"]).exists():
        await asyncio.sleep(0.01)
    await current().progress(0.75, "is through its gate")
    note(f"ended {n}")
    return "done"


app.add_agent(Agent(ClerksClient(), "Do as told.", name="Joker", tools=[slow]))
"""
)
"""An agent whose tool waits for a file. It notes when it begins and ends, and reports how far it is."""

THREAD = "/api/agents/Joker/threads/t"
PAUSED = [f"{side} {kind} 1" for kind in ("paused", "released") for side in ("after", "before")]
"""Around the record of a pause, and around the release of the run behind its step."""
RESUMED = ["after resumed 1", "before resumed 1", "before claimed 2", "after claimed 2"]
"""Behind the record of the end of a pause, which is before its signal, and before it; around the next claim."""


class SlowApp(ClerksApp):
    """The app over one log; `open` lets its tool end."""

    def __init__(self, folder: Path, log: dict[str, str]) -> None:
        self._gate = folder / "gate"
        super().__init__(folder, {**log, "GATE": str(self._gate)}, APP)

    @property
    def environ(self) -> dict[str, str]:
        """The settings of its hosts."""
        return self._environ

    def open(self) -> None:
        """Let the tool end."""
        self._gate.touch()

    async def until_noted(self, line: str) -> None:
        """Return once a tool has noted that."""
        while line not in self.said():  # noqa: ASYNC110 - another process writes the file
            await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def reached(host: RunningHost) -> AsyncIterator[httpx.AsyncClient]:
    """Yield the way to a host."""
    async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
        yield http


async def begin(http: httpx.AsyncClient, app: SlowApp) -> str:
    """Begin a run, and return where it is read, once its tool is at work."""
    body = {"message": "call slow 1", "thread_id": "t", "wait_for_response": False}
    answer = await http.post("/api/agents/Joker/run", json=body)
    assert answer.status_code == 202, answer.text
    await asyncio.wait_for(app.until_noted("begun 1"), GUARD_SECONDS)
    return f"{THREAD}/runs/{answer.json()['run_id']}"


async def posted(http: httpx.AsyncClient, path: str) -> int:
    """Send a request to a host that may die of it; return the status of its answer, 0 without one."""
    with contextlib.suppress(httpx.TransportError):
        return (await http.post(path)).status_code
    return 0


async def until(http: httpx.AsyncClient, place: str, status: str) -> dict[str, Any]:
    """Return the run once it has that status."""

    async def look() -> dict[str, Any]:
        while (run := (await http.get(place)).json())["status"] != status:  # noqa: ASYNC110 - another process does it
            await asyncio.sleep(0.02)
        return dict(run)

    return await asyncio.wait_for(look(), 2 * GUARD_SECONDS)


async def attempts(http: httpx.AsyncClient) -> int:
    """Return how many attempts the thread's run has had."""
    return int((await http.get(f"{THREAD}/runs")).json()["runs"][0]["attempts"])


@pytest.mark.behaviour("runs.pause-survives-kill")
@pytest.mark.parametrize(("point", "stores"), kept_in(*KINDS, first=PAUSED[0], rest=PAUSED[1:]), indirect=["stores"])
async def test_a_pause_whose_process_is_killed_is_asked_for_again_and_stands(
    tmp_path: Path, point: str, stores: dict[str, str]
) -> None:
    """The next process holds the run no longer than its step, and goes on once it is resumed: the tool ends once."""
    app = SlowApp(tmp_path, stores)
    with app.host(KILL=point) as host:
        async with reached(host) as http:
            place = await begin(http, app)
            await posted(http, f"{place}/pause")
            if "released" in point:
                app.open()
        assert await until_dead(host) != 0

    with app.host() as host:
        async with reached(host) as http:
            assert await posted(http, f"{place}/pause") == 202
            app.open()
            paused = await until(http, place, "paused")
            before = await attempts(http)
            assert await posted(http, f"{place}/resume") == 202
            ended = await until(http, place, "success")
            after = await attempts(http)

    assert paused["status"] == "paused"
    assert ended["response"] == "One moment.\n\ntold: done"
    assert app.said().count("ended 1") == 1
    assert after == before + 1


@pytest.mark.behaviour("runs.pause-survives-kill")
@pytest.mark.parametrize(("point", "stores"), kept_in(*KINDS, first=RESUMED[0], rest=RESUMED[1:]), indirect=["stores"])
async def test_a_resume_whose_process_is_killed_is_asked_for_again_and_the_run_ends(
    tmp_path: Path, point: str, stores: dict[str, str]
) -> None:
    """Also where the process died before the signal; the tool that had ended is not called again."""
    app = SlowApp(tmp_path, stores)
    with app.host(KILL=point) as host:
        async with reached(host) as http:
            place = await begin(http, app)
            await posted(http, f"{place}/pause")
            app.open()
            await until(http, place, "paused")
            await posted(http, f"{place}/resume")
        assert await until_dead(host) != 0

    with app.host() as host:
        async with reached(host) as http:
            assert await posted(http, f"{place}/resume") == 202
            ended = await until(http, place, "success")

    assert ended["response"] == "One moment.\n\ntold: done"
    assert [app.said().count(line) for line in ("begun 1", "ended 1")] == [1, 1]


@pytest.mark.behaviour("runs.pause-survives-kill")
@pytest.mark.parametrize("stores", kept_in(*KINDS), indirect=True)
async def test_two_processes_pause_and_resume_a_run_of_a_third_that_is_killed_meanwhile(
    tmp_path: Path, stores: dict[str, str]
) -> None:
    """No process that comes takes the run up while it is paused; then it goes on once."""
    app = SlowApp(tmp_path, stores)
    with grouped_app(app.path, log=app.environ) as group:
        async with reached(group.http[0].running) as one, reached(group.http[1].running) as two:
            place = await begin(one, app)
            asked = await asyncio.gather(*(posted(http, f"{place}/pause") for http in (one, two)))
            app.open()
            await until(two, place, "paused")
            before = await attempts(two)
            _start_again(group)
            standing = await attempts(two)
            resumed = await asyncio.gather(*(posted(http, f"{place}/resume") for http in (one, two)))
            ended = await until(one, place, "success")
            events = (await one.get(f"{place}/events")).text

    assert (asked, resumed) == ([202, 202], [202, 202])
    assert standing == before
    assert ended["response"] == "One moment.\n\ntold: done"
    assert app.said().count("ended 1") == 1
    assert events.count("event: resumed") == 1


def _start_again(group: GroupedApp) -> None:
    group.durable.kill()
    group.durable.start()


@pytest.mark.behaviour("runs.progress-survives-kill")
@pytest.mark.parametrize("stores", kept_in(*KINDS, first=()), indirect=True)
async def test_the_next_process_reads_the_progress_that_was_written_and_the_next_attempt_reports_anew(
    tmp_path: Path, stores: dict[str, str]
) -> None:
    """The run stays open meanwhile; once it has ended it has no progress."""
    app = SlowApp(tmp_path, stores)
    with app.host() as host:
        async with reached(host) as http:
            place = await begin(http, app)
            while "progress" not in (await http.get(place)).json():  # noqa: ASYNC110 - the run's own loop writes it
                await asyncio.sleep(0.01)
        host.process.kill()

    with app.host() as host:
        async with reached(host) as http:
            first = (await http.get(place)).json()["progress"]
            app.open()
            ended = await until(http, place, "success")
            events = (await http.get(f"{place}/events")).text

    assert first == {"share": 0.25, "text": "waits for its gate"}
    assert "progress" not in ended
    assert events.count("is through its gate") == 1
    assert events.rindex("is through its gate") > events.rindex("waits for its gate")
