"""The promises of calls that wait for a person: a decision, another argument, an answer, an answer by default."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping

from conformance.expectations import expect, expect_answered_once, tolerated
from conformance.port import Refused, Run
from conformance.trial import BETWEEN_TRIES_SECONDS, Broken, NotTried, Trial, checks_of, paired


async def approval_once(trial: Trial) -> None:
    """Approve and refuse one call at once, send the second decision once more later, and read the conversation."""
    thread = await trial.service.new_thread()
    approval = await trial.waiting(thread)

    await expect_answered_once(trial, thread, lambda is_first: trial.service.decide(thread, approval, is_first))


async def edit_once(trial: Trial) -> None:
    """Approve one call with two texts at once, and look for them in the answer of the run that goes on."""
    thread, texts = await trial.service.new_thread(), [uuid.uuid4().hex for _ in range(2)]
    approval, with_text = await trial.editable(thread)
    decisions = (trial.service.decide_with(thread, approval, with_text(text)) for text in texts)
    answers = await asyncio.gather(*decisions, return_exceptions=True)
    taken = [(run, text) for run, text in zip(answers, texts, strict=True) if isinstance(run, Run)]
    expect(len(taken) == 1, f"{len(taken)} of 2 decisions were taken: {answers}")

    await expect_edited(trial, *taken[0])


async def expect_edited(trial: Trial, run: Run, text: str) -> None:
    """Wait for a run that makes a call with a person's text: its answer says it."""
    end = await trial.end(run)
    expect(end.status == "completed", f"the run that went on ended as {end}")
    expect(text in end.text, f"the call was approved with {text!r}, and the answer is {end.text!r}")


async def ask_once(trial: Trial) -> None:
    """Give a tool's question two answers at once, the second once more later, and read the conversation."""
    thread = await trial.service.new_thread()
    question = await trial.asked(thread)

    await expect_answered_once(
        trial, thread, lambda is_first: trial.service.answer(thread, question, "here" if is_first else "there")
    )


async def ask_schema(trial: Trial) -> None:
    """Answer a tool's question, which takes a text, by a number, and then by a text."""
    thread = await trial.service.new_thread()
    if trial.service.lacks("pending"):
        await trial.service.pending(thread, "")  # not offered: nobody can tell which answer is wrong
    question = await trial.asked(thread)
    schema = (await trial.service.pending(thread, question)).answer_schema
    if not isinstance(schema, Mapping) or schema.get("type") != "string":
        raise NotTried(f"the question of --ask takes an answer of the schema {schema}: give one that takes a text")
    try:
        run = await trial.service.answer(thread, question, 7)
    except Refused as refusal:
        expect(refusal.status < 500, str(refusal))
    else:
        raise Broken(f"a number was taken for a text, and the run ended as {await trial.end(run)}")
    end = await trial.end(await trial.service.answer(thread, question, "here"))

    expect(end.status == "completed", f"the run that went on ended as {end}")


async def ask_default(trial: Trial) -> None:
    """Answer one of two questions that have a default, wait until the other has its own, and answer both once more."""
    answered, left, text = await trial.service.new_thread(), await trial.service.new_thread(), uuid.uuid4().hex
    early, unused = await trial.lapsing(answered)
    late, default = await trial.lapsing(left)
    end = await trial.end(await trial.service.answer(answered, early, text))
    turns = await trial.turns(answered)
    by_default = await _went_on(trial, left, default)  # its time is over later than that of the other

    expect(text in end.text, f"the question was answered with {text!r}, and the run that went on ended as {end}")
    for thread, question, before in ((answered, early, turns), (left, late, by_default)):
        await tolerated(trial.service.answer(thread, question, "too late"))
        message = trial.message()
        _, next_end = await trial.service.ask(thread, message)
        later = await trial.turns(thread)
        expect(later == [*before, (message, next_end.text)], f"the conversation was {before}, and is {later}")
    said = [said for _, said in await trial.turns(answered) if unused in said]
    expect(said == [], f"the question that was answered has its default, too: {said}")


async def kill_default(trial: Trial) -> None:
    """Kill the service while a question with a default waits, and wait for the answer by that."""
    thread = await trial.service.new_thread()
    _, default = await trial.lapsing(thread)
    await trial.killed()
    turns = await _went_on(trial, thread, default)
    message = trial.message()
    _, end = await trial.service.ask(thread, message)
    later = await trial.turns(thread)

    expect(later == [*turns, (message, end.text)], f"by its default the run went on to {turns}, and then to {later}")


async def _went_on(trial: Trial, thread: str, default: str) -> list[tuple[str, str]]:
    """Return a conversation once a question of it has its default, which nobody gives: one answer says it."""
    until = asyncio.get_running_loop().time() + trial.patience
    while True:
        entries = await trial.service.conversation(thread)
        said = [entry.text for entry in entries if entry.by == "agent" and default in entry.text]
        if said:
            expect(len(said) == 1, f"the run went on by its default {len(said)} times: {said}")
            return paired(entries)
        if asyncio.get_running_loop().time() > until:
            raise Broken(f"{trial.patience:g} s later the run has not gone on by {default!r}: {entries}")
        await asyncio.sleep(BETWEEN_TRIES_SECONDS)


PAUSE_CHECKS = checks_of(
    ("approval.once", "A tool call that waits for a person is decided once.", approval_once),
    ("approval.edited", "A tool call is made with the arguments that a person approved first.", edit_once),
    ("ask.once", "A tool's question to a person takes one answer.", ask_once),
    ("ask.schema", "An answer that a tool's question does not take is refused, and the question waits on.", ask_schema),
    (
        "ask.default",
        "A question without an answer in its time gets its default, once, and no other question does.",
        ask_default,
    ),
)
