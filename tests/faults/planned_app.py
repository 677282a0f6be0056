"""The app of planned agents in processes that are stopped and killed, and what the outside saw of its runs."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from hosting.core.agent.held_run import read_run
from hosting.core.thread.events import ToolResult, ToolStarted
from hosting.core.thread.run import Run
from hosting.core.thread_log import ThreadLog
from hosting.host_settings import task_hub
from hosting.names import Address, new_id
from hosting.settings import read_settings
from hosting.store_choice import choose_stores
from tests.support import planned
from tests.support.carriers import Api, socket_api
from tests.support.grouped_app import GroupedApp, grouped_app
from tests.support.running_host import RunningHost
from tests.support.whole_lines import whole_lines

APP = Path(__file__).resolve().parent / "journal_app"
GUARD_SECONDS = 60.0


@dataclass(frozen=True)
class PlannedRun:
    """A run of an agent that stands at a point in the first process that executes it."""

    agent: str
    point: str
    thread_id: str
    run_id: str

    @property
    def status_path(self) -> str:
        return f"/api/agents/{self.agent}/threads/{self.thread_id}/runs/{self.run_id}"


@dataclass(frozen=True)
class Note:
    """One thing that a process did for a run; one that stands is named by its thread."""

    process: int
    run_id: str
    what: str


def points(appends: int, when: Sequence[str] = ("before", "after")) -> list[str]:
    """Return every point around so many appends."""
    return [f"{side} {number}" for number in range(1, appends + 1) for side in when]


def cut_short(record: Run) -> list[ToolStarted]:
    """Return the tool calls that began and have no result."""
    ended = {step.key for step in record.steps if isinstance(step, ToolResult)}
    return [step for step in record.steps if isinstance(step, ToolStarted) and step.key not in ended]


class PlannedApp:
    """A copy of the app over one log; `log` are the settings that name it."""

    def __init__(self, folder: Path, log: Mapping[str, str]) -> None:
        self.path = shutil.copytree(APP, folder / "app")
        shutil.copy(planned.__file__, self.path / "planned.py")
        self.go_on = folder / "go-on"
        self._environ = {"NOTES": str(folder / "notes.txt"), **log}
        self._notes = folder / "notes.txt"
        self._notes.touch()

    def host(self, *, stands: bool = False, path: Path | None = None) -> RunningHost:
        """Start a host of the app, or of the copy at `path`; with `stands` its runs stop at their points."""
        return RunningHost(path or self.path, environ=self._environ | ({"STANDS": str(self.go_on)} if stands else {}))

    def groups(self) -> AbstractContextManager[GroupedApp]:
        """Start two HTTP hosts, whose runs stop at their points until `go_on` is there, and no durable one."""
        stands = {"STANDS": str(self.go_on)}
        return grouped_app(self.path, durable=0, log=self._environ, of_http=[stands] * 2)

    def notes(self) -> list[Note]:
        """Return what was done so far in all processes, in order."""
        lines = (line.split(" ", 2) for line in whole_lines(self._notes))
        return [Note(int(process), run_id, what) for process, run_id, what in lines]

    def counted(self, run: PlannedRun) -> Counter[str]:
        """Return how often each model call, and each tool call by its key, was made for the run."""
        return Counter(note.what for note in self.notes() if note.run_id == run.run_id and note.what != "stands")

    async def stand(self, host: RunningHost, agents: Mapping[str, Sequence[str]]) -> list[PlannedRun]:
        """Start a run of each agent for each of its points, and return them once all stand there."""
        wanted = [(agent, point) for agent, its_points in agents.items() for point in its_points]
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            runs = await asyncio.gather(*(_start(http, agent, point) for agent, point in wanted))
        await self.until_standing(len(runs))
        return list(runs)

    async def until_standing(self, number: int) -> None:
        """Return once so many runs stand at their points."""
        end = time.monotonic() + GUARD_SECONDS
        while len(standing := self._standing()) < number:
            assert time.monotonic() < end, f"{standing} stand, and {number} should"
            await asyncio.sleep(0.02)

    async def outcomes(self, host: RunningHost, runs: Iterable[PlannedRun]) -> dict[PlannedRun, dict[str, Any]]:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            return await asyncio.wait_for(_all_ended(http, runs), GUARD_SECONDS)

    async def until_applied(self, host: RunningHost, runs: Iterable[PlannedRun]) -> None:
        """Return once the host's own conversations have the outcome of each run: it does nothing more for them."""
        api = socket_api(host.origin, self.path)
        async with api.http:
            await asyncio.wait_for(_until_applied(api, {run.thread_id for run in runs}), GUARD_SECONDS)

    async def records(self, runs: Iterable[PlannedRun]) -> dict[PlannedRun, Run]:
        hub = task_hub(self.path, self._environ)
        stores = choose_stores(read_settings(self._environ), self.path, self._environ, hub)
        log = ThreadLog(stores.threads, stores.attachments, hub)
        try:
            found = {run: await read_run(log, Address.of(run.agent, run.thread_id), run.run_id) for run in runs}
        finally:
            await log.close()
        return {run: record for run, record in found.items() if isinstance(record, Run)}

    def _standing(self) -> set[str]:
        return {note.run_id for note in self.notes() if note.what == "stands"}


async def _until_applied(api: Api, threads: set[str]) -> None:
    while not threads <= await api.threads():  # noqa: ASYNC110 - another process writes them
        await asyncio.sleep(0.02)


async def _start(http: httpx.AsyncClient, agent: str, point: str) -> PlannedRun:
    requested = {"message": point, "wait_for_response": False, "thread_id": new_id()}
    answer = (await http.post(f"/api/agents/{agent}/run", json=requested)).json()
    return PlannedRun(agent, point, answer["thread_id"], answer["run_id"])


async def _all_ended(http: httpx.AsyncClient, runs: Iterable[PlannedRun]) -> dict[PlannedRun, dict[str, Any]]:
    """Ask for one after the other: many that ask all the time take the processor of the host that is to end them."""
    ended: dict[PlannedRun, dict[str, Any]] = {}
    for run in runs:
        while (answer := await http.get(run.status_path)).status_code == 202:  # noqa: ASYNC110 - another process ends it
            await asyncio.sleep(0.02)
        ended[run] = dict(answer.json())
    return ended
