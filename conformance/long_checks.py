"""The promises of runs that take longer than one request: one answer, and each step once."""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter

from conformance.expectations import expect
from conformance.trial import NotTried, Trial, checks_of

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
)
