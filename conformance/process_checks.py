"""The promises of a service of several processes: each of them goes on with what another began."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from conformance.expectations import expect, expect_answered_once, expect_in_order
from conformance.port import Run, Service
from conformance.trial import Reader, Trial, checks_of


async def beside_order(trial: Trial) -> None:
    """Start three runs behind a slow one, each at the other process than the one before, and read the conversation."""
    await trial.takes_messages()
    other, thread = trial.other_process(), await trial.service.new_thread()
    messages = [trial.message() for _ in range(3)]
    runs = [await trial.slow_run(thread)]
    for service, message in zip((other, trial.service, other), messages, strict=True):
        runs.append(await service.start(thread, message))

    await expect_in_order(trial, thread, runs, messages)


async def beside_stream(trial: Trial) -> None:
    """Read two pieces of a run's stream, and read on at the other process with the last id."""
    if trial.service.lacks("follow"):
        trial.service.follow(Run("", ""))  # not offered, whatever processes there are
    other = trial.other_process()
    run = await trial.service.start(await trial.service.new_thread(), trial.message(trial.slow))
    reader = Reader()
    await trial.stream(run, reader, pieces=2)
    before = reader.text
    await trial.stream(run, reader, service=other)
    end = await trial.end(run)

    expect(reader.text == end.text, f"broken after {before!r}: read {reader.text!r}, and the answer is {end.text!r}")


async def beside_approval(trial: Trial) -> None:
    """Approve a call at the other process than the one that asks; then approve one and refuse it at both at once."""
    await _expect_decided(trial, trial.waiting, lambda service, thread, call, yes: service.decide(thread, call, yes))


async def beside_ask(trial: Trial) -> None:
    """Answer a tool's question at the other process than the one that asks; then another question at both at once."""
    await _expect_decided(
        trial, trial.asked, lambda service, thread, call, yes: service.answer(thread, call, "here" if yes else "there")
    )


async def _expect_decided(
    trial: Trial,
    wait: Callable[[str], Awaitable[str]],
    decide: Callable[[Service, str, str, bool], Awaitable[Run]],
) -> None:
    thread, both = await trial.service.new_thread(), await trial.service.new_thread()
    waiting, waiting_for_both = await wait(thread), await wait(both)
    other = trial.other_process()
    end = await trial.end(await decide(other, thread, waiting, True))
    expect(end.status == "completed", f"decided at the other process, the run that went on ended as {end}")

    async def decided(is_first: bool) -> Run:
        return await decide(trial.service if is_first else other, both, waiting_for_both, is_first)

    await expect_answered_once(trial, both, decided)


BESIDE_CHECKS = checks_of(
    ("beside.order", "Runs that begin at two processes come one after another, in their order.", beside_order),
    ("beside.stream", "A stream that one process began is resumed at another.", beside_stream),
    ("beside.approval", "A tool call waits for a decision at any process, and takes one.", beside_approval),
    ("beside.ask", "A tool's question waits for an answer at any process, and takes one.", beside_ask),
)
