"""`start --watch`: an edit is picked up, and nothing is lost by it."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest

from devhost.watching import snapshot
from tests.support.app_folder import make_app
from tests.support.running_host import GUARD_SECONDS, START_GUARD_SECONDS, RunningHost

APP = """
import azure.durable_functions as df
import azure.functions as func
app = df.DFApp()

@app.route(route="version", auth_level="anonymous")
def version(req: func.HttpRequest) -> str:
    return "{version}"

@app.orchestration_trigger(context_name="context")
def waits(context):
    told = yield context.wait_for_external_event("go")
    return told + " {version}"
"""


def edit(folder: Path, source: str) -> None:
    (folder / "function_app.py").write_text(source, encoding="utf-8")


@pytest.mark.slow
@pytest.mark.behaviour("devhost.watch")
def test_an_edit_is_picked_up_and_loses_no_durable_work(tmp_path: Path) -> None:
    """Also after an edit that cannot be imported; an orchestration that waited goes on in the edited app."""
    folder = make_app(tmp_path, APP.replace("{version}", "first"))
    with RunningHost(folder, "--port", "0", "--watch") as host:
        durable = f"{host.origin}/runtime/webhooks/durabletask"
        httpx.post(f"{durable}/orchestrators/waits/one", timeout=GUARD_SECONDS).raise_for_status()
        edit(folder, "def broken(:\n")
        received = host.wait_for("Correct the syntax", START_GUARD_SECONDS)
        edit(folder, APP.replace("{version}", "second"))
        host.wait_for("development only", START_GUARD_SECONDS)
        answer = httpx.get(f"{host.origin}/api/version", timeout=GUARD_SECONDS)
        httpx.post(f"{durable}/instances/one/raiseEvent/go", json="ended in the", timeout=GUARD_SECONDS)
        status = {"runtimeStatus": "Running"}
        while status["runtimeStatus"] in ("Pending", "Running"):
            status = httpx.get(f"{durable}/instances/one", timeout=GUARD_SECONDS).json()
        host.stop()

    assert (answer.text, "function_app.py, line 1" in received) == ("second", True)
    assert status["output"] == "ended in the second"


def is_edit(folder: Path, name: str, text: str = "x") -> bool:
    """Return whether to write such a file of the app is an edit of it."""
    before = snapshot(folder)
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    return snapshot(folder) != before


@pytest.mark.behaviour("devhost.watch")
def test_what_no_app_loads_and_what_is_not_deployed_is_no_edit(tmp_path: Path) -> None:
    """Hidden folders, caches, virtual environments, tests, what an agent's tool writes while it runs.

    And what .funcignore names, anywhere or by its path; host.json and its like stay watched.
    """
    folder = make_app(tmp_path, "")
    (folder / "venv").mkdir()
    (folder / "venv" / "pyvenv.cfg").write_text("")
    lines = ["# not deployed", "local.settings.json", "/scratch/", "*_try.py", "agents/old*.py", "!agents/old.py", ""]
    lines += ["/drafts", "/top*.py"]
    (folder / ".funcignore").write_text("\n".join(lines))
    left = [".devhost/keys.json", "__pycache__/function_app.pyc", "venv/lib/module.py", "tests/test_app.py"]
    left += ["notes.log", "notes.txt", "answers.json", "todo.md", "kept/facts.sqlite", "agents/report.yaml"]
    left += ["scratch/sketch.py", "agents/first_try.py", "agents/old.py", "drafts/new.py", "top_of_all.py"]
    source = [
        "agents/new.py",
        "host.json",
        "local.settings.json",
        "old.py",
        "agents/scratch.py",
        "skills/drafts/run.py",
    ]
    source += ["agents/top.py"]

    assert [name for name in [*left, *source] if is_edit(folder, name, "{ }")] == source
