"""Threads that another package stored under ids that no new thread of ours may have: reached at every door."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from state.codec import write
from tests.support.carriers import ENTITY, Api
from tests.support.direct import DirectHost
from tests.support.state_documents import a_request, a_response, conversation_of

RUN = "/api/agents/Joker/run"
THREADS = "/api/agents/Joker/threads"
STORED = {
    "80 characters": "x" * 80,
    "a percent sign": "50%25",
    "an entity": "@dafx-joker@stored",
}


def keep(host: DirectHost, thread_id: str) -> None:
    """Store a conversation of one turn, as another package leaves it."""
    place = f"@{ENTITY}@{thread_id}"
    host.entities.states[place] = write(conversation_of((a_request("theirs"), a_response("theirs", "hello Ada"))))


@pytest.mark.behaviour("state.other-ids")
@pytest.mark.parametrize("thread_id", STORED.values(), ids=list(STORED))
async def test_what_is_stored_is_read_continued_and_deleted(
    direct: Api, direct_host: DirectHost, thread_id: str
) -> None:
    """By its id in a path, a body, a query and a header, and by the URL that the app answers with."""
    keep(direct_host, thread_id)
    url = f"{THREADS}/{quote(thread_id, safe='')}"

    read = await direct.http.get(url)
    shown = await direct.http.get(f"{url}/messages")
    ran = await direct.http.post(RUN, json={"message": "recall", "session_id": thread_id})
    asked = await direct.http.post(
        RUN, params={"thread_id": thread_id, "wait_for_response": "false"}, json={"message": "hi"}
    )
    ended = await direct.ended(asked.headers["location"])
    by_header = await direct.http.post(
        RUN, json={"message": "hi"}, headers={"x-ms-thread-id": ran.headers["x-ms-thread-id"]}
    )

    assert (read.status_code, read.json()["thread_id"], read.json()["message_count"]) == (200, thread_id, 2)
    assert [entry["run_id"] for entry in shown.json()["entries"]] == ["theirs", "theirs"]
    assert (ran.json()["thread_id"], ran.json()["response"]) == (thread_id, "hello | recall")
    assert (asked.status_code, ended["thread_id"]) == (202, thread_id)
    assert by_header.json()["message_count"] == 8
    assert (await direct.http.get(f"{url}/export")).json()["thread_id"] == thread_id
    assert (await direct.http.delete(url)).status_code == 204
    assert (await direct.http.get(url)).status_code == 404
    assert (await direct.http.get(f"{url}/erasure")).json()["thread_id"] == thread_id
    again = await direct.http.post(RUN, json={"message": "hi", "session_id": thread_id})
    assert (again.status_code, again.json()["code"]) == (400, "invalid_thread_id")
