"""observability.md: its set-up exports spans as it stands, its line is the one logged, its tables are whole."""

import asyncio
import importlib
import inspect
import re
import shutil
from pathlib import Path

import pytest

from hosting.core import telemetry
from hosting.core.stores import connection
from hosting.features.feedback import telemetry as feedback_telemetry
from tests.support.carriers import APP, socket_api
from tests.support.running_host import RunningHost

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "guides" / "observability.md").read_text(encoding="utf-8")


def block(kind: str) -> str:
    """Return the page's block of that kind."""
    found = re.search(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def shape(line: str) -> str:
    """Return a line without its ids and numbers."""
    return re.sub(r"\b[0-9a-f]{32}\b|[\d.]+\d|\d", "N", line)


@pytest.mark.slow
@pytest.mark.behaviour("docs.observability")
async def test_an_app_with_the_page_s_set_up_prints_its_spans_and_the_page_s_line(tmp_path: Path) -> None:
    """The block before the app as it is, as the page says."""
    folder = shutil.copytree(APP, tmp_path / "app")
    app = folder / "function_app.py"
    app.write_text(block("python") + app.read_text(encoding="utf-8"), encoding="utf-8")

    with RunningHost(folder) as host:
        api = socket_api(host.origin, folder / ".agents" / "log.sqlite")
        await api.ask("hi", thread_id="first")
        await api.http.aclose()
        line = await asyncio.to_thread(host.wait_for, "on thread first: ")
        await asyncio.to_thread(host.stop)
        await asyncio.to_thread(host.wait_for, '"name": "run Joker"')

    assert shape(line[line.index("Run ") :]) == shape(block("text").strip())


@pytest.mark.behaviour("docs.observability")
def test_every_attribute_and_metric_stands_on_the_page_and_no_other() -> None:
    shown = set(re.findall(r"^\| `([a-z_.]+\.[a-z_.]+)` \| (?!DEBUG|INFO|WARNING|ERROR)", PAGE, re.MULTILINE))
    explained = {"agent.run.attempt.cause", "agent.log.call"}
    events = {"gen_ai.evaluation.result"}
    source = "".join(map(inspect.getsource, (telemetry, feedback_telemetry, connection)))

    assert shown | explained | events == set(
        re.findall(r'"((?:gen_ai|agent\.run|agent\.log|error)\.[a-z_.]+)"', source)
    )
    assert all(f"`{name}`" in PAGE for name in explained)


@pytest.mark.behaviour("docs.observability")
def test_every_logger_that_the_page_names_is_a_module_that_logs() -> None:
    """And so is each that warns or tells on purpose."""
    named = set(re.findall(r"^\| `(hosting\.[\w.]+)` \|", PAGE, re.MULTILINE))

    assert named
    for name in named:
        assert "logger." in inspect.getsource(importlib.import_module(name))
