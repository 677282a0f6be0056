"""What is refused at the HTTP door: a clear 4xx in our words, and nothing stored."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import pytest

from tests.hosting.core.request.bad_contents import BAD_CONTENTS
from tests.hosting.core.request.bad_formats import BAD_FORMATS
from tests.hosting.core.request.bad_requests import BAD_REQUESTS, JSON, RUN, TEXT
from tests.support.carriers import GUARD_SECONDS, Api

BAD = {**BAD_REQUESTS, **BAD_FORMATS, **BAD_CONTENTS}


@pytest.mark.behaviour("http.bad-requests-store-nothing")
@pytest.mark.behaviour("http.json-without-its-type")
async def test_a_bad_request_is_refused_in_our_words_and_stores_nothing(direct: Api) -> None:
    """The problem names what was wrong; there is no log and no conversation more than before."""
    before = await direct.stored()

    for name, bad in BAD.items():
        headers = {"accept": "application/json", **bad.headers}
        answer = await direct.http.post(bad.url, content=bad.body, headers=headers)

        problem = answer.json()
        assert (answer.status_code, problem["status"], problem["code"]) == (bad.status, bad.status, bad.code), name
        assert answer.headers["content-type"] == "application/problem+json", name
        assert bad.says in problem["detail"], name
        assert problem["error"] == problem["detail"], name

    assert await direct.stored() == before


@pytest.mark.behaviour("http.problem-forms")
@pytest.mark.parametrize(("headers", "body"), [(TEXT, b"hi"), ({**JSON, "accept": "text/plain"}, b'{"message": "hi"}')])
async def test_a_text_client_is_refused_by_the_sentence_alone(
    direct: Api, headers: dict[str, str], body: bytes
) -> None:
    answer = await direct.http.post(f"{RUN}?thread_id=..", content=body, headers=headers)

    assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (400, "text/plain")
    assert answer.text.startswith("Thread id '..' is not valid. Use 1 to 64 of the characters")


@pytest.mark.behaviour("http.wrong-verb")
async def test_another_verb_than_post_is_refused_with_the_right_one(direct: Api) -> None:
    before = await direct.stored()
    for verb in ("GET", "PUT", "DELETE", "PATCH"):
        answer = await direct.http.request(verb, RUN)

        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
        assert answer.json()["detail"] == f"{verb} is not served here. Send POST agents/Joker/run."
    assert await direct.stored() == before


@pytest.mark.behaviour("http.unknown-runs")
async def test_a_run_is_found_under_its_own_ids_only(direct: Api) -> None:
    """Another thread, another run or an id that cannot be one: 404. So is an agent without an HTTP door."""
    run = (await direct.ask("hi")).json()
    thread, run_id = run["thread_id"], run["run_id"]
    paths = [f"Joker/threads/other-thread/runs/{run_id}", f"quiet/threads/{thread}/runs/{run_id}"]
    paths += [f"Joker/threads/{thread}/runs/{other}" for other in ("other-run", "..x.", "%20")]

    assert [(await direct.http.get(f"/api/agents/{path}")).status_code for path in paths] == [404] * 5


ADDRESS = "http://192.0.2.1:9/x"
MANY = 300
AT_ONCE = 100


@pytest.mark.behaviour("http.no-header-injection")
async def test_no_value_of_a_request_becomes_a_header_of_its_answer(direct: Api) -> None:
    """Neither an id, nor a preference, nor a host; refused or left out."""
    for end in ("\r\n", "\n", "\r", "\u2028", "\u0085"):
        evil = f"a{end}set-cookie: evil=1"
        raw, message = evil.encode(), {"message": "hi", "wait_for_response": False}
        answers = [
            await direct.http.post(RUN, json={**message, "thread_id": evil}),
            await direct.http.post(RUN, params={"thread_id": evil}, json=message),
            await direct.http.post(RUN, json=message, headers={"prefer": raw}),
            await direct.http.post(RUN, json={"message": "hi"}, headers={"prefer": b"wait=1; a=" + raw}),
            await direct.http.post(RUN, json=message, headers={"x-forwarded-host": raw, "host": raw}),
            await direct.http.get(f"/api/agents/{quote(evil)}/threads"),
        ]

        assert all("set-cookie" not in answer.headers for answer in answers)
        assert not any(set("\r\n") & set(value) for answer in answers for value in answer.headers.values())


@pytest.mark.slow
@pytest.mark.behaviour("http.slow-bodies")
async def test_bodies_that_do_not_come_hold_up_nobody(socket: Api) -> None:
    """Fifty callers send the half of what they promised; others are answered, and nothing of theirs is stored."""
    origin = urlsplit(str(socket.http.base_url))
    head = (
        f"POST {RUN} HTTP/1.1\r\nhost: {origin.netloc}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n"
    )
    before = (await socket.stored())[0]
    callers = [await asyncio.open_connection(origin.hostname, origin.port) for _ in range(50)]
    for _, writer in callers:
        writer.write(head.encode() + b'{"message": "half of it')
        await writer.drain()

    answer = await asyncio.wait_for(socket.ask("hi"), GUARD_SECONDS)
    for _, writer in callers:
        writer.close()
    later = await asyncio.wait_for(socket.ask("hi"), GUARD_SECONDS)

    assert (answer.status_code, later.status_code) == (200, 200)
    assert (await socket.stored())[0] == before + 2


@pytest.mark.slow
@pytest.mark.behaviour("http.many-threads")
async def test_three_hundred_threads_created_at_once_are_three_hundred_threads(socket: Api) -> None:
    """A hundred requests at a time, each with its answer; all of them are listed."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def create(number: int) -> tuple[str, str]:
        async with gate:
            answer = (await socket.ask(f"word-{number}")).json()
        return answer["response"], answer["thread_id"]

    created = await asyncio.gather(*(create(number) for number in range(MANY)))

    assert [response for response, _ in created] == [f"echo: word-{number}" for number in range(MANY)]
    assert len({thread_id for _, thread_id in created}) == MANY
    await asyncio.wait_for(listed(socket, {thread_id for _, thread_id in created}), GUARD_SECONDS)


