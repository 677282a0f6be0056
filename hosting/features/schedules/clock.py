"""The clock of a schedule: one orchestration for each, and the activity that it calls.

Whichever version of the app runs then replays an orchestration, so this one decides nothing: it sleeps until its time,
has the activity do what is due, and goes on with the time that this returns. Not the app's timer trigger: that one
would run in every app each minute, and read a list of everybody's schedules.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from datetime import datetime, timedelta
from typing import Any

from hosting.feature import DurableTask, OrchestrationContext
from hosting.ports import read_utc, utc

CLOCK, TICK = "agents_schedule", "agents_schedule_tick"
"""The names of the orchestration and of the activity, which are stored."""
LONG_SECONDS = 30.0
"""After this the activity of a tick is taken for lost and is called again; each further time after twice as long."""
AGAIN_SECONDS = 30.0
"""After this a clock looks again where a store or the engine was away, or its schedule or agent was not there yet."""


def sleep(context: OrchestrationContext) -> Generator[Any, Any, None]:
    """Call the activity at each time that the one before it returned, and end where it returns none."""
    given, calls = context.get_input(), list[DurableTask]()
    wake_at = given["wake_at"]
    while wake_at:
        yield context.create_timer(_moment(wake_at))
        wake_at = yield from _woken(context, json.dumps(given["clock"]), calls)
        if wake_at and all(map(context.is_over, calls)):
            context.continue_as_new({**given, "wake_at": wake_at})
            return


def _woken(context: OrchestrationContext, clock: str, calls: list[DurableTask]) -> Generator[Any, Any, str]:
    """Have the activity do the due work, and return the next time to wake; `calls` gets each call for it.

    A call whose host died comes again when the engine shows its message again, which takes minutes. So another one is
    made beside a call that takes long, and whichever ends first counts: the tick is one run, whichever begins it. What
    is still open goes on, and an execution cannot end before it; that is why the clock then sleeps on in this one.
    """
    patience, raced = LONG_SECONDS, list[Any]()
    while True:
        raced.append(context.call_activity(TICK, clock))
        calls.append(raced[-1])
        timer = context.create_timer(context.current_utc_datetime + timedelta(seconds=patience))
        first = yield context.task_any([*raced, timer])
        if first is not timer:
            timer.cancel()
            break
        patience *= 2
    result = context.result_of(first)
    if isinstance(result, Exception):  # the activity ran out of the platform's time
        return utc(context.current_utc_datetime.timestamp() + AGAIN_SECONDS)
    return str(result)


def _moment(text: str) -> datetime:
    seconds = read_utc(text)
    assert seconds is not None, text
    return datetime.fromisoformat(utc(seconds).replace("Z", "+00:00"))
