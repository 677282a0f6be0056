"""Many requests at once: none lost, none twice, none waiting for another's sake."""

import asyncio
import uuid

import pytest

from tests.support.carriers import Api


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


async def test_a_blocked_agent_stops_no_request(direct: Api) -> None:
    """Agents run on a loop of their own: health answers while one blocks it."""
    blocked = asyncio.create_task(direct.ask("block 0.6"))
    await asyncio.sleep(0)

    health = await direct.http.get("/api/health")

    assert (health.status_code, blocked.done()) == (200, False)
    assert (await blocked).status_code == 200
