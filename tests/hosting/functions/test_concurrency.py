"""Many requests at once: none lost, none twice, none waiting for another's sake."""

import asyncio
import threading
import uuid
from typing import Any

import pytest

from hosting.http.request import HttpRequest, Received
from hosting.http.routes import RUN
from hosting.plan import Plan
from hosting.principal import Caller
from tests.support.carriers import Api

NO_CLIENT: Any = None


@pytest.mark.behaviour("http.concurrent-runs-kept")
async def test_sixteen_at_once_on_one_thread_are_sixteen_turns(api: Api) -> None:
    """Each has its answer, and each its one turn in the conversation."""
    thread = f"t-{uuid.uuid4().hex[:12]}"

    answers = await asyncio.gather(*(api.ask(f"word-{n}", thread_id=thread) for n in range(16)))

    entries = await api.entries(thread, turns=16)
    runs = [answer.json()["run_id"] for answer in answers]
    assert [answer.json()["response"] for answer in answers] == [f"echo: word-{n}" for n in range(16)]
    assert sorted(entry["correlationId"] for entry in entries if entry["$type"] == "request") == sorted(runs)
    assert sorted(entry["correlationId"] for entry in entries if entry["$type"] == "response") == sorted(runs)
    assert sorted(answer.json()["message_count"] for answer in answers) == list(range(2, 34, 2))


async def test_threads_do_not_wait_for_each_other(direct: Api) -> None:
    """Twenty runs on threads of their own of which none ends before all have begun."""
    answers = await asyncio.gather(*(direct.ask("meet 20") for _ in range(20)))

    assert {(answer.status_code, answer.json()["response"]) for answer in answers} == {(200, "20 have met")}


async def test_a_blocked_agent_stops_no_request(direct: Api) -> None:
    """Agents run on a loop of their own: health answers while one blocks it."""
    blocked = asyncio.create_task(direct.ask("block 0.6"))
    await asyncio.sleep(0)

    health = await direct.http.get("/api/health")

    assert (health.status_code, blocked.done()) == (200, False)
    assert (await blocked).status_code == 200


@pytest.mark.behaviour("http.bounded-parsing")
@pytest.mark.parametrize(("length", "is_beside"), [(100, False), (100_000, True)])
async def test_a_large_body_is_parsed_beside_the_loop(length: int, is_beside: bool) -> None:
    """Where no other request waits for it; a small one is not worth a thread."""
    thread = await _request(b"x" * length).parsed(lambda _: threading.get_ident())

    assert (thread != threading.get_ident()) is is_beside


def _request(body: bytes) -> HttpRequest:
    async def sent() -> bytes:
        return body

    return HttpRequest(Received("http", "/api/x", {}, {}, {}, sent), RUN, Plan(), Caller(NO_CLIENT))
