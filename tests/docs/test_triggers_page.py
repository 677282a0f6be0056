"""docs/guides/triggers.md: its examples are apps, and its tables have the options that there are."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import azure.functions as func
import pytest

from hosting.features.triggers.client import AppClient
from tests.support.direct import DirectHost
from tests.support.pages import code, page, part

PAGE = page("docs/guides/triggers.md")


class Out:
    """What an output binding is given."""

    value: Any = None

    def set(self, value: Any) -> None:
        """Keep it, as the worker does until the function has returned."""
        self.value = value


def example(number: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> DirectHost:
    """Return the app of an example."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("AGENT_LOG", "memory")
    names: dict[str, Any] = {"__name__": "example"}
    exec(code(PAGE, "python")[number], names)
    return DirectHost(names["app"])


@pytest.mark.behaviour("docs.triggers")
async def test_a_function_of_the_first_example_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Into its queue."""
    host, answer = example(0, tmp_path, monkeypatch), Out()

    await host.trigger("inbox", message=func.QueueMessage(body="Hello"), answer=answer)

    assert "Hello" in answer.value


@pytest.mark.behaviour("docs.triggers")
def test_the_table_has_the_options_of_a_run() -> None:
    """Those that have a default."""
    rows = re.findall(r"^\| (`.+?) \|", part(PAGE, "## In a function of your own"), flags=re.MULTILINE)
    listed = {name for row in rows for name in re.findall(r"`([a-z_]+)`", row)}

    assert listed == set(inspect.signature(AppClient.run).parameters) - {"self", "agent", "message"}
