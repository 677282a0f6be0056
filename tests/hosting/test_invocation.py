"""What is logged on a run's way carries the invocation that runs it, wherever the code runs that logs it."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest

from hosting.azure_log import keep_lines_of_entities
from hosting.core.agent.agent_loop import AgentLoop
from hosting.invocation import begin_invocation
from tests.support.carriers import APP as APP_UNDER_TEST
from tests.support.running_host import RunningHost

GUARD_SECONDS = 5.0
APP = Path(__file__).with_name("logging_app")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return shutil.copytree(APP, tmp_path / "app")


def ask(host: RunningHost, message: str, thread_id: str = "t") -> httpx.Response:
    body = {"message": message, "thread_id": thread_id}
    return httpx.post(f"{host.origin}/api/agents/Joker/run", json=body, timeout=4 * GUARD_SECONDS)


def logged_by(host: RunningHost, logger: str) -> list[str]:
    """Return the lines of one logger, without time and level, once the host has stopped."""
    host.stop()
    host.__exit__()
    found = (re.search(rf"(?:INFO|WARNING|ERROR) {re.escape(logger)}: (.*)", line) for line in host.printed)
    return [match[1] for match in found if match]


@pytest.mark.slow
@pytest.mark.behaviour("hosting.logs-carry-the-invocation")
def test_what_an_agent_logs_is_what_azure_would_get(folder: Path) -> None:
    """Middleware, a synchronous tool in its thread, a callback in its; of a thread of a tool's own nothing is known.

    A failed run leaves its traceback and a raising tool its warning; a classic handler logs for its invocation too.
    """
    with RunningHost(folder) as host:
        for message in ("tool works", "tool alone"):
            ask(host, message)
            host.wait_for("callback of t")
        assert httpx.get(f"{host.origin}/api/classic").text == "done"
        ask(host, "tool fails", "fails")
        failed = ask(host, "fail", "fails")
        shop = [line for line in logged_by(host, "shop") if "fail" not in line]
        framework = [line for line in host.printed if " WARNING agent_framework: " in line]
        printed = "\n".join(host.printed)

    assert shop == [
        "middleware of tool works",
        "sync tool in agent-tool_0",
        "callback of t",
        "middleware of tool alone",
        "callback of t",
        "classic handler",
    ]
    assert "The log has more at run" in failed.json()["detail"]
    assert re.search(r"hosting.core.agent.agent_runner: Run [0-9a-f]{32} of agent Joker failed", printed)
    assert "RuntimeError: a secret of the model" in printed
    assert len(framework) == 1
    assert "Function 'fails' raised an exception" in framework[0]


STORAGE = threading.local()


def stored() -> object:
    """Return the id of the calling thread's storage."""
    return getattr(STORAGE, "invocation_id", None)


@pytest.fixture
def loop() -> Iterator[AgentLoop]:
    """An agent loop with one thread for tools, so that all tools share it."""
    loop = AgentLoop(1)
    yield loop
    loop.close()


