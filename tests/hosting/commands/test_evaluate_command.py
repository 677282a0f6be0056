"""`python dev.py evaluate` where it cannot begin, and the app that it starts."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest

from devhost import __name__ as DEVHOST
from hosting.commands.evaluate import main
from hosting.testing.local_app import LocalApp
from tests.support.app_folder import make_app
from tests.support.carriers import APP
from tests.support.running_host import START_GUARD_SECONDS
from tests.support.warm_python import ROOT

pytestmark = pytest.mark.behaviour("evaluation.command")
CASE = '{"query": "hi", "keywords": ["echo"]}'


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """One case; the apps that a command starts find the product."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    path = tmp_path / "cases.jsonl"
    path.write_text(CASE, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["no.jsonl"], "cannot be read"),
        (["{file}", "--app", "{folder}"], "has no host.json. Name the app's folder."),
        (["{file}", "--url", "localhost"], "must begin with http:// or https://"),
        (["{file}", "--url", "http://127.0.0.1:9"], "cannot be reached at http://127.0.0.1:9"),
        (["{file}", "--url", "http://127.0.0.1:9", "--key", "a b"], "--key has spaces"),
    ],
)
def test_what_cannot_begin_is_a_sentence_and_the_exit_code_1(
    arguments: list[str], sentence: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main([argument.format(file=file, folder=file.parent) for argument in arguments])

    assert code == 1
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--repetitions=0", "--parallel=65", "--repetitions=x"])
def test_a_number_out_of_its_range_is_refused(option: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([str(file), option])

    assert "is not a number from 1 to" in capsys.readouterr().err


@pytest.mark.slow
def test_an_app_that_does_not_start_is_shown_with_its_lines(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_app(file.parent, "raise ValueError('no such model')\n")

    assert main([str(file), "--app", str(folder)]) == 1
    printed = capsys.readouterr().err
    assert "no such model" in printed
    assert "does not start. The lines above say why." in printed


@pytest.mark.slow
def test_without_the_local_host_the_package_to_install_is_named(file: Path) -> None:
    """A process that has the library alone, as a deployed app has it."""
    make_app(file.parent, "")
    program = f"import sys; sys.modules[{DEVHOST!r}] = None; from {main.__module__} import main; main([{str(file)!r}])"
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=file.parent, capture_output=True, text=True, timeout=60, check=False
    )

    assert ended.stderr.endswith("Install functions-local-host, or name a running app.\n")


@pytest.mark.slow
def test_a_started_app_that_is_killed_is_back_on_its_port_and_gone_at_the_end(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So runs that wait for it go on, and no process is left."""
    app = LocalApp(shutil.copytree(APP, file.parent / "app"))
    with app as address:
        first = app._process
        assert first is not None
        os.kill(first.pid, signal.SIGKILL)
        first.wait()
        assert answers(address, START_GUARD_SECONDS)
        last = app._process

    assert last is not None
    assert last.pid != first.pid
    assert last.poll() is not None


def answers(address: str, seconds: float) -> bool:
    """Return whether the app answers within the time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            return httpx.get(f"{address}/api/health", trust_env=False).status_code == 200
        except httpx.TransportError:
            time.sleep(0.05)
    return False
