"""The promises of runs that take longer than one request: one answer, each step once, and pauses by hand."""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter

from conformance.expectations import expect
from conformance.port import Run
from conformance.trial import BETWEEN_TRIES_SECONDS, NotTried, Trial, checks_of

STEP = re.compile(r"\bstep-(\d+)\b")


async def long_once(trial: Trial) -> None:
    """Ask for a row of slow tool calls that take longer than one request, and count the steps and the answers."""
    thread, message = await trial.service.new_thread(), await trial.long_message()
    began = time.monotonic()
    _, end = await trial.service.ask(thread, message)
    took = time.monotonic() - began
    expect(end.status == "completed", f"after {took:.1f} s the run ended as {end}")
    steps = _steps(trial, end.text)
    if took <= trial.limit:
        raise NotTried(f"the run of --long took {took:.1f} s, which is not longer than --limit")

    expect(set(steps.values()) == {1}, f"how often each step was made: {dict(steps)}")
    expect(await trial.turns(thread) == [(message, end.text)], f"the conversation has {await trial.turns(thread)}")


async def long_progress(trial: Trial) -> None:
    """Read how far a long run is, again and again, until it has ended."""
    if trial.service.lacks("state"):
        await trial.service.state(Run("", ""))  # not offered, whatever the user gave for it
    message = await trial.long_message()
    run = await trial.service.start(await trial.service.new_thread(), message)
    shares: list[float] = []
    while (state := await trial.service.state(run)) is not None:
        if state.share is not None and state.share not in shares[-1:]:
            shares.append(state.share)
        await asyncio.sleep(BETWEEN_TRIES_SECONDS)
    end = await trial.end(run)
    expect(end.status == "completed", f"the run ended as {end}")
    if len(shares) < 2:
        raise NotTried(f"the run of --long said how far it is as {shares}: have its tools say it twice or more")

    expect(all(0 <= share <= 1 for share in shares), f"the shares were {shares}")
    expect(shares == sorted(shares), f"the share fell: {shares}")


async def pause_once(trial: Trial) -> None:
    """Pause a long run, wait longer than it takes, resume it twice, and count the steps."""
    run = await _paused(trial)
    await _expect_still(trial, run)
    await _expect_resumed(trial, run)


async def kill_pause(trial: Trial) -> None:
    """Pause a long run, kill the service, wait longer than the run takes, resume it, and count the steps."""
    run = await _paused(trial)
    await trial.killed()
    await _expect_still(trial, run)
    await _expect_resumed(trial, run)


async def _paused(trial: Trial) -> Run:
    """Return a long run that stands still, as the service says."""
    if trial.service.lacks("pause"):
        await trial.service.pause(Run("", ""))  # not offered, whatever the user gave for it
    message = await trial.long_message()
    run = await trial.service.start(await trial.service.new_thread(), message)
    await asyncio.sleep(trial.open_seconds)
    await trial.service.pause(run)
    while (state := await trial.service.state(run)) is not None and not state.is_paused:  # noqa: ASYNC110 - it decides
        await asyncio.sleep(BETWEEN_TRIES_SECONDS)
    expect(state is not None, "the run that was paused has ended")
    return run


async def _expect_still(trial: Trial, run: Run) -> None:
    await asyncio.sleep(2 * trial.limit)
    state = await trial.service.state(run)
    expect(state is not None and state.is_paused, f"it was paused, and is {state or 'at its end'}")


async def _expect_resumed(trial: Trial, run: Run) -> None:
    for _ in range(2):
        await trial.service.resume(run)
    end = await trial.end(run)
    expect(end.status == "completed", f"resumed, the run ended as {end}")
    steps = _steps(trial, end.text)
    expect(set(steps.values()) == {1}, f"how often each step was made: {dict(steps)}")


async def kill_long(trial: Trial) -> None:
    """Kill the service in the middle of a long run, and count the steps: the one at work then may be there twice."""
    if trial.service.lacks("start_long"):
        await trial.service.start_long("", "")  # not offered, whatever the user gave for it
    message = await trial.long_message()
    run = await trial.service.start_long(await trial.service.new_thread(), message)
    await asyncio.sleep(trial.limit)
    await trial.killed()
    end = await trial.end(run)
    expect(end.status == "completed", f"it ended as {end}")
    steps = _steps(trial, end.text)
    again = {step: count for step, count in steps.items() if count != 1}

    expect(sum(again.values()) in (0, 2), f"how often each step was made: {dict(steps)}")


def _steps(trial: Trial, answer: str) -> Counter[int]:
    """Return how often each step was made, from the first to the last, as the answer says."""
    steps = Counter(int(number) for number in STEP.findall(answer))
    last = max(steps, default=0)
    if last < 2:
        raise NotTried(
            f"the answer to --long has no `step-1 step-2 ...`, each as often as it was made: {answer[:200]!r}"
        )
    return Counter({step: steps[step] for step in range(1, last + 1)})


LONG_CHECKS = checks_of(
    (
        "long.once",
        "A run that takes longer than one request has one answer, and makes each of its steps once.",
        long_once,
    ),
    ("long.progress", "How far an open run is can be read, and does not fall.", long_progress),
    ("pause.once", "A run that is paused stands still until it is resumed, and makes each step once.", pause_once),
)
