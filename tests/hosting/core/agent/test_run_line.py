"""What the library logs of runs: one line for each at its end, and never the text of a message."""

import asyncio
import logging
import re
import uuid
from collections.abc import AsyncIterator

import pytest
from agent_framework import AgentResponse

from hosting import __name__ as HOSTING
from state import __name__ as STATE
from tests.support.bench import Bench, answer
from tests.support.carriers import Api

CANARY = "canary-7f3a"
OURS = (HOSTING, STATE, "agents")


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    """One thread of an agent that raises when the message says so."""
    bench = Bench()
    bench.agent.work = answer_or_raise
    yield bench
    bench.loop.close()


async def answer_or_raise(text: str) -> AgentResponse[object]:
    """Answer, or fail without the text of the request."""
    if text.startswith("fail"):
        raise RuntimeError("the model is away")
    return await answer(text)


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the lines of runs that ended."""
    return [record.getMessage() for record in caplog.records if record.name == "hosting.core.telemetry"]


@pytest.mark.behaviour("hosting.one-line-per-run")
async def test_a_run_that_ends_has_its_one_line(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    """Who, where, how it ended, how often it was tried, how long it waited and ran; delivered again, nothing more."""
    caplog.set_level(logging.INFO)
    run_id = await bench.open("hi")

    await bench.signal(run_id, commit=False)
    await bench.signal(run_id)

    (line,) = lines(caplog)
    assert re.sub(r"\d+\.\d{3} s", "# s", line) == (
        f"Run {run_id} of agent Joker on thread t: completed; attempts 1, waited # s, ran # s, tokens in -, out -."
    )


@pytest.mark.behaviour("hosting.one-line-per-run")
async def test_a_run_that_failed_says_by_which_code(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)

    await bench.run("fail")

    assert [": run_failed; attempts 1" in line for line in lines(caplog)] == [True]


@pytest.mark.behaviour("hosting.no-text-in-logs")
async def test_no_logger_of_ours_says_what_was_asked_or_answered(direct: Api, caplog: pytest.LogCaptureFixture) -> None:
    """At DEBUG, over answers, tools, structured values, refusals, failures, replays and every way to read a thread."""
    for name in OURS:
        caplog.set_level(logging.DEBUG, logger=name)
    thread = f"t-{uuid.uuid4().hex[:12]}"
    key = {"idempotency-key": uuid.uuid4().hex}
    path = f"/api/agents/Joker/threads/{thread}"

    await asyncio.gather(*(direct.ask(f"{CANARY} {n}", thread_id=thread) for n in range(3)))
    await direct.ask("tool thread_name", thread_id=thread)
    await direct.ask(f"fail {CANARY}", thread_id=thread)
    await direct.ask(f"say {CANARY}", thread_id=thread, response_format={"type": "json_object"})
    await direct.ask(f'say {{"a": "{CANARY}"}}', thread_id=thread, response_format={"type": "json_object"})
    await direct.ask("hi", thread_id=thread, unknown=CANARY)
    for _ in range(2):
        await direct.http.post("/api/agents/Joker/run", json={"message": CANARY, "thread_id": thread}, headers=key)
    for read in (path, f"{path}/messages", f"{path}/export", f"{path}/runs"):
        await direct.http.get(read)
    await direct.http.post(f"{path}/reset")
    await direct.http.delete(path)

    records = [record for record in caplog.records if record.name.partition(".")[0] in OURS]
    assert len(lines(caplog)) == 8
    assert [record.name for record in records if CANARY in logging.Formatter().format(record)] == []