@pytest.mark.slow
@pytest.mark.behaviour("hosting.logs-carry-the-invocation")
async def test_code_that_blocks_the_loop_is_told_of_for_the_invocation_that_blocks(loop: AgentLoop) -> None:
    """The watchdog's thread belongs to no invocation, so it takes the id of the task that blocks."""
    received: list[tuple[str, object]] = []

    class Listening(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            received.append((record.levelname, stored()))
            logged.set()

    async def block() -> None:
        assert not logged.wait(1.2)  # blocks, which is the point

    async def deliver() -> None:
        begin_invocation(SimpleNamespace(invocation_id="i-1", thread_local_storage=STORAGE))
        await loop.run(block())

    logged = threading.Event()
    listening = Listening()
    logging.getLogger("hosting.core.agent.agent_loop").addHandler(listening)
    try:
        await asyncio.create_task(deliver())
        assert await asyncio.to_thread(logged.wait, GUARD_SECONDS)
    finally:
        logging.getLogger("hosting.core.agent.agent_loop").removeHandler(listening)

    assert received == [("WARNING", "i-1")]


SAID_BY_ENTITY = ["calls tool works.", "completed", "middleware of tool works"]
TURNED_DOWN = {"default": "Information", "Function.dafx-*.User": "Warning"}


@pytest.mark.slow
@pytest.mark.behaviour("hosting.entity-lines")
@pytest.mark.parametrize(
    ("rules", "printed"),
    [
        (TURNED_DOWN, SAID_BY_ENTITY),
        ({}, []),
    ],
)
def test_what_an_agent_says_in_its_entity_is_printed_where_the_host_drops_it(
    folder: Path, rules: dict[str, str], printed: list[str]
) -> None:
    """At INFO, of a run that nobody waits for. Its warnings stay under its function."""
    write_rules(folder, rules)
    body = {"message": "tool works", "thread_id": "t", "wait_for_response": False}
    with RunningHost(folder) as host:
        accepted = httpx.post(f"{host.origin}/api/agents/Joker/run", json=body, timeout=4 * GUARD_SECONDS)
        url = accepted.headers["location"]
        httpx.get(url, headers={"prefer": "wait=10"}, timeout=4 * GUARD_SECONDS).raise_for_status()
        waited = ask(host, "hello", "u")
        shop = logged_by(host, "shop")
    lines = [re.sub(r"^Run \w+ (?:of agent Joker on thread t: )?(.*?)(?:;.*)?$", r"\1", line) for line in host.printed]

    assert (accepted.status_code, waited.status_code) == (202, 200)
    assert sorted(line for line in lines if line in SAID_BY_ENTITY) == printed
    assert ("sync tool in agent-tool_0" in shop) == (rules.get("Function.dafx-*.User") != "Error")
    assert "middleware of hello" in shop


def write_rules(folder: Path, rules: dict[str, str]) -> None:
    (folder / "host.json").write_text(json.dumps({"version": "2.0", "logging": {"logLevel": rules}}), encoding="utf-8")


@pytest.fixture
def root() -> Iterator[None]:
    """The root logger at INFO, which is afterwards as it was."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    root.setLevel(logging.INFO)
    yield
    root.setLevel(level)
    root.handlers[:] = handlers


@pytest.mark.usefixtures("root")
@pytest.mark.behaviour("hosting.entity-lines")
@pytest.mark.parametrize(
    ("function", "logger", "level", "printed"),
    [
        ("dafx-Joker", "shop", logging.INFO, "two lines, one record\n"),
        ("dafx-Joker", "shop", logging.WARNING, ""),
        ("dafx-Joker", "azure_functions_worker", logging.INFO, ""),
        ("http-Joker", "shop", logging.INFO, ""),
        ("", "shop", logging.INFO, ""),
        ("dafx-Own", "shop", logging.INFO, ""),
        ("dafx-A", "shop", logging.INFO, ""),
    ],
)
async def test_one_line_is_printed_for_each_record_of_an_entity_that_the_host_drops(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    *,
    function: str,
    logger: str,
    level: int,
    printed: str,
) -> None:
    """None that the host keeps: of another function, of one with a rule of its own, a warning, or the worker's own.

    Two apps print no line twice.
    """
    own = dict.fromkeys(("Function.dafx-Own.User", "function.dafx-A.User"), "Information")
    write_rules(folder, {**own, **TURNED_DOWN})
    for _ in range(2):
        keep_lines_of_entities(folder, {"AzureWebJobsScriptRoot": str(folder)})

    async def deliver() -> None:
        begin_invocation(SimpleNamespace(invocation_id="i-1", function_name=function))
        await asyncio.to_thread(logging.getLogger(logger).log, level, "two lines,\none %s", "record")

    await asyncio.create_task(deliver())

    assert capsys.readouterr().out == printed


CHOSEN = 'import logging\nlogging.getLogger("agent_framework").setLevel(logging.INFO)\n'


def printed_for_a_tool_call(folder: Path, *arguments: str, before_the_app: str = "") -> list[str]:
    """Return the lines of a host, up to the end of a run that calls a tool."""
    app = shutil.copytree(APP_UNDER_TEST, folder / "app") / "function_app.py"
    app.write_text(before_the_app + app.read_text(encoding="utf-8"), encoding="utf-8")
    with RunningHost(app.parent, "--port", "0", *arguments) as host:
        answer = httpx.post(f"{host.origin}/api/agents/Joker/run", json={"message": "tool thread_name"})
        assert answer.json()["response"].startswith("tool said ")
        host.wait_for("completed; attempts 1")
        return host.printed


@pytest.mark.slow
@pytest.mark.behaviour("hosting.one-line-a-tool-call")
def test_a_tool_call_has_one_line_in_the_log(tmp_path: Path) -> None:
    """Where a newcomer sees it; the framework's three are left out."""
    lines = [line for line in printed_for_a_tool_call(tmp_path) if " agent_framework" in line or "thread_name" in line]

    assert len(lines) == 1, lines
    assert " hosting.core.agent.steps: Run " in lines[0]
    assert lines[0].endswith(" calls tool thread_name.")


@pytest.mark.slow
@pytest.mark.behaviour("hosting.one-line-a-tool-call")
@pytest.mark.parametrize(("arguments", "before_the_app"), [((), CHOSEN)])
def test_the_frameworks_own_lines_come_where_somebody_asked_for_them(
    tmp_path: Path, arguments: tuple[str, ...], before_the_app: str
) -> None:
    """By the host's level, or by a level that the app gave the framework's logger itself."""
    lines = printed_for_a_tool_call(tmp_path, *arguments, before_the_app=before_the_app)

    assert [line for line in lines if "Function thread_name succeeded." in line] != []
