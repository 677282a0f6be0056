"""A thread that changes hands: begun under the other package's app, gone on with under ours, and back."""

from __future__ import annotations

import contextlib
import importlib.util
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from tests.support.carriers import APP
from tests.support.running_host import GUARD_SECONDS, RunningHost

OTHER_APP = Path(__file__).resolve().parent / "other_app"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        importlib.util.find_spec("agent_framework_azurefunctions") is None,
        reason="agent-framework-azurefunctions is not installed: it asks for azure-functions below 2, "
        "which Python 3.13 and later do not take",
    ),
]


class TaskHub:
    """One folder, so one task hub, under one app after the other."""

    def __init__(self, folder: Path) -> None:
        self._folder = shutil.copytree(APP, folder / "app")

    @contextlib.contextmanager
    def under(self, app: Path) -> Iterator[httpx.Client]:
        """Yield a client of the hub's host, which runs this app until the end of the block."""
        shutil.copy(app / "function_app.py", self._folder)
        with RunningHost(self._folder) as host, httpx.Client(base_url=host.origin, timeout=4 * GUARD_SECONDS) as client:
            yield client


@pytest.fixture
def hub(tmp_path: Path) -> TaskHub:
    """A task hub with nothing in it."""
    return TaskHub(tmp_path)


def ask(client: httpx.Client, message: str, thread_id: str = "t") -> str:
    answer = client.post("/api/agents/Joker/run", json={"message": message, "thread_id": thread_id})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["response"])


OTHER_IDS = ["ada@example.com", "chat:2026:1", "x" * 80, "Ada's \u00e9", "50%"]


@pytest.mark.behaviour("state.other-ids")
def test_threads_under_ids_that_only_their_package_gives_are_listed_continued_and_deleted(hub: TaskHub) -> None:
    """Under our app, by path and body; and what was not deleted is there under theirs again."""
    with hub.under(OTHER_APP) as client:
        for thread_id in OTHER_IDS:
            ask(client, f"I am {thread_id}", thread_id)
    with hub.under(APP) as client:
        listed = client.get("/api/agents/Joker/threads").json()["threads"]
        newest = client.get("/api/agents/Joker/threads", params={"sort": "changed"}).json()["threads"]
        answers = [ask(client, "recall", thread_id) for thread_id in OTHER_IDS]
        threads = [f"/api/agents/Joker/threads/{quote(thread_id, safe='')}" for thread_id in OTHER_IDS]
        counts = [client.get(url).json()["message_count"] for url in threads]
        deleted = [client.delete(url).status_code for url in threads[1:]]
        gone = [client.get(url).status_code for url in threads]
    with hub.under(OTHER_APP) as client:
        back = [ask(client, "recall", thread_id) for thread_id in OTHER_IDS[:2]]

    assert sorted(one["thread_id"] for one in listed) == sorted(OTHER_IDS)
    assert {one["thread_id"] for one in newest} == set(OTHER_IDS)
    assert answers == [f"I am {thread_id} | recall" for thread_id in OTHER_IDS]
    assert counts == [4] * len(OTHER_IDS)
    assert (deleted, gone) == ([204] * (len(OTHER_IDS) - 1), [200] + [404] * (len(OTHER_IDS) - 1))
    assert back == ["I am ada@example.com | recall | recall", "recall"]


def said(client: httpx.Client, thread_id: str) -> list[str]:
    """Return the texts of a thread as our app shows them."""
    entries = client.get(f"/api/agents/Joker/threads/{thread_id}/messages").json()["entries"]
    contents = [content for entry in entries for message in entry["messages"] for content in message["contents"]]
    return [content.get("text") or content["$type"] for content in contents]


@pytest.mark.behaviour("state.take-over")
def test_threads_that_go_there_and_back_and_there_again_lose_nothing(hub: TaskHub) -> None:
    """Begun under either app, with tools and without: texts, calls, results and our runs are all there at the end."""
    with hub.under(OTHER_APP) as client:
        ask(client, "one", "a")
        ask(client, "tool thread_name", "b")
    with hub.under(APP) as client:
        begun = client.post("/api/agents/Joker/run", json={"message": "two", "thread_id": "a"}).json()
        ask(client, "three", "c")
        before = {thread_id: said(client, thread_id) for thread_id in "abc"}
    with hub.under(OTHER_APP) as client:
        theirs = [ask(client, "recall", thread_id) for thread_id in "abc"]
    with hub.under(APP) as client:
        after = {thread_id: said(client, thread_id) for thread_id in "abc"}
        ours = [ask(client, "recall", thread_id) for thread_id in "abc"]
        run = client.get(f"/api/agents/Joker/threads/a/runs/{begun['run_id']}")
        listed = client.get("/api/agents/Joker/threads").json()["threads"]

    assert theirs == ["one | two | recall", "tool thread_name | recall", "three | recall"]
    assert ours == ["one | two | recall | recall", "tool thread_name | recall | recall", "three | recall | recall"]
    assert before["b"][1:3] == ["functionCall", "functionResult"]
    assert after == {name: [*before[name], "recall", answer] for name, answer in zip("abc", theirs, strict=True)}
    assert (run.status_code, run.json()["response"]) == (200, "echo: two")
    assert sorted(one["thread_id"] for one in listed) == ["a", "b", "c"]
