"""A conversation that fills: what is logged, what is refused, and what is kept of an answer that is too large."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from agent_framework import AgentResponse, Message

from hosting.core.archiving import Capacity
from hosting.core.thread.events import Failed
from hosting.errors import ArchiveUnavailableError
from hosting.http.replies import run_reply
from tests.support.bench import ADDRESS, Bench

LIMIT = 4096
TELLERS = ("hosting.core.archiving", "hosting.core.agent.smaller_answers")
PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "state.md").read_text(encoding="utf-8")


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench(environ={"AGENT_STATE_LIMIT_BYTES": str(LIMIT)})
    bench.archive.is_down = True
    yield bench
    bench.loop.close()


async def answer_at_length(text: str) -> AgentResponse[None]:
    return AgentResponse(messages=[Message("assistant", ["x" * int(text)])])


async def fill(bench: Bench) -> str:
    bench.agent.work = answer_at_length
    return await bench.run(str(LIMIT - 400))


def stored_bytes(bench: Bench) -> int:
    assert bench.state is not None
    return len(bench.state.encode())


@pytest.mark.behaviour("state.full-thread-keeps-its-answer")
async def test_the_turn_that_passes_the_limit_is_kept_in_its_log_until_the_archive_is_back(bench: Bench) -> None:
    """The document is not stored over its limit; the operation comes again, and nothing is run anew."""
    before = await bench.run("first")
    with pytest.raises(ArchiveUnavailableError):
        await fill(bench)
    waiting = bench.places()
    bench.archive.is_down = False

    following = await bench.run("1")

    assert (waiting, bench.places(), len(bench.agent.seen)) == ([before], [following], 3)


@pytest.mark.behaviour("state.full-thread-refuses")
async def test_a_message_that_would_pass_the_limit_is_refused_and_a_shorter_one_is_taken(bench: Bench) -> None:
    """Room is counted before anything is paid for, in bytes and not in characters."""
    too_long, fits = await bench.run("ü" * (LIMIT // 2)), await bench.run("ü" * (LIMIT // 4))

    assert [(await bench.terminal(run_id)).kind for run_id in (too_long, fits)] == ["failed", "completed"]
    assert bench.places() == [fits]


@pytest.mark.behaviour("state.too-large-answer")
async def test_an_answer_larger_than_a_conversation_is_told_and_leaves_an_error_in_its_place(bench: Bench) -> None:
    """The document stays within twice its limit, and the model never sees the turn."""
    bench.agent.work = answer_at_length
    run_id = await bench.run(str(LIMIT))
    reply = json.loads(run_reply(await bench.find_run(run_id), "json", "").body)
    await bench.run("1")

    assert (reply["response"], reply["kept"], reply["message_count"]) == ("x" * LIMIT, False, 2)
    assert bench.entries()[1]["messages"][0]["contents"][0]["errorCode"] == "answer_too_large"
    assert bench.agent.seen[1] == ["1"]
    assert stored_bytes(bench) < LIMIT


@pytest.mark.behaviour("state.warns-from-half")
@pytest.mark.parametrize(("held", "lines"), [(2047, 0), (2048, 1), (4095, 1), (4096, 1)])
def test_the_log_warns_from_half_of_the_limit_on(held: int, lines: int, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "hosting.core.archiving"):
        Capacity(LIMIT, attachment_bytes=1024).warn(ADDRESS, "x" * held)

    assert len(caplog.messages) == lines


@pytest.mark.behaviour("state.page")
async def test_the_page_shows_what_is_said_at_each_stage(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    await bench.run("a" * 1000)
    long = await bench.terminal(await bench.run("1" * LIMIT))
    bench.state = None
    bench.agent.work = answer_at_length
    await bench.run(str(LIMIT))
    logged = [record.getMessage() for record in caplog.records if record.name in TELLERS]
    assert isinstance(long, Failed)

    output = {shape(line) for line in (*logged, long.detail)}
    assert {shape(line) for line in re.findall(r"^> (.*)$", PAGE, re.MULTILINE)} == output


def shape(line: str) -> str:
    return re.sub(r"(?<=Thread )\S+|(?<=run )[0-9a-f]{32}|(?<=agent )\w+|\d[\d,]*", "#", line)
