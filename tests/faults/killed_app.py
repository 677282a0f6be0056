"""An app whose process dies by itself at a point of its work; the row of a table: what another one then has of it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.faults.app_process import until_dead
from tests.support.app_folder import make_app
from tests.support.carriers import APP, GUARD_SECONDS, Api, socket_api
from tests.support.kept_in import KINDS
from tests.support.running_host import RunningHost
from tests.support.whole_lines import whole_lines

HOST = json.loads((APP / "host.json").read_text(encoding="utf-8"))
HEAD = """
from tests.faults.deaths import dies_around, note
from hosting.app import AgentFunctionApp
"""
CLERK = "from tests.support.clerk import clerk\napp = AgentFunctionApp(agents=[clerk(note)])\n"
SCRIPTED = """
from tests.support.app.scripted import scripted_agent
app = AgentFunctionApp(agents=[scripted_agent("Joker")], wires=["responses", "ag-ui"])
"""
KILLED = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL")]


def kill_at(point: str) -> dict[str, str]:
    """Return the settings by which a process dies at a point.

    "engine before-commit:2" is one of the engine, "before log.append 2 | word" the second such call with a word in it.
    """
    if point.startswith("engine "):
        return {"DEVHOST_CRASH_AT": point.removeprefix("engine ")}
    kill, _, said = point.partition(" | ")
    return {"KILL": kill, "SAID": said}


class KilledApp:
    """One app in a folder of its own; `known` is what a test's steps tell each other, and `host` the newest process."""

    def __init__(self, folder: Path, stores: Mapping[str, str], source: str, **environ: str) -> None:
        (folder / "app").mkdir()
        self.path = make_app(folder / "app", HEAD + source, host=HOST)
        self.stores, self.known = stores, dict[str, Any]()
        self._notes, self._asked = folder / "notes.txt", folder / "asked.txt"
        for file in (self._notes, self._asked):
            file.touch()
        self.environ = {**stores, "NOTES": str(self._notes), "SCRIPT_LOG": str(self._asked), **environ}
        self.host: RunningHost

    @contextlib.asynccontextmanager
    async def running(self, **environ: str) -> AsyncIterator[Api]:
        """Run a host of the app until the block ends, where it is killed; yield how to reach it."""
        with RunningHost(self.path, environ={**self.environ, **environ}) as self.host:
            api = socket_api(self.host.origin, self.path / ".agents" / "log.sqlite")
            async with api.http:
                yield api

    async def killed_by(self, send: Callable[[Api], Awaitable[Any]], point: str, **environ: str) -> None:
        async with self.running(**kill_at(point), **environ) as api:
            with contextlib.suppress(httpx.TransportError):
                await send(api)
            assert await until_dead(self.host) != 0

    @property
    def said(self) -> list[str]:
        """What was noted in all processes, a line each."""
        return whole_lines(self._notes)

    @property
    def tools(self) -> list[str]:
        """The first word of each of these lines: which tools did something."""
        return [line.split()[0] for line in self.said]

    def model_calls(self, message: str) -> int:
        """Return how often the scripted model was asked this, in all processes."""
        return sum(line.partition(" ")[2] == message for line in whole_lines(self._asked))

    async def until(self, holds: Callable[[], Any], seconds: float = 6 * GUARD_SECONDS) -> Any:
        """Return what `holds` does, awaited where it must be, once that is something; fail when the guard ends."""
        async with asyncio.timeout(seconds):
            while True:
                found = holds()
                if asyncio.iscoroutine(found):
                    found = await found
                if found:
                    return found
                await asyncio.sleep(0.02)

    async def ended(self, api: Api, thread: str) -> list[Any]:
        """Return what is listed of the runs of the thread at this path, the newest first, once all have ended."""

        async def listed() -> Any:
            runs = (await api.http.get(f"{thread}/runs")).json().get("runs", [])
            return all(run["ended_at"] for run in runs) and runs

        return list(await self.until(listed))

    async def repaired(self, api: Api) -> None:
        """Have the work of twice a day done."""
        assert (await api.http.post("/admin/functions/agents_retention", json={})).status_code == 202


Step = Callable[[KilledApp, Api], Awaitable[Any]]


@dataclass(frozen=True)
class Scenario:
    """What an app is asked (`begin`) whose process dies of it at one of the points, and another one then (`end`).

    The next process is asked in `end`, which asserts what is so. `before` is what a process did that lived. The first
    point is the gate's, over files; a run that explores has all of them over each kind of stores.
    """

    name: str
    source: str
    points: Sequence[str]
    begin: Step
    end: Step
    before: Step | None = None
    environ: Mapping[str, str] = field(default_factory=dict)
    next_environ: Mapping[str, str] = field(default_factory=dict)

    async def killed_and_ended(self, app: KilledApp, point: str) -> None:
        """Have the app killed at that point, and another process asked."""
        app.known["point"] = point
        if self.before is not None:
            async with app.running() as api:
                await self.before(app, api)
        await app.killed_by(lambda api: self.begin(app, api), point)
        async with app.running(**self.next_environ) as api:
            await asyncio.wait_for(self.end(app, api), 8 * GUARD_SECONDS)

    def rows(self, *marks: pytest.MarkDecorator, gate: Sequence[tuple[str, str]] = ()) -> list[Any]:
        """Return a test's cases: the scenario, the point, the kind of stores. `gate` names more that the gate has."""
        chosen = {(self.points[0], "sqlite"), *gate}
        return [
            pytest.param(
                (self, point),
                kind,
                marks=marks if (point, kind) in chosen else (*marks, pytest.mark.explore),
                id=f"{self.name}-{point}-{kind}".replace(" ", "-"),
            )
            for kind in KINDS
            for point in self.points
        ]


def each_dies(*tables: Sequence[Any]) -> pytest.MarkDecorator:
    """Run a test for each row of these tables, which its fixture `row` is."""
    return pytest.mark.parametrize(("row", "stores"), [*itertools.chain(*tables)], indirect=True)


@dataclass(frozen=True)
class Row:
    """A scenario, its point, and its app over one kind of stores."""

    scenario: Scenario
    point: str
    app: KilledApp

    async def dies_and_ends(self) -> None:
        await self.scenario.killed_and_ended(self.app, self.point)