async def listed(api: Api, wanted: set[str]) -> None:
    """Return once all of these threads are listed: a thread is written after its answer is known."""
    found: set[str] = set()
    while not wanted <= found:
        cursor: str | None = ""
        while cursor is not None:
            page = (await api.http.get("/api/agents/Joker/threads", params={"limit": 200, "cursor": cursor})).json()
            found |= {thread["thread_id"] for thread in page["threads"]}
            cursor = page["next_cursor"]


class Watch:
    """What this process reached for while it was watched; an audit hook stays for the process's life."""

    def __init__(self) -> None:
        self.is_on = False
        self.reached: list[str] = []
        sys.addaudithook(self._note)

    @contextmanager
    def on(self) -> Iterator[list[str]]:
        """Note each connection and each look-up of a name until the end of the block."""
        self.reached, self.is_on = [], True
        try:
            yield self.reached
        finally:
            self.is_on = False

    def _note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.is_on and event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"):
            self.reached.append(event)


WATCH = Watch()
PICTURE = {"$type": "uri", "uri": ADDRESS, "mediaType": "image/png"}
FORWARDED = {"x-forwarded-host": "192.0.2.1:9", "host": "192.0.2.1:9", "forwarded": "host=192.0.2.1"}

ADDRESSED: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({"contents": [PICTURE]}, {}),
    ({"message": ADDRESS}, {}),
    ({"message": 'say "x"', "response_format": {"$id": ADDRESS}}, {}),
    ({"response_format": {"$schema": ADDRESS}}, {}),
    ({"response_format": {"$ref": f"{ADDRESS}#/a"}}, {}),
    ({"response_format": {"items": {"$ref": ADDRESS}}}, {}),
    ({"callback_url": ADDRESS}, {}),
    ({"thread_id": "192.0.2.1"}, {}),
    ({"wait_for_response": False}, FORWARDED),
    ({}, {"referer": ADDRESS, "origin": ADDRESS}),
    ({}, {"idempotency-key": f"{ADDRESS}/key-of-{os.getpid()}"}),
]


@pytest.mark.behaviour("http.references-are-not-fetched")
async def test_this_process_reaches_for_no_address_of_a_caller(direct: Api) -> None:
    """No connection is tried and no name looked up: the interpreter itself reports both."""
    for fields, headers in ADDRESSED:
        with WATCH.on() as reached:
            answer = await direct.http.post(RUN, json={"message": "hi", **fields}, headers=headers)
            if answer.status_code == 202:
                await direct.ended(httpx.URL(answer.headers["location"]).path)

        assert (answer.status_code in (200, 202, 400), reached) == (True, []), fields
