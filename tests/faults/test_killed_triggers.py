"""A trigger's delivery when its process is killed between any two steps: it comes again, and has one run."""

from __future__ import annotations

import asyncio
import shutil
import sys
from pathlib import Path

import httpx
import pytest

from tests.faults.app_process import AppFolder
from tests.support.carriers import Api
from tests.support.kept_in import KINDS, kept_in
from tests.support.whole_lines import whole_lines

pytestmark = [
    pytest.mark.slow,
    pytest.mark.behaviour("triggers.after-crash"),
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

APP = Path(__file__).resolve().parent / "keyed_app" / "function_app.py"
STEPS = ("append", "signal", "append 2", "end", "output")
POINTS = [f"{when} {step}" for when in ("after", "before") for step in STEPS]


@pytest.fixture
def triggered(folder: AppFolder, monkeypatch: pytest.MonkeyPatch) -> AppFolder:
    """A fresh copy of the app that kills itself."""
    shutil.copy(APP, folder.path)
    monkeypatch.setenv("ANSWERS", str(folder.path / "answers.txt"))
    return folder


async def deliver(api: Api, tries: int = 1, body: str = "hi") -> httpx.Response:
    """Deliver the one message, at one of its tries."""
    return await api.http.post("/api/deliver", params={"tries": tries}, content=body)


@pytest.mark.parametrize(("point", "stores"), kept_in(*KINDS, first=POINTS[0], rest=POINTS[1:]), indirect=["stores"])
async def test_a_delivery_that_comes_again_after_a_crash_at_any_step_is_one_run(
    triggered: AppFolder, point: str, stores: dict[str, str]
) -> None:
    """Its answer is written at least once, each time with the id of the one run."""
    await triggered.host_killed_by({"KILL_AT": point}, deliver)

    with triggered.host() as host:
        api = triggered.api(host)
        answers = [await deliver(api, tries) for tries in (2, 3)]
        stored = await api.stored()
        await api.http.aclose()

    runs = 1 if stores["AGENT_LOG"].startswith("sqlite") else 0  # which are counted in the file
    assert [answer.status_code for answer in answers] == [200, 200]
    assert set(whole_lines(triggered.path / "answers.txt")) == {answers[0].text} == {answers[1].text}
    assert answers[0].text.endswith(" echo: hi")
    assert (stored[0], len(stored[1])) == (runs, 1)


async def test_eight_deliveries_at_once_after_a_crash_are_one_run(triggered: AppFolder) -> None:
    """All find the run whose process died before it was signalled."""
    await triggered.host_killed_by({"KILL_AT": "before signal"}, deliver)

    with triggered.host() as host:
        api = triggered.api(host)
        answers = await asyncio.gather(*(deliver(api, tries) for tries in range(2, 10)))
        await api.http.aclose()

    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.text for answer in answers}) == 1
    assert triggered.model_calls("hi") == 1
