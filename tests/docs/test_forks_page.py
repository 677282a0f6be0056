"""docs/guides/forks.md: its request gets the answer that it shows, and its table has the fields."""

from __future__ import annotations

import json
import re

import pytest

from hosting.features.forks.http import FORK_BODY
from tests.support.app.scripted import scripted_agent
from tests.support.made_app import app_of, ask, served
from tests.support.pages import code, page

PAGE = page("docs/guides/forks.md")


@pytest.mark.behaviour("docs.examples-run")
async def test_its_request_gets_what_the_page_shows() -> None:
    """Of a thread of four turns; the fork's id apart, which the app makes."""
    body, shown = map(json.loads, code(PAGE, "json"))
    async with served(app_of(scripted_agent("Joker"))) as (_, http):
        for number in range(4):
            await ask(http, f"message {number}", thread_id="t")
        forked = await http.post("/api/agents/Joker/threads/t/fork", json=body)
    answer = forked.json()

    assert forked.status_code == 201
    assert forked.headers["location"].endswith(f"/api/agents/Joker/threads/{answer['thread_id']}")
    assert answer["session_id"] == answer["thread_id"]
    ours = {name: answer[name] for name in ("agent", "thread_id", "session_id")}
    assert answer == {**shown, **ours}


@pytest.mark.behaviour("docs.fields-and-routes")
def test_its_table_has_exactly_the_fields() -> None:
    """In their table, which is the first."""
    table = PAGE.partition("\n\n## ")[0]
    assert sorted(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == sorted(FORK_BODY.members)
