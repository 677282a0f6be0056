"""`python -m hosting.commands.tail`: a run read from every shared log by a process that is no app."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path

import httpx
import pytest

from hosting.core.broadcast import LoggedEvent
from hosting.core.references import MOST_INLINE_BYTES
from hosting.core.thread.commands import Change, DeleteThread, FinishDelete, RecordSteps
from hosting.core.thread.events import Delta
from hosting.core.thread.run import Run
from hosting.core.thread_log import ThreadLog
from hosting.host_settings import task_hub
from hosting.http.streams import Frames
from hosting.names import Address
from hosting.settings import read_settings
from hosting.store_choice import choose_attachments, choose_thread_store
from tests.support.azurite import Azurite
from tests.support.redis_server import RedisServer
from tests.support.running_host import RunningHost
from tests.support.threads import NOW, accept, accepted, end
from tests.support.warm_python import ROOT, Begins, start_python

pytestmark = pytest.mark.slow

GUARD_SECONDS = 30
ADDRESS = Address.of("Helper", "t1")
RUN = ("helper", "t1", "r1")
SAID = Delta(at=NOW, run_id="r1", offset=0, text='a word\nand "ü" 😀')


class Reader:
    """The command in a process of its own, in `folder`."""

    def __init__(
        self, folder: Path, settings: Mapping[str, str], *arguments: str, begins: Begins = Begins.WARM
    ) -> None:
        environ = {**os.environ, **settings, "PYTHONPATH": str(ROOT)}
        self._process = start_python(
            "hosting.commands.tail", *arguments, folder=folder, environ=environ, has_errors=True, begins=begins
        )

    async def until(self, text: str) -> str:
        """Return what was printed up to the line that has this text."""
        read = ""
        while text not in read:
            assert self._process.stdout is not None
            line = await asyncio.wait_for(asyncio.to_thread(self._process.stdout.readline), GUARD_SECONDS)
            assert line, f"it ended behind {read!r}"
            read += line
        return read

    async def end(self) -> tuple[int | None, str, str]:
        """Return the exit code, the rest of what was printed, and what was complained of."""
        printed, complained = await asyncio.wait_for(asyncio.to_thread(self._process.communicate), GUARD_SECONDS)
        return self._process.returncode, printed, (complained or "").strip()


def _sqlite(request: pytest.FixtureRequest) -> dict[str, str]:
    return {"AGENT_LOG": f"sqlite:{request.getfixturevalue('tmp_path') / 'log.sqlite'}"}


def _redis(request: pytest.FixtureRequest) -> dict[str, str]:
    server = request.getfixturevalue("redis_server")
    server.empty()
    return {"AGENT_LOG": server.url}


def _tables(request: pytest.FixtureRequest) -> dict[str, str]:
    account = request.getfixturevalue("azurite").connection_string
    return {"AGENT_LOG": "tables", "AGENT_ATTACHMENTS": "blob", "AzureWebJobsStorage": account}


SHARED = [
    pytest.param(_sqlite, id="sqlite"),
    pytest.param(_redis, id="redis", marks=pytest.mark.slow),
    pytest.param(_tables, id="tables", marks=pytest.mark.slow),
]


@pytest.fixture(params=SHARED)
def log_settings(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """The settings of an app in `tmp_path`, whose host.json names a task hub of its own."""
    hub = {"extensions": {"durableTask": {"hubName": f"H{uuid.uuid4().hex[:10]}"}}}
    (tmp_path / "host.json").write_text(json.dumps(hub))
    settings: dict[str, str] = request.param(request)
    return settings


@pytest.fixture
async def log(log_settings: dict[str, str], tmp_path: Path) -> AsyncIterator[ThreadLog]:
    async with opened(log_settings, tmp_path) as log:
        yield log


@contextlib.asynccontextmanager
async def opened(environ: dict[str, str], folder: Path) -> AsyncIterator[ThreadLog]:
    """Open the log of an app in that folder."""
    settings, hub = read_settings(environ), task_hub(folder, environ)
    attachments = choose_attachments(settings, folder, environ)
    log = ThreadLog(choose_thread_store(settings, folder, environ, hub), attachments, hub)
    yield log
    await log.close()
    await attachments.close()


async def frames(log: ThreadLog) -> bytes:
    """Return the event stream of all that the log says of the run."""
    fold = Frames(Run(ADDRESS, accepted("r1"), 1, 1), 0, lambda: NOW)
    events = [received for received in await log.events(ADDRESS, 0) if getattr(received[1], "run_id", "") == "r1"]
    return b"".join(frame.encode() for received in events for frame in fold.next(LoggedEvent(*received)))


async def say(log: ThreadLog, *words: Delta) -> None:
    """Have the run's holder log these words."""
    assert isinstance((await log.execute(ADDRESS, RecordSteps("token-r1", words))).outcome, Change)


@pytest.mark.behaviour("streams.reader")
async def test_a_run_is_printed_as_it_goes_on_and_to_its_end(
    log: ThreadLog, log_settings: dict[str, str], tmp_path: Path
) -> None:
    """The bytes are those of its event stream, large contents and all; another run of the thread leaves none."""
    await log.execute(ADDRESS, accept(claimed=True))
    reader = Reader(tmp_path, log_settings, *RUN)
    seen = await reader.until("event: started")

    await log.execute(ADDRESS, accept("r2"))
    await say(log, SAID, SAID.model_copy(update={"text": "x" * MOST_INLINE_BYTES}))
    await log.execute(ADDRESS, end())
    code, rest, complaint = await reader.end()

    assert (code, complaint) == (0, "")
    assert seen + rest == (await frames(log)).decode()


