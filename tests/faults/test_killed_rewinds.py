"""A message asked again under SIGKILL, and by two processes at once: its thread goes on from before it, once."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.faults.killing_stores import killed_by, killing_stores_app, running
from tests.support.ag_ui import Events, events_of, folded, text_of, wanted
from tests.support.carriers import GUARD_SECONDS, Api, socket_api
from tests.support.grouped_app import GroupHost, grouped_app
from tests.support.kept_in import KINDS, kept_in

pytestmark = [
    pytest.mark.slow,
    pytest.mark.behaviour("ag-ui.asked-again-killed"),
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

THREAD = "/api/agents/Joker/threads/t"
POINTS = [(f"{side} log.append", nth) for nth in (1, 2, 3) for side in ("before", "after")]
"""Around what takes back and accepts, around the first words, and around the end of the run that goes on."""


async def sent(api: Api, fields: dict[str, Any]) -> Events:
    """Return the events of a run."""
    return events_of((await api.http.post("/api/ag-ui/Joker", json=fields)).text)


async def spoken(api: Api) -> Events:
    """Take two turns, and return the messages of a page that drops the last answer."""
    first = wanted("one", run="r-1")
    messages = folded(await sent(api, first), first["messages"])
    second = wanted(*messages, {"id": "u", "role": "user", "content": "recall"}, run="r-2")
    return folded(await sent(api, second), second["messages"])[:-1]


async def stored(api: Api) -> list[str]:
    """Return what the thread's entries say."""
    entries = (await api.http.get(f"{THREAD}/messages")).json()["entries"]
    contents = [content for entry in entries for message in entry["messages"] for content in message["contents"]]
    return [content["text"] for content in contents if "text" in content]


@pytest.mark.parametrize(("point", "nth"), POINTS)
@pytest.mark.parametrize("stores", kept_in(*KINDS), indirect=True)
async def test_a_message_asked_again_by_a_killed_host_is_taken_back_once(
    tmp_path: Path, stores: dict[str, str], point: str, nth: int
) -> None:
    """The next host goes on with the run, or begins it by the same request, and gives the same answer again."""
    folder = killing_stores_app(tmp_path)
    async with running(folder, **stores) as (_, api):
        again = wanted(*await spoken(api), run="r-3")
        before = await stored(api)

    await killed_by(folder, point, lambda api: sent(api, again), NTH=str(nth), SAID="thread_id='t'", **stores)
    async with running(folder, **stores) as (_, api):
        answers = [await asyncio.wait_for(sent(api, again), GUARD_SECONDS) for _ in range(2)]
        after = await stored(api)
        pages = [folded(events, again["messages"]) for events in answers]
        page = pages[0]
        on = await sent(api, wanted(*page, {"id": "v", "role": "user", "content": "count"}, run="r-4"))

    assert pages[0] == pages[1]
    assert [message["content"] for message in page] == after == before == ["one", "echo: one", "recall", "one | recall"]
    assert text_of(on) == "5"


@contextlib.asynccontextmanager
async def api_of(host: GroupHost, folder: Path) -> Any:
    """The way to one host."""
    api = socket_api(host.origin, folder / ".agents" / "log.sqlite")
    async with api.http:
        yield api


@pytest.mark.parametrize("stores", kept_in(*KINDS), indirect=True)
async def test_two_processes_that_ask_again_at_once_take_back_once_each(tmp_path: Path, stores: dict[str, str]) -> None:
    """Of the runs that both began, one has the thread's last word; both processes have the same conversation then."""
    folder = killing_stores_app(tmp_path)
    with grouped_app(folder, log=stores) as app:
        async with api_of(app.http[0], folder) as one, api_of(app.http[1], folder) as two:
            messages = await spoken(one)
            edits = [[*messages[:-1], {**messages[-1], "content": f"say {name}"}] for name in ("a", "b")]
            asked = [wanted(*edit, run=f"r-{number}") for number, edit in enumerate(edits, start=3)]
            ended = await asyncio.gather(
                *(asyncio.wait_for(sent(*pair), GUARD_SECONDS) for pair in zip((one, two), asked, strict=True))
            )
            texts = [await stored(api) for api in (two, one)]
            pages = [folded(events, fields["messages"]) for events, fields in zip(ended, asked, strict=True)]
            newest = {"id": "v", "role": "user", "content": "recall"}
            on = await sent(two, wanted(*pages[0], newest, run="r-5"))

    last = texts[0][-1]
    assert texts[0] == texts[1] == ["one", "echo: one", f"say {last}", last]
    assert last in ("a", "b")
    assert [one["content"] for one in folded(on, [*pages[0], newest])][:4] == texts[0]
    assert text_of(on) == f"one | say {last} | recall"
