"""One sample hosted: asked once over HTTP, then asked again in a process that is killed at its first model call."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from hosting.offline.values import Filling, value_of
from tests.framework_samples.model import ASKED, SECONDS
from tests.support.running_host import RunningHost
from tests.support.whole_lines import whole_lines

APP = Path(__file__).parent / "app"
START_SECONDS = 90.0
RUN_SECONDS = 60.0
_SETTINGS = {"AGENT_RUN_TIMEOUT_SECONDS": "45"}
_REFUSAL = re.compile(r"The app does not start: function_app.py, line \d+: (.*?) See docs/reference/hosting.md")


@dataclass(frozen=True)
class Outcome:
    """What came of a sample: `hosted`, `hosted with a limit`, `cannot be` or `not tried`, and why."""

    sample: str
    result: str
    why: str = ""

    @property
    def kind(self) -> str:
        """The folder that the sample is in, as `02-agents/harness`."""
        return "/".join(self.sample.split("/")[:2]) if self.sample.count("/") > 1 else self.sample.split("/")[0]


def tried(root: Path, sample: Path) -> Outcome:
    """Return what comes of the sample, in an app of its own that is deleted afterwards."""
    name = sample.relative_to(root).as_posix()
    with tempfile.TemporaryDirectory(prefix="sample-", ignore_cleanup_errors=True) as folder:
        app = Path(shutil.copytree(APP, Path(folder) / "app"))
        trial = Trial(app, sample)
        try:
            trial.ask()
            trial.ask_and_kill()
        except _NotHostedError as error:
            return Outcome(name, error.result, str(error))
        return Outcome(name, "hosted with a limit" if trial.limits else "hosted", "; ".join(trial.limits))


class _NotHostedError(Exception):
    def __init__(self, result: str, why: str) -> None:
        super().__init__(why)
        self.result = result


class Trial:
    """A sample in an app's folder, and the limits that were seen so far."""

    def __init__(self, app: Path, sample: Path) -> None:
        self._app, self._sample = app, sample
        self._found, self._asked = app / "found.json", app / "asked.txt"
        self._messages: dict[str, int] = {}
        self.limits: list[str] = []

    def ask(self) -> None:
        """Ask everything that the sample asks, once, and note how many messages each thread has then."""
        with self._host(seconds=0.0) as host:
            for path, body in self._requests(host):
                answer = httpx.post(f"{host.origin}/api/{path}/run?thread_id=plain", json=body, timeout=RUN_SECONDS)
                self._check(path, answer.status_code, answer.json() if answer.content else {})
                self._messages[path] = self._count(host, path, "plain")

    def ask_and_kill(self) -> None:
        """Ask everything again on new threads, kill the process at its first model call, and see all runs end."""
        runs: dict[str, str] = {}
        with self._host(seconds=0.5) as host:
            before = len(whole_lines(self._asked)) if self._asked.exists() else 0
            for path, body in self._requests(host):
                address = f"{host.origin}/api/{path}/run?thread_id=killed"
                answer = httpx.post(address, json={**body, "wait_for_response": False}, timeout=RUN_SECONDS)
                if answer.status_code == 202:
                    runs[path] = answer.json()["run_id"]
            end = time.monotonic() + 5.0
            while time.monotonic() < end and len(whole_lines(self._asked) if self._asked.exists() else ()) <= before:
                time.sleep(0.05)
        with self._host(seconds=0.0) as host:
            for path, run in runs.items():
                ended = self._ended(host, f"{host.origin}/api/{path}/threads/killed/runs/{run}")
                self._check(f"{path} after a kill", 200, ended)
                count = self._count(host, path, "killed")
                if self._messages.get(path) not in (None, count):
                    self.limits.append(f"{count} messages after a kill, {self._messages[path]} without")

    def _requests(self, host: RunningHost) -> Iterator[tuple[str, dict[str, Any]]]:
        found = json.loads(self._found.read_text(encoding="utf-8"))
        for name, message in found["agents"].items():
            yield f"agents/{name}", {"message": _words(message)}
        workflows = httpx.get(f"{host.origin}/api/workflows").json()["workflows"] if found["workflows"] else []
        schemas = {workflow["name"]: workflow.get("input_schema") for workflow in workflows}
        for name, message in found["workflows"].items():
            schema = schemas[name]
            if schema is None:
                yield (
                    f"workflows/{name}",
                    {"message": message if isinstance(message, str) else json.dumps(message or "Hello")},
                )
            else:
                value = value_of(schema, Filling("Hello", schema)) if message is None else message
                value = _words(value) if schema == {"type": "string"} else value
                yield f"workflows/{name}", {"input": value}

    def _check(self, path: str, status: int, answer: Mapping[str, Any]) -> None:
        ended = answer.get("status")
        if status in (200, 202) and ended in ("success", "approval_required", "waiting", "input_required"):
            return
        error = answer.get("error")
        problem = error if isinstance(error, Mapping) else answer
        if problem.get("code") == "run_interrupted":
            self.limits.append("a tool that was cut off and is not marked idempotent ends the run")
            return
        detail = problem.get("detail") or json.dumps(answer)[:200]
        raise _NotHostedError("fails", f"{path}: {status} {problem.get('code') or ended}: {detail}")

    def _count(self, host: RunningHost, path: str, thread: str) -> int:
        read = httpx.get(f"{host.origin}/api/{path}/threads/{thread}", timeout=RUN_SECONDS).json()
        return int(read.get("message_count", 0))

    def _ended(self, host: RunningHost, address: str) -> Mapping[str, Any]:
        end = time.monotonic() + RUN_SECONDS
        while time.monotonic() < end:
            answer = httpx.get(address, timeout=RUN_SECONDS)
            if answer.status_code == 200:
                ended: Mapping[str, Any] = answer.json()
                return ended
            time.sleep(0.2)
        return {"status": "open", "detail": f"the run had not ended {RUN_SECONDS:.0f} s after the kill"}

    @contextmanager
    def _host(self, *, seconds: float) -> Iterator[RunningHost]:
        environ = {
            **_SETTINGS,
            "SAMPLE": str(self._sample),
            "SAMPLE_FOUND": str(self._found),
            ASKED: str(self._asked),
            SECONDS: str(seconds),
        }
        try:
            host = RunningHost(self._app, environ=environ, start_seconds=START_SECONDS)
        except AssertionError as error:
            raise self._not_started(str(error)) from error
        found = json.loads(self._found.read_text(encoding="utf-8"))
        if not found["agents"] and not found["workflows"]:
            host.process.kill()
            raise _NotHostedError("not tried", found["ended_by"] or "asks no agent and no workflow")
        try:
            yield host
        finally:
            host.__exit__(RuntimeError)

    def _not_started(self, printed: str) -> _NotHostedError:
        refusal = _REFUSAL.search(printed)
        if refusal:
            return _NotHostedError("refused", refusal[1][:300])
        return _NotHostedError("fails", printed[-300:])


def _words(message: Any) -> str:
    """Return the message as a text, as its agent takes it: of a list, all of it."""
    text = "\n".join(map(str, message)) if isinstance(message, list) else message
    return text if isinstance(text, str) and text.strip() else "Hello"
