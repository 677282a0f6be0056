"""docs/guides/triggers.md: its examples are apps, and its tables have the options that there are."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from hosting.features.triggers.trigger import TriggerOptions
from tests.support.deliveries import Out, queued
from tests.support.direct import DirectHost
from tests.support.pages import code, page, part

PAGE = page("docs/guides/triggers.md")


def example(number: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> DirectHost:
    """Return the app of an example."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("AGENT_LOG", "memory")
    names: dict[str, Any] = {"__name__": "example"}
    exec(code(PAGE, "python")[number], names)
    return DirectHost(names["app"])


@pytest.mark.behaviour("docs.triggers")
async def test_the_second_example_answers_each_message_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On the thread of its customer, with the id of the run."""
    host, answers = example(1, tmp_path, monkeypatch), Out()
    message = queued('{"customer": "c1", "text": "Hello"}')

    for _ in range(2):
        await host.trigger("inbox", message=message, answers=answers)

    first, again = map(json.loads, answers.values)
    assert first == again
    assert "Hello" in first["answer"]


@pytest.mark.behaviour("docs.triggers")
def test_the_table_has_the_options_of_a_trigger() -> None:
    options = part(PAGE, "## One run for each delivery").split("| option |")[1].split("\n\n")[0]
    listed = re.findall(r"^\| `([a-z_]+)` \|", options, flags=re.MULTILINE)

    assert listed == list(TriggerOptions.__annotations__)
