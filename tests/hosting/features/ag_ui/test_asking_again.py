"""A client whose conversation is not the thread's: it asks again, edits a message, lags behind, sends little."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.support.ag_ui import Events, Wired, folded, text_of, wanted
from tests.support.carriers import GUARD_SECONDS

AGAIN = pytest.mark.behaviour("ag-ui.asked-again")
AGREES = pytest.mark.behaviour("ag-ui.agrees")
THREAD = "Joker/threads/t"


class Page:
    """A page with a conversation of its own, as the official client keeps it; `sent` counts its runs."""

    def __init__(self, wired: Wired, name: str = "page", messages: Events | None = None, **fields: Any) -> None:
        self._wired, self._name, self._fields = wired, name, fields
        self.messages, self.events = messages or [], list[Any]()
        self.sent = 0

    def adds(self, content: Any) -> Page:
        """Add a message of the user, with an id of its own."""
        name = f"{self._name}-{len(self.messages)}-{self.sent}"
        self.messages.append({"id": name, "role": "user", "content": content})
        return self

    def drops(self) -> Page:
        self.messages.pop()
        return self

    def edits(self, text: str) -> Page:
        """Change its last message, which keeps its id."""
        self.messages[-1] = {**self.messages[-1], "content": text}
        return self

    @property
    def request(self) -> dict[str, Any]:
        self.sent += 1
        return wanted(*self.messages, run=f"{self._name}-run-{self.sent}", **self._fields)

    async def runs(self, request: dict[str, Any] | None = None) -> str:
        """Send all that it has, and return the answer."""
        self.events = await self._wired.run(request or self.request)
        self.messages = folded(self.events, self.messages)
        return text_of(self.events)

    async def says(self, content: Any) -> str:
        return await self.adds(content).runs()

    @property
    def told(self) -> list[str] | None:
        """What it was told that the thread has before its last run; None where it was told nothing."""
        snapshots = [one["messages"] for one in self.events if one["type"] == "MESSAGES_SNAPSHOT"]
        return [one.get("content", "") for one in snapshots[-1]] if snapshots else None

    async def agrees(self) -> bool:
        """Return whether it has what the thread has."""
        return [one.get("content", "") for one in self.messages] == await stored(self._wired)


@pytest.fixture
def page(wired: Wired) -> Page:
    return Page(wired)


async def stored(wired: Wired) -> list[str]:
    """Return the texts of the thread."""
    entries = (await wired.ours("GET", f"{THREAD}/messages")).json()["entries"]
    messages = [message["contents"] for entry in entries for message in entry["messages"]]
    return [text for contents in messages if (text := "".join(one.get("text", "") for one in contents))]


async def until_runs(wired: Wired, count: int) -> None:
    runs: list[Any] = []
    while len(runs) < count:
        await asyncio.sleep(0)
        answer = await wired.ours("GET", f"{THREAD}/runs")
        runs = answer.json().get("runs", []) if answer.status_code == 200 else []


@AGAIN
async def test_an_answer_that_was_dropped_is_asked_for_again(wired: Wired, page: Page) -> None:
    """The thread goes on from before it, and says so; its next turn knows of the newer answer alone."""
    await page.says("one")
    first = await page.says("recall")

    again = await page.drops().runs()

    assert first == again == "one | recall"
    assert page.told == ["one", "echo: one", "recall"]
    assert await page.says("count") == "5"
    assert page.told is None
    assert await stored(wired) == ["one", "echo: one", "recall", "one | recall", "count", "5"]
    assert await page.agrees()


@AGAIN
async def test_a_run_that_asks_again_takes_back_once_however_often_it_is_sent(wired: Wired, page: Page) -> None:
    """Also after the thread has gone on: it is the same run then."""
    await page.says("one")
    await page.says("two")
    request = page.drops().edits("recall").request
    said = await page.runs(request)
    before = [*page.messages]
    await page.says("three")

    again = await wired.run(request)

    assert text_of(again) == said == "one | recall"
    assert folded(again, request["messages"]) == before
    assert await page.agrees()


@AGAIN
async def test_a_second_message_behind_a_run_under_way_takes_nothing_back(wired: Wired, page: Page) -> None:
    """It has its turn after it, without the first one once more, and the page gets the answer that it lacks."""
    running = asyncio.ensure_future(wired.run(page.adds("meet 2").request))
    await until_runs(wired, 1)
    second = asyncio.ensure_future(page.adds("recall").runs())
    await until_runs(wired, 2)
    await wired.ours("POST", "Joker/run", {"message": "meet 2", "thread_id": "another"})
    await asyncio.wait_for(running, GUARD_SECONDS)

    assert await asyncio.wait_for(second, GUARD_SECONDS) == "meet 2 | recall"
    assert page.told == ["meet 2", "2 have met", "recall"]
    assert await page.agrees()


@AGAIN
async def test_what_came_by_another_way_is_not_taken_back(wired: Wired, page: Page) -> None:
    """The page may never have known of it: it is refused by a code, and is told with its next message."""
    await page.says("one")
    await wired.ours("POST", "Joker/run", {"message": "ours", "thread_id": "t"})
    kept = [*page.messages]

    status, error = await wired.refused(page.drops().request)
    page.messages = kept
    said = await page.says("recall")

    assert (status, error["code"]) == (409, "run_not_newest")
    assert said == "one | ours | recall"
    assert page.told == ["one", "echo: one", "ours", "echo: ours", "recall"]
    assert await page.agrees()


@AGAIN
async def test_what_is_archived_is_not_taken_back() -> None:
    """A message that is too far back is refused by a code; a newer one is asked again."""
    wired = Wired({"AGENT_RECENT_BYTES": "2048"})
    page = Page(wired)
    for number in range(12):
        await page.says(f"say {number} {'x' * 100}")
    before = await stored(wired)
    status, error = await wired.refused(Page(wired, "other", page.messages[:1]).request)
    unchanged = await stored(wired)
    await page.drops().edits("say other").runs()
    after = await stored(wired)

    assert (status, error["code"]) == (409, "run_not_newest")
    assert "too far back" in error["message"]
    assert unchanged == before
    assert after == [*before[:-2], "say other", "other"]


@AGREES
async def test_a_page_learns_that_its_thread_was_reset_or_deleted(wired: Wired, page: Page) -> None:
    """Its next message begins anew, here and there."""
    await page.says("one")
    await wired.ours("POST", f"{THREAD}/reset")
    after_reset, told = await page.says("recall"), page.told
    await wired.ours("DELETE", THREAD)

    assert (after_reset, told) == ("recall", ["recall"])
    assert await page.says("recall") == "recall"
    assert page.told == ["recall"]
    assert await page.agrees()


@AGREES
async def test_a_page_gets_the_pictures_that_others_sent(wired: Wired, page: Page) -> None:
    """On the thread, and on a fork of it."""
    picture = {"type": "image", "source": {"type": "data", "value": "iVBORw0KGgo=", "mimeType": "image/png"}}
    sent = [{"type": "text", "text": "see"}, picture]
    await page.says(sent)
    await wired.ours("POST", f"{THREAD}/fork", {"thread_id": "fork"})
    others = [Page(wired, thread, thread=thread) for thread in ("t", "fork")]
    for other in others:
        await other.says("count")

    assert [other.messages[0]["content"] for other in others] == [sent, sent]


@AGAIN
async def test_two_that_ask_again_at_once_take_back_one_after_the_other(wired: Wired, page: Page) -> None:
    """The later one takes back the earlier one, which says so; nothing is there twice."""
    await page.says("one")
    await page.says("two")
    page.drops()
    pages = [Page(wired, name, [*page.messages]).edits(f"say {name}") for name in ("a", "b")]

    ended = await asyncio.gather(*(wired.run(one.request) for one in pages))
    texts = await stored(wired)

    assert texts[:2] == ["one", "echo: one"]
    assert texts[2:] in (["say a", "a"], ["say b", "b"])
    last = next(events for events, one in zip(ended, pages, strict=True) if one.messages[-1]["content"] == texts[2])
    assert last[-1]["outcome"] == {"type": "success"}
