"""What an agent says, in its run's log while it says it: batched, in order, whole, whatever dies in between."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from agent_framework import AgentResponse, Message

from hosting.errors import LogUnavailableError
from hosting.events import Delta, Event, Restarted
from tests.support.bench import Bench
from tests.support.event_stream import words
from tests.support.halted_runs import World
from tests.support.planned import ALL_SAID
from tests.support.speaker import Speaker, spoken, told

QUIET = {"AGENT_STREAM_BATCH_SECONDS": "10"}
CHARACTERS = {"AGENT_STREAM_BATCH_CHARACTERS": "100"}


async def until(is_so: Callable[[], bool]) -> None:
    """Return once it is so: another loop makes it so."""
    while not is_so():  # noqa: ASYNC110
        await asyncio.sleep(0)


@pytest.mark.behaviour("streams.batched")
async def test_two_thousand_tokens_are_a_few_appends_and_the_first_does_not_wait() -> None:
    """The number of appends follows the time, and not the tokens."""
    bench = Bench(Speaker([f"token{n} " for n in range(2000)]), QUIET)

    events = await spoken(bench)

    deltas = [event for event in events if isinstance(event, Delta)]
    assert deltas[0].text.startswith("token0 ")
    assert len(deltas) <= 12
    assert words(told(events)) == "".join(f"token{n} " for n in range(2000))


@pytest.mark.behaviour("streams.batched")
async def test_many_characters_do_not_wait_for_the_time() -> None:
    """A setting says how many."""
    bench = Bench(speaker := Speaker(["first", "x" * 60, "y" * 60, "last"]), {**QUIET, **CHARACTERS})
    written: list[str] = []
    plain = bench.store.append

    async def noted(run_id: str, *events: Event, after: int) -> bool:
        appended = await plain(run_id, *events, after=after)
        written.extend(event.text for event in events if isinstance(event, Delta))
        return appended

    async def until_first_is_written() -> None:
        await until(lambda: written == ["first"])

    async def until_more_is_written() -> None:
        await until(lambda: written == ["first", "x" * 60 + "y" * 60])

    bench.store.append = noted  # type: ignore[method-assign]
    speaker.after_piece = {0: until_first_is_written, 2: until_more_is_written}
    events = await spoken(bench)

    assert words(told(events)) == "".join(speaker.pieces)


@pytest.mark.behaviour("streams.words-before-steps")
async def test_words_stand_before_the_tool_calls_that_follow_them() -> None:
    """And in one write with them where they waited."""
    world = World(QUIET, speaks=True)
    events = await spoken(world.bench)

    kinds = [event.kind for event in events]
    for number, place in enumerate([index for index, kind in enumerate(kinds) if kind == "model_result"], start=1):
        before = told(events[:place])
        assert words(before).endswith(f"Step {number} needs tools.")
    assert words(told(events)) == ALL_SAID


@pytest.mark.behaviour("streams.restart")
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", range(1, 12))
async def test_killed_at_any_record_a_reader_has_every_word_once(number: int, when: str) -> None:
    """What a recorded model answer said stands and is not said again; the rest is taken back and said anew.

    Every word is a record here; over a real host, which is killed around each record, words wait for the next step.
    """
    world = World({"AGENT_STREAM_BATCH_SECONDS": "0"}, speaks=True, harmless=True)
    run_id = await world.killed_at(number, when, streamed=True)

    await world.finished(run_id)

    events = world.store.told(run_id)
    assert words(told(events)) == ALL_SAID
    settled = [place for place, event in enumerate(events, start=1) if event.kind == "model_result"]
    (again,) = [(place, event) for place, event in enumerate(events, start=1) if isinstance(event, Restarted)] or [
        (0, None)
    ]
    if again[1] is not None:
        assert again[1].void_after == max([place for place in settled if place < again[0]], default=0)


@pytest.mark.behaviour("streams.mended")
async def test_an_answer_that_was_changed_after_it_was_said_takes_its_place() -> None:
    """A middleware of the agent may do so; a reader ends with what the conversation keeps."""
    bench = Bench(Speaker(["half an ", "answer"]))
    runner = bench.entity._turns._runner
    plain = runner.run

    async def changed(attempt: Any, seconds: float) -> Any:
        outcome = await plain(attempt, seconds)
        return type(outcome)(AgentResponse(messages=[Message("assistant", ["another"])]), outcome.session)

    runner.run = changed  # type: ignore[method-assign]
    events = await spoken(bench)

    assert words(told(events)) == "another"


async def test_an_answer_that_goes_on_after_it_was_said_is_told_to_its_end() -> None:
    """Only what was missing is told."""
    bench = Bench(Speaker(["half"]))
    runner = bench.entity._turns._runner
    plain = runner.run

    async def longer(attempt: Any, seconds: float) -> Any:
        outcome = await plain(attempt, seconds)
        return type(outcome)(AgentResponse(messages=[Message("assistant", ["half and whole"])]), outcome.session)

    runner.run = longer  # type: ignore[method-assign]
    events = await spoken(bench)

    deltas = [event for event in events if isinstance(event, Delta)]
    assert [(delta.text, delta.void_after) for delta in deltas] == [("half", None), (" and whole", None)]


@pytest.mark.behaviour("streams.unicode")
@pytest.mark.parametrize("pace", ["0", "10"])
async def test_a_character_cut_in_half_comes_whole(pace: str) -> None:
    """Some models' clients cut a surrogate pair; a half that stays alone is told as what it is: unreadable."""
    bench = Bench(Speaker(["a\ud83d", "\ude00b\r\n\u2028", "\ud83d"]), {"AGENT_STREAM_BATCH_SECONDS": pace})

    events = await spoken(bench)

    assert words(told(events)) == "a\U0001f600b\r\n\u2028\ufffd"
    assert all("\ufffd" not in event.text for event in events[:-2] if isinstance(event, Delta))


