"""An Idempotency-Key when its process is killed between any two steps of the turn."""

from __future__ import annotations

import asyncio
import shutil
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.faults.app_process import AppFolder
from tests.support.carriers import Api
from tests.support.kept_in import KINDS, kept_in

pytestmark = [
    pytest.mark.slow,
    pytest.mark.behaviour("http.idempotent-after-crash"),
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

APP = Path(__file__).resolve().parent / "keyed_app" / "function_app.py"
RUN = "/api/agents/Joker/run"
POINTS = [f"{when} {step}" for when in ("after", "before") for step in ("append", "signal", "append 2")]


@pytest.fixture
def keyed(folder: AppFolder) -> AppFolder:
    """A fresh copy of the app that kills itself."""
    shutil.copy(APP, folder.path)
    return folder


async def send(api: Api, message: str = "hi", **fields: Any) -> httpx.Response:
    """Send a request under the one key; no thread is named."""
    return await api.http.post(RUN, json={"message": message, **fields}, headers={"idempotency-key": "key"})


@pytest.mark.parametrize(("point", "stores"), kept_in(*KINDS, first=POINTS[0], rest=POINTS[1:]), indirect=["stores"])
async def test_a_request_sent_again_after_a_crash_at_any_step_is_one_run(
    keyed: AppFolder, point: str, stores: dict[str, str]
) -> None:
    """One answer, one place in the conversation of the thread that the first request was given; then a replay of it."""
    await keyed.host_killed_by({"KILL_AT": point}, send)

    with keyed.host() as host:
        api = keyed.api(host)
        answers = [await send(api) for _ in range(2)]
        other = await send(api, "something else")
        entries = await api.entries(answers[0].json()["thread_id"])
        stored = await api.stored()
        await api.http.aclose()

    runs = 1 if stores["AGENT_LOG"].startswith("sqlite") else 0  # which are counted in the file
    assert [(answer.status_code, answer.json()["response"]) for answer in answers] == [(200, "echo: hi")] * 2
    assert answers[1].json() == answers[0].json()
    assert answers[1].headers["idempotency-replayed"] == "true"
    assert ("idempotency-replayed" in answers[0].headers) == (point != "before append")
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_key_reused")
    assert [entry["correlationId"] for entry in entries] == [answers[0].json()["run_id"]] * 2
    assert stored == (runs, {answers[0].json()["thread_id"]})


async def test_eight_at_once_after_a_crash_are_one_run(keyed: AppFolder) -> None:
    """All attach to the run whose process died before it was signalled."""
    await keyed.host_killed_by({"KILL_AT": "before signal"}, send)

    with keyed.host() as host:
        api = keyed.api(host)
        answers = await asyncio.gather(*(send(api) for _ in range(8)))
        await api.http.aclose()

    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.json()["run_id"] for answer in answers}) == 1
    assert keyed.model_calls("hi") == 1
