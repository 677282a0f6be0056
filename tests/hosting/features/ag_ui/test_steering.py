"""Messages that join a run at work: pages that follow it get them at their place, and agree with the thread then."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.support.ag_ui import Events, events_of, folded, text_of, wanted
from tests.support.joining import both, steered

pytestmark = pytest.mark.behaviour("ag-ui.steering")
WORD = {"id": "u-2", "role": "user", "content": "and this"}


async def run(http: httpx.AsyncClient, fields: dict[str, Any]) -> Events:
    return events_of((await http.post("/api/ag-ui/Joker", json=fields)).text)


async def test_a_page_is_shown_the_message_that_joined_its_run() -> None:
    """At its place, under the id that its own page gave it, and once for a client that sends its run again.

    Sent again as the next one it is that; and a page that edits the first one takes both back, with the run.
    """
    first = wanted("first")
    async with steered("ag-ui") as (http, working):
        events, word = await both(http, working, run(http, first), run(http, wanted(run="r-2", messages=[WORD])))
        shown = folded(events, first["messages"])
        again = folded(await run(http, {**first, "messages": shown}), shown)
        following = await run(http, wanted(run="r-3", messages=shown[:4]))
        edited = await run(http, wanted(run="r-4", messages=[{**shown[0], "content": "anew"}]))

    roles = ["user", *["assistant", "tool"], "user", *["assistant", "tool"], "assistant"]
    assert [message["role"] for message in shown] == roles
    assert (shown[3], again) == (WORD, shown)
    assert json.loads(shown[-1]["content"])[3] == "user: and this"
    assert word[-1]["result"]["joined"]
    assert json.loads(text_of(following))[-6:-4] == [f"assistant: {shown[-1]['content']}", "user: and this"]
    assert json.loads(text_of(edited)) == ["user: anew", "call", "tool", "call", "tool"]
