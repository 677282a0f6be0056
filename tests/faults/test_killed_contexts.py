"""The context of a run under SIGKILL: its app killed around each record, and another process that reads the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import httpx
import pytest

from hosting.testing.agent_app import AgentApp
from hosting.testing.asking import RunAnswer
from tests.support.app_folder import make_app
from tests.support.carriers import APP
from tests.support.kept_in import KINDS, over
from tests.support.running_host import ROOT
from tests.support.whole_lines import whole_lines

pytestmark = pytest.mark.slow

SOURCE = """
import os
from functools import partial
from pathlib import Path

import hosting.app
from tests.support.context_reader import context_reader

NOTES = Path(os.environ["NOTES"])


def note(what):
    with NOTES.open("a", encoding="utf-8") as notes:
        notes.write(what + "\\n")


hosting.app.Services = partial(hosting.app.Services, lease_seconds=1.0, margin_seconds=0.5)
app = hosting.app.AgentFunctionApp(agents=[context_reader(note)])
"""
CONTEXT = {"tenant": "a", "limits": {"refund": 50}}
SHOWN = json.dumps(CONTEXT, sort_keys=True)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """The file in which the agent's code notes what it reads."""
    return tmp_path / "notes.txt"


@pytest.fixture
def agent_app_folder(tmp_path: Path) -> Path:
    """An app of an agent whose code reads the context, and nothing in it that kills."""
    (tmp_path / "app").mkdir()
    return make_app(tmp_path / "app", SOURCE, host=json.loads((APP / "host.json").read_text(encoding="utf-8")))


@pytest.fixture
def agent_app_settings(stores: dict[str, str], notes: Path) -> Mapping[str, str]:
    """The stores of the test, and this project on Python's path."""
    return {**stores, "NOTES": str(notes), "PYTHONPATH": str(ROOT)}


def check_the_context(ask: Callable[..., RunAnswer], agent_app: AgentApp, notes: Path) -> None:
    """The run is one, its code read the context alone, and the thread's metadata changed with it once."""
    answer = ask("call show 1", thread="t1", context=CONTEXT, metadata={"ticket": 7}, thread_metadata={"team": "red"})
    thread_url = f"{agent_app.url}/api/agents/Clerk/threads/{answer.thread_id}"
    thread = httpx.get(thread_url, trust_env=False).json()
    runs = httpx.get(f"{thread_url}/runs", trust_env=False).json()["runs"]

    readers = [line for line in whole_lines(notes) if not line.startswith("model ")]
    assert "shown 1" in answer.text
    assert {line.partition(" ")[2] for line in readers} == {SHOWN}
    assert {"tool", "provider", "middleware"} <= {line.partition(" ")[0] for line in readers}
    assert [(run["status"], run["metadata"]) for run in runs] == [("success", {"ticket": 7})]
    assert thread["metadata"] == {"team": "red"}


@pytest.mark.behaviour("context.survives-kill")
@pytest.mark.killed_at("each step")
def test_the_process_that_takes_over_a_run_gives_its_code_the_same_context(
    ask: Callable[..., RunAnswer], agent_app: AgentApp, notes: Path
) -> None:
    """Around each record of the run."""
    check_the_context(ask, agent_app, notes)


@pytest.mark.behaviour("context.survives-kill")
@pytest.mark.killed_at("after the request was recorded")
@over("stores", *KINDS[1:])
def test_the_context_is_the_same_over_each_store(
    ask: Callable[..., RunAnswer], agent_app: AgentApp, notes: Path
) -> None:
    """The process that takes over is the only one that runs the agent."""
    check_the_context(ask, agent_app, notes)
