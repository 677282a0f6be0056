"""Batches whose process is killed between any two steps: sent again, each of their requests is one run."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.faults.app_process import AppFolder, until_dead
from tests.support.carriers import GUARD_SECONDS, Api
from tests.support.kept_in import KINDS, kept_in

pytestmark = [
    pytest.mark.slow,
    pytest.mark.behaviour("batch.once"),
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

APP = Path(__file__).resolve().parent / "keyed_app" / "function_app.py"
BATCH = "/api/agents/Joker/runs/batch"
WORDS = [f"word-{number}" for number in range(5)]
POINTS = {
    "after append 2": 1,
    "before append 5": 1,
    "after append 5": 1,
    "after signal 3": 1,
    "before append 6": 2,
    "after append 6": 1,
}
"""The steps of a batch that has one run at a time, and how often the model is then asked for the third of them."""


@pytest.fixture
def keyed(folder: AppFolder) -> AppFolder:
    """A fresh copy of the app that kills itself."""
    shutil.copy(APP, folder.path)
    return folder


async def send(api: Api, *messages: str) -> httpx.Response:
    """Send a batch under the one key."""
    requests = [{"message": message} for message in messages]
    return await api.http.post(
        BATCH, json={"requests": requests}, headers={"idempotency-key": "key"}, timeout=4 * GUARD_SECONDS
    )


def shown(batch: httpx.Response) -> list[tuple[int, str | None]]:
    """Return the status and the answer of each request."""
    return [(result["status"], result["body"].get("response")) for result in batch.json()["results"]]


def runs(batch: httpx.Response) -> list[Any]:
    """Return the ids of the runs."""
    return [result["run_id"] for result in batch.json()["results"]]


@pytest.mark.parametrize(
    ("point", "stores"), kept_in(*KINDS, first="after append 5", rest=[*POINTS]), indirect=["stores"]
)
async def test_a_batch_sent_again_after_a_crash_at_any_step_has_each_run_once(
    keyed: AppFolder, point: str, stores: dict[str, str]
) -> None:
    """Those that ended are replayed, that of the crash goes on, and the rest begin; a third time all are replayed."""
    environ = {"AGENT_BATCH_RUNS": "1"}
    await keyed.host_killed_by({"KILL_AT": point, **environ}, lambda api: send(api, *WORDS))

    with keyed.host(environ) as host:
        api = keyed.api(host)
        again, third = [await send(api, *WORDS) for _ in range(2)]
        await api.http.aclose()
    asked = [keyed.model_calls(word) for word in WORDS]
    replayed = [
        ["idempotency-replayed" in result["headers"] for result in one.json()["results"]] for one in (again, third)
    ]

    assert again.status_code == 200, again.text
    assert shown(again) == shown(third) == [(200, f"echo: {word}") for word in WORDS]
    assert runs(again) == runs(third)
    assert len({*runs(again)}) == len(WORDS)
    assert asked == [1, 1, POINTS[point], 1, 1]
    assert replayed[0][-1] is False
    assert replayed[1] == [True] * len(WORDS)


async def test_a_batch_sent_to_two_processes_of_which_one_is_killed_has_each_run_once(tmp_path: Path) -> None:
    """The other one ends the runs of the killed one, and begins those that it had not begun."""
    folders = [AppFolder(tmp_path / name) for name in ("one", "two")]
    environ = {"AGENT_LOG": f"sqlite:{tmp_path / 'log.sqlite'}", "AGENT_BATCH_RUNS": "2"}
    messages = [f"sleep 0.{number}5" for number in range(1, 8)]
    with folders[0].host(environ) as one, folders[1].host(environ) as two:
        apis = [folder.api(host) for folder, host in zip(folders, (one, two), strict=True)]
        lost = asyncio.ensure_future(send(apis[0], *messages))
        await folders[0].until_model_called(messages[2])
        both = asyncio.ensure_future(send(apis[1], *messages))
        called = [asyncio.ensure_future(folder.until_model_called(messages[3])) for folder in folders]
        _, never = await asyncio.wait(called, return_when=asyncio.FIRST_COMPLETED)  # whichever takes it
        for waiting in never:
            waiting.cancel()
        one.process.kill()
        assert await until_dead(one) != 0
        with contextlib.suppress(httpx.TransportError):
            await lost
        answered = await both
        again = await send(apis[1], *messages)
        for api in apis:
            await api.http.aclose()
    asked = [sum(folder.model_calls(message) for folder in folders) for message in messages]

    assert shown(answered) == shown(again) == [(200, f"echo: {message}") for message in messages]
    assert runs(answered) == runs(again)
    assert len({*runs(answered)}) == len(messages)
    assert asked[:2] == [1, 1]
    assert max(asked) <= 2
    assert sum(asked) <= len(messages) + 2  # the two that the killed process had at work
