"""`start --watch`: an edit is picked up, and nothing is lost by it."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from devhost.watching import snapshot
from tests.support.app_folder import make_app
from tests.support.running_host import GUARD_SECONDS, START_GUARD_SECONDS, RunningHost

ANSWERS = """
import azure.functions as func
app = func.FunctionApp()

@app.route(route="version", auth_level="anonymous")
def version(req: func.HttpRequest) -> str:
    return "{version}"
"""
WAITS = """
import azure.durable_functions as df
import azure.functions as func
app = df.DFApp()

@app.orchestration_trigger(context_name="context")
def waits(context):
    told = yield context.wait_for_external_event("go")
    return told + " {version}"
"""


def edit(folder: Path, source: str) -> None:
    (folder / "function_app.py").write_text(source, encoding="utf-8")


@pytest.mark.slow
@pytest.mark.behaviour("devhost.watch")
def test_an_edit_is_picked_up_also_after_one_that_cannot_be_imported(tmp_path: Path) -> None:
    folder = make_app(tmp_path, ANSWERS.format(version="first"))
    with RunningHost(folder, "--port", "0", "--watch") as host:
        edit(folder, "def broken(:\n")
        received = host.wait_for("Correct the syntax", START_GUARD_SECONDS)
        edit(folder, ANSWERS.format(version="second"))
        host.wait_for("development only", START_GUARD_SECONDS)
        answer = httpx.get(f"{host.origin}/api/version", timeout=GUARD_SECONDS)
        host.stop()

    assert (answer.text, "function_app.py, line 1" in received) == ("second", True)


@pytest.mark.slow
@pytest.mark.behaviour("devhost.watch")
def test_a_waiting_orchestration_goes_on_in_the_edited_app(tmp_path: Path) -> None:
    folder = make_app(tmp_path, WAITS.format(version="first"))
    with RunningHost(folder, "--port", "0", "--watch") as host:
        durable = f"{host.origin}/runtime/webhooks/durabletask"
        httpx.post(f"{durable}/orchestrators/waits/one", timeout=GUARD_SECONDS).raise_for_status()
        edit(folder, WAITS.format(version="second"))
        host.wait_for("development only", START_GUARD_SECONDS)
        httpx.post(f"{durable}/instances/one/raiseEvent/go", json="ended in the", timeout=GUARD_SECONDS)
        status = {"runtimeStatus": "Running"}
        while status["runtimeStatus"] in ("Pending", "Running"):
            status = httpx.get(f"{durable}/instances/one", timeout=GUARD_SECONDS).json()
        host.stop()

    assert status["output"] == "ended in the second"


def is_edit(folder: Path, name: str, text: str = "x") -> bool:
    """Return whether to write such a file of the app is an edit of it."""
    before = snapshot(folder)
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return snapshot(folder) != before


@pytest.mark.behaviour("devhost.watch")
def test_what_no_app_loads_is_no_edit(tmp_path: Path) -> None:
    """Hidden folders, caches, virtual environments, tests, and what an agent's tool writes while it runs."""
    folder = make_app(tmp_path, "")
    (folder / "venv").mkdir()
    (folder / "venv" / "pyvenv.cfg").write_text("")
    left = [".devhost/keys.json", "__pycache__/function_app.pyc", "venv/lib/module.py", "tests/test_app.py"]
    left += ["notes.log", "notes.txt", "answers.json", "todo.md", "kept/facts.sqlite", "agents/report.yaml"]
    source = ["agents/new.py", "host.json", "local.settings.json"]

    assert [name for name in [*left, *source] if is_edit(folder, name, "{ }")] == source


@pytest.mark.behaviour("devhost.watch")
def test_what_is_not_deployed_is_no_edit(tmp_path: Path) -> None:
    """As the patterns of .funcignore say it, of a name anywhere or of a path; host.json and its like stay watched."""
    folder = make_app(tmp_path, "")
    lines = ["# not deployed", "local.settings.json", "/scratch/", "*_try.py", "agents/old*.py", "!agents/old.py", ""]
    lines += ["/drafts", "/top*.py"]
    (folder / ".funcignore").write_text("\n".join(lines))
    left = ["scratch/sketch.py", "agents/first_try.py", "agents/old.py", "drafts/new.py", "top_of_all.py"]
    source = ["old.py", "agents/scratch.py", "local.settings.json", "skills/drafts/run.py", "agents/top.py"]

    assert [name for name in [*left, *source] if is_edit(folder, name, "{ }")] == source