@pytest.mark.behaviour("streams.reader")
@pytest.mark.behaviour("streams.reader-refused")
@pytest.mark.parametrize("log_settings", [_sqlite], indirect=True)
async def test_a_run_is_printed_as_json_lines_behind_an_id_and_refused_where_it_is_not_there(
    log: ThreadLog, log_settings: dict[str, str], tmp_path: Path
) -> None:
    """For programs that read no event streams. By one sentence, before the thread has the run and once it is gone."""
    await log.execute(ADDRESS, accept("another", claimed=True))
    absent = Reader(tmp_path, log_settings, *RUN)
    assert await absent.end() == (1, "", "There is no run 'r1' on this thread.")
    await log.execute(ADDRESS, end("another"))
    await log.execute(ADDRESS, accept(claimed=True))
    await say(log, SAID)
    await log.execute(ADDRESS, end())

    reader = Reader(tmp_path, log_settings, *RUN, "--after", "5", "--json")
    code, printed, _ = await reader.end()

    output, ended = map(json.loads, printed.splitlines())
    assert (code, output["id"], output["event"], output["data"]["text"]) == (0, "6", "delta", SAID.text)
    assert (ended["id"], ended["event"]) == ("7", "completed")


@pytest.mark.behaviour("streams.reader-refused")
@pytest.mark.parametrize("log_settings", [_sqlite], indirect=True)
async def test_a_run_that_is_deleted_while_it_is_read_ends_the_reading(
    log: ThreadLog, log_settings: dict[str, str], tmp_path: Path
) -> None:
    """With its thread, whether the reader saw that or finds nothing any more."""
    await log.execute(ADDRESS, accept(claimed=True))
    reader = Reader(tmp_path, log_settings, *RUN)
    await reader.until("event: started")

    await log.execute(ADDRESS, DeleteThread(NOW))
    buried = await log.execute(ADDRESS, FinishDelete(NOW, {}))
    await log.erase(ADDRESS, buried.head.trimmed)
    code, _, complaint = await reader.end()

    assert (code, complaint) == (1, "Run 'r1' was deleted with its thread.")


@pytest.mark.behaviour("streams.reader-refused")
@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"AGENT_LOG": "memory"}, "which only the app's own process can read"),
        ({"AGENT_LOG": "sqlite:nowhere.sqlite"}, "There is no log at"),
        ({"AGENT_LOG": "redis://127.0.0.1:1"}, "The log cannot be reached"),
        ({"AGENT_LOG": "paper"}, "Setting AGENT_LOG is 'paper'"),
    ],
)
async def test_a_log_that_cannot_be_read_is_refused(settings: dict[str, str], complaint: str, tmp_path: Path) -> None:
    reader = Reader(tmp_path, settings, *RUN, begins=Begins.COLD)

    code, printed, output = await reader.end()

    assert (code, printed) == (1, "")
    assert complaint in output.splitlines()[-1]
    assert "Traceback" not in output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.behaviour("streams.reader")
async def test_the_local_settings_of_the_folder_name_the_log(tmp_path: Path) -> None:
    """As the local host reads them; the environment goes before."""
    (tmp_path / "local.settings.json").write_text('{"Values": {\n// mine\n"AGENT_LOG": "sqlite:mine.sqlite"}}')

    reader = Reader(tmp_path, {}, *RUN, begins=Begins.COLD)

    assert "mine.sqlite" in (await reader.end())[2]


@pytest.fixture(params=["redis", "tables on Azure"])
def shared_log(request: pytest.FixtureRequest) -> dict[str, str]:
    """The settings of either backend; on Azure the log in tables needs no setting of its own."""
    if request.param == "redis":
        server: RedisServer = request.getfixturevalue("redis_server")
        return {"AGENT_LOG": server.url}
    emulator: Azurite = request.getfixturevalue("azurite")
    account = {"AzureWebJobsStorage": emulator.connection_string}
    return {**account, "WEBSITE_SITE_NAME": "agents"}


@pytest.fixture
def hosts(tmp_path: Path, shared_log: dict[str, str]) -> Iterator[list[str]]:
    """Addresses of two hosts of the app, each in a folder of its own."""
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
        for name in ("function_app.py", "host.json"):
            shutil.copy(ROOT / name, folder)
    with RunningHost(folders[0], environ=shared_log) as one, RunningHost(folders[1], environ=shared_log) as two:
        yield [one.origin, two.origin]


@pytest.mark.behaviour("turn.log-is-shared")
def test_a_run_is_seen_and_repeated_at_another_host(hosts: list[str]) -> None:
    """Its status is there at once, and its idempotency key answers with the same run instead of a second one."""
    here, there = hosts
    requested = {"json": {"message": "hello"}, "headers": {"Idempotency-Key": uuid.uuid4().hex}, "timeout": 20}
    answered = httpx.post(f"{here}/api/agents/assistant/run", **requested).json()
    place = f"/api/agents/assistant/threads/{answered['thread_id']}/runs/{answered['run_id']}"

    status = httpx.get(there + place, timeout=20).json()
    repeated = httpx.post(f"{there}/api/agents/assistant/run", **requested).json()

    assert (status["status"], status["response"]) == ("success", answered["response"])
    assert (repeated["run_id"], repeated["response"]) == (answered["run_id"], answered["response"])
