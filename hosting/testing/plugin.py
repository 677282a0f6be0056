"""The pytest plugin: fixtures for an app's own tests, and the mark `killed_at` (docs/guides/testing.md).

Each session of pytest loads this file, so what it needs of the library is imported by the first test that uses it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hosting.testing import kill_cases

if TYPE_CHECKING:
    from hosting.testing.agent_app import AgentApp, AppHosts
    from hosting.testing.asking import RunAnswer, StreamedRun
    from hosting.testing.clock import AppClock
    from hosting.testing.model import Script, ScriptedModel

_MODEL_SETTINGS = ("OPENAI_", "AZURE_OPENAI_")
_APP_FOLDER = "agent_app_folder"
_IN_PROCESS = "agent_app_in_process"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the settings of the app, and the choice of kills."""
    parser.addini(_APP_FOLDER, "the folder of the app that the fixture agent_app runs (default: the root of the tests)")
    parser.addini(_IN_PROCESS, "run the app in the process of its tests (default: false)", type="bool", default=False)
    kill_cases.add_kill_options(parser.getgroup("agent_app", "tests of agents"))


def pytest_configure(config: pytest.Config) -> None:
    """Add the mark; watch this process before the app is imported into it; take kills that are named as tests."""
    config.addinivalue_line("markers", f"{kill_cases.MARK}(moment): {kill_cases.MEANING}")
    kill_cases.take_named(config)
    if config.getini(_IN_PROCESS):
        from hosting.testing.this_process import watch_this_process

        watch_this_process()


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let `-k` choose marked tests by the words of their kills."""
    kill_cases.add_keywords(item)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a marked test without a kill, and then once for each moment at which its app is killed."""
    return kill_cases.run_all(item, nextitem)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Iterator[None]:
    """Fail a test whose model had no answer left, or whose kills show something that is wrong."""
    return (yield from kill_cases.checked(pyfuncitem))


@pytest.fixture(scope="session")
def _agent_app_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppHosts]:
    from hosting.testing.agent_app import AppHosts

    hosts = AppHosts(tmp_path_factory.mktemp("agent-app"))
    yield hosts
    hosts.end_all()


@pytest.fixture
def agent_app_folder(pytestconfig: pytest.Config) -> Path:
    """The folder of the app that is tested. Override this fixture, or set `agent_app_folder` in pytest's settings."""
    return Path(pytestconfig.rootpath, pytestconfig.getini(_APP_FOLDER) or ".").resolve()


@pytest.fixture
def agent_app_settings() -> Mapping[str, str]:
    """The settings of the app in these tests. Override this fixture to have some."""
    return {}


@pytest.fixture
def agent_app_in_process(pytestconfig: pytest.Config) -> bool:
    """Whether the app runs in the process of its tests. Override this fixture, or set it in pytest's settings.

    A test that is marked `killed_at` has an app in a process of its own all the same.
    """
    return bool(pytestconfig.getini(_IN_PROCESS))


@pytest.fixture
def _agent_app_script() -> Script:
    from hosting.testing.model import Script

    return Script()


@pytest.fixture
def model(_agent_app_script: Script) -> ScriptedModel:
    """The model of all agents of the app in this test: it gives the answers that the test writes, and no others."""
    from hosting.testing.model import ScriptedModel

    _agent_app_script.is_used = True
    return ScriptedModel(_agent_app_script.write)


@pytest.fixture
def agent_app(
    request: pytest.FixtureRequest,
    _agent_app_hosts: AppHosts,
    _agent_app_script: Script,
    agent_app_folder: Path,
    agent_app_settings: Mapping[str, str],
    agent_app_in_process: bool,
) -> Iterator[AgentApp]:
    """The app, on a local host: `url`, `read`, `tool_calls`, `kill()`. It is started when a test first uses it."""
    from hosting.names import new_id
    from hosting.testing.agent_app import AgentApp
    from hosting.testing.case import AppCase

    def environ() -> dict[str, str]:
        own = {name: value for name, value in os.environ.items() if not name.startswith(_MODEL_SETTINGS)}
        own.pop("PYTEST_CURRENT_TEST", None)
        path = os.pathsep.join(filter(None, [str(agent_app_folder), own.get("PYTHONPATH", "")]))
        return {**own, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1", "AGENT_LOG": "sqlite", **agent_app_settings}

    def prepare(case: AppCase) -> None:
        _agent_app_script.begin(case)
        kill_cases.prepare_kill(request.node, case)

    here = agent_app_in_process and request.node.get_closest_marker(kill_cases.MARK) is None
    app = AgentApp(_agent_app_hosts, agent_app_folder, new_id(), prepare, environ, in_process=here)
    request.node.stash[kill_cases.APP] = app
    yield app
    app.leave(has_failed=request.node.stash.get(kill_cases.FAILED, False))


@pytest.fixture
def clock(agent_app: AgentApp) -> AppClock:
    """The app's time, which the test sets ahead: `clock.advance(hours=2)`. It never goes back."""
    from hosting.testing.clock import AppClock

    return AppClock(lambda: agent_app.clock_file)


@pytest.fixture
def ask(agent_app: AgentApp) -> Callable[..., RunAnswer]:
    """Send a message and return the `RunAnswer`: `ask("Hello", agent="assistant", thread="t1")`.

    Without `thread` it has a thread of its own; `agent` may be left out if the app has only one. The request is sent
    again under one idempotency key (`key`) until the run has ended, however often the app is killed. Other arguments
    are fields of the request. Raises `RemoteAgentError` for a run that fails, with its `code`.
    """
    from hosting.testing.asking import waited_for

    def ask(
        message: str, *, agent: str | None = None, thread: str | None = None, key: str | None = None, **fields: Any
    ) -> RunAnswer:
        __tracebackhide__ = True
        return waited_for(agent_app.requests.ask(message, agent, thread, key, **fields))

    return ask


@pytest.fixture
def stream(agent_app: AgentApp) -> Callable[..., StreamedRun]:
    """Do what `ask` does and read the run as a stream: its `answer`, and its `events` as they came."""
    from hosting.testing.asking import waited_for

    def stream(
        message: str, *, agent: str | None = None, thread: str | None = None, key: str | None = None, **fields: Any
    ) -> StreamedRun:
        __tracebackhide__ = True
        return waited_for(agent_app.requests.stream(message, agent, thread, key, **fields))

    return stream


@pytest.fixture
def approve(agent_app: AgentApp) -> Callable[..., RunAnswer]:
    """Decide on all that an answer waits for, and return the end of the run that goes on: `approve(answer)`.

    `approved=False` with a `reason` refuses. `value=` answers a question. Raises `ValueError` where nothing waits.
    """
    from hosting.testing.asking import waited_for

    def approve(waiting: RunAnswer, **decision: Any) -> RunAnswer:
        __tracebackhide__ = True
        return waited_for(agent_app.requests.approve(waiting, decision or {"approved": True}))

    return approve
