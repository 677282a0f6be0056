"""`python -m hosting.runlog tail RUN`: a run read from its log by a process that is no app, over every backend."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import uuid
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from hosting.events import Delta, Event, Place
from hosting.ports import Deletion, Opened, RunLogStore
from hosting.reply.frames import Frames
from hosting.runlog.choice import choose_store
from hosting.settings import read_settings
from tests.support.sample_events import accepted, completed, started

ROOT = Path(__file__).resolve().parents[2]
GUARD_SECONDS = 30
SAID = Delta(at=3.0, text='a word\nand "ü" 😀')


class Reader:
    """The command in a process of its own, in `folder`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, folder: Path, settings: Mapping[str, str], *arguments: str) -> Reader:
        """Begin to read."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "hosting.runlog", "tail", *arguments),
            cwd=folder,
            env={**os.environ, **settings, "PYTHONPATH": str(ROOT)},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        return cls(process)

    async def until(self, text: bytes) -> bytes:
        """Return what was printed up to this text."""
        assert self._process.stdout is not None
        return await asyncio.wait_for(self._process.stdout.readuntil(text), GUARD_SECONDS)

    async def end(self) -> tuple[int | None, bytes, str]:
        """Return the exit code, the rest of what was printed, and what was complained of."""
        printed, complained = await asyncio.wait_for(self._process.communicate(), GUARD_SECONDS)
        return self._process.returncode, printed, complained.decode().strip()

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        self._process.send_signal(signal.SIGINT)


@pytest.fixture
async def store(run_log_settings: dict[str, str], tmp_path: Path) -> AsyncIterator[RunLogStore]:
    """The log as the app opens it."""
    opened = choose_store(read_settings(run_log_settings), tmp_path, run_log_settings)
    yield opened
    await opened.close()


def frames(*events: Event) -> bytes:
    """Return the event stream of a log."""
    fold = Frames()
    return b"".join(frame.encode() for event in events for frame in fold.next(event))


async def begun(store: RunLogStore) -> str:
    """Open a run that has been started, and return its id."""
    opened = await store.open(accepted(uuid.uuid4().hex))
    assert isinstance(opened, Opened)
    run_id = opened.record.run_id
    assert await store.append(run_id, started(), after=1)
    return run_id


@pytest.mark.behaviour("streams.reader")
async def test_a_run_is_printed_as_it_goes_on_and_to_its_end(
    store: RunLogStore, run_log_settings: dict[str, str], tmp_path: Path
) -> None:
    """The bytes are those of its event stream."""
    run_id = await begun(store)
    reader = await Reader.start(tmp_path, run_log_settings, run_id)
    seen = await reader.until(b"event: started")

    assert await store.append(run_id, SAID, completed(), after=2)
    code, rest, complaint = await reader.end()

    assert (code, complaint) == (0, "")
    assert seen + rest == frames(accepted(run_id), started(), SAID, completed())


@pytest.mark.behaviour("streams.reader")
async def test_a_run_is_printed_as_json_lines_behind_an_id(
    store: RunLogStore, run_log_settings: dict[str, str], tmp_path: Path
) -> None:
    """For programs that read no event streams."""
    run_id = await begun(store)
    assert await store.append(run_id, SAID, completed(), after=2)

    reader = await Reader.start(tmp_path, run_log_settings, run_id, "--after", "2", "--json")
    code, printed, _ = await reader.end()

    said, ended = map(json.loads, printed.splitlines())
    assert (code, said) == (0, {"id": 3, "event": "delta", "data": {"text": SAID.text}})
    assert (ended["id"], ended["event"]) == (4, "completed")


@pytest.mark.behaviour("streams.reader-refused")
async def test_a_run_that_is_not_there_is_refused(run_log_settings: dict[str, str], tmp_path: Path) -> None:
    """By one sentence."""
    path = run_log_settings["AGENT_RUN_LOG"].partition(":")[2]
    if "sqlite" in run_log_settings["AGENT_RUN_LOG"]:
        Path(path).touch()
    reader = await Reader.start(tmp_path, run_log_settings, "nothing")

    assert await reader.end() == (1, b"", "There is no run 'nothing' in this log.")


@pytest.mark.behaviour("streams.reader-refused")
async def test_a_run_that_is_deleted_while_it_is_read_ends_the_reading(
    store: RunLogStore, run_log_settings: dict[str, str], tmp_path: Path
) -> None:
    """Within a second or two."""
    run_id = await begun(store)
    reader = await Reader.start(tmp_path, run_log_settings, run_id)
    await reader.until(b"event: started")

    place = Place.of("Joker", "thread")
    await store.mark_deleting(place, "deletion")
    await store.erase(place, Deletion("deletion", "digest"))
    code, _, complaint = await reader.end()

    assert (code, complaint) == (1, f"Run '{run_id}' was deleted, with its thread or by its age.")


@pytest.mark.behaviour("streams.reader-refused")
@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"AGENT_RUN_LOG": "memory"}, "which nobody but the app's own process can read"),
        ({"AGENT_RUN_LOG": "sqlite:nowhere.sqlite"}, "There is no run log at"),
        ({"AGENT_RUN_LOG": "redis://127.0.0.1:1"}, "The log cannot be reached"),
        ({"AGENT_RUN_LOG": "paper"}, "Setting AGENT_RUN_LOG is 'paper'"),
    ],
)
async def test_a_log_that_cannot_be_read_is_refused(settings: dict[str, str], complaint: str, tmp_path: Path) -> None:
    """And no file is made."""
    reader = await Reader.start(tmp_path, settings, "run")

    code, printed, said = await reader.end()

    assert (code, printed) == (1, b"")
    assert complaint in said.splitlines()[-1]
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.behaviour("streams.reader")
async def test_the_local_settings_of_the_folder_name_the_log(tmp_path: Path) -> None:
    """As the local host reads them; the environment goes before."""
    (tmp_path / "local.settings.json").write_text('{"Values": {"AGENT_RUN_LOG": "sqlite:mine.sqlite"}}')

    reader = await Reader.start(tmp_path, {}, "run")

    assert "mine.sqlite" in (await reader.end())[2]


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C cannot be sent to one process")
async def test_ctrl_c_ends_the_reading_quietly(tmp_path: Path) -> None:
    """The run goes on."""
    settings = {"AGENT_RUN_LOG": f"sqlite:{tmp_path / 'runs.sqlite'}"}
    store = choose_store(read_settings(settings), tmp_path, settings)
    reader = await Reader.start(tmp_path, settings, await begun(store))
    await reader.until(b"event: started")

    reader.interrupt()
    code, _, complaint = await reader.end()

    assert (code, complaint) == (130, "")
    await store.close()