@pytest.mark.behaviour("streams.failed")
async def test_what_was_said_before_a_failure_is_told_and_the_agent_is_not_run_again() -> None:
    """The failure ends the log."""
    bench = Bench(speaker := Speaker(["so far ", "so good"]), QUIET)

    async def fail() -> None:
        raise RuntimeError("a secret of the model")

    speaker.after_piece[1] = fail
    events = await spoken(bench)

    assert words(told(events)) == "so far so good"
    assert [event.kind for event in events][-1] == "failed"
    assert [event.kind for event in events].count("started") == 1


@pytest.mark.behaviour("streams.log-down")
async def test_a_log_that_is_away_for_a_while_costs_no_word() -> None:
    """The words wait, in their order; the run goes on meanwhile."""
    bench = Bench(speaker := Speaker([f"{n} " for n in range(40)]), {"AGENT_STREAM_BATCH_SECONDS": "0"})

    async def away() -> None:
        bench.store.is_down = True

    async def back() -> None:
        bench.store.is_down = False

    speaker.after_piece = {5: away, 30: back}
    events = await spoken(bench)

    assert words(told(events)) == "".join(f"{n} " for n in range(40))
    assert events[-1].kind == "completed"


async def test_a_write_that_may_have_been_done_is_repeated_as_it_was() -> None:
    """A store knows an append that it has done already, and only that one."""
    bench = Bench(speaker := Speaker(["one ", "two ", "three"]), {"AGENT_STREAM_BATCH_SECONDS": "0"})
    tried: list[tuple[tuple[Event, ...], int]] = []
    plain = bench.store.append

    async def lose_answers(run_id: str, *events: Event, after: int) -> bool:
        if events[0].kind != "delta" or len(tried) == 3:
            return await plain(run_id, *events, after=after)
        tried.append((events, after))
        if len(tried) == 1:
            await plain(run_id, *events, after=after)
        if len(tried) < 3:
            raise LogUnavailableError("the answer was lost")
        return tried[0] == (events, after)

    async def until_it_is_known() -> None:
        await until(lambda: len(tried) == 3)

    bench.store.append = lose_answers  # type: ignore[method-assign]
    speaker.after_piece = {1: until_it_is_known}
    events = await spoken(bench)

    assert tried[0] == tried[1] == tried[2]
    assert words(told(events)) == "one two three"
    assert {event.void_after for event in events if isinstance(event, Delta)} == {None}


@pytest.mark.behaviour("streams.log-down")
async def test_words_of_which_nobody_knows_whether_they_are_written_are_told_anew() -> None:
    """With the run's end, in the place of all that may be there."""
    bench = Bench(Speaker(["one ", "two"]), {"AGENT_STREAM_BATCH_SECONDS": "0"})
    plain = bench.store.append

    async def lose_answers(run_id: str, *events: Event, after: int) -> bool:
        done = await plain(run_id, *events, after=after)
        if all(isinstance(event, Delta) for event in events):
            raise LogUnavailableError("the answer was lost")
        return done

    bench.store.append = lose_answers  # type: ignore[method-assign]
    events = await spoken(bench)

    assert words(told(events)) == "one two"
    assert [event.void_after for event in events if isinstance(event, Delta)][-1] == 0
