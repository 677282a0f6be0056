"""docs/guides/workflows.md: its example is an app, and its first request gets an answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.made_app import served
from tests.support.pages import code, page


@pytest.mark.behaviour("docs.workflows")
async def test_the_example_is_an_app_that_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AGENT_LOG", "memory")
    names: dict[str, Any] = {"__name__": "example"}
    exec(code(page("docs/guides/workflows.md"), "python")[0], names)

    async with served(names["app"]) as (_, http):
        answer = await http.post("/api/workflows/Shout/run", json={"message": "hello"})

    assert answer.json()["response"] == "HELLO"
