"""The app by which the engine is measured: functions that do nothing, so that what is left is the engine's time."""

from __future__ import annotations

import time
from collections.abc import Generator
from datetime import timedelta
from typing import Any

import azure.durable_functions as df

ACTIVITIES = 10


async def nothing(number: int) -> int:
    return number


def ten(context: df.DurableOrchestrationContext) -> Generator[Any, Any, int]:
    """Ten activities, one after another."""
    total = 0
    for number in range(ACTIVITIES):
        total += yield context.call_activity("nothing", number)
    return total


def waits(context: df.DurableOrchestrationContext) -> Generator[Any, Any, Any]:
    """Wait for an event, or a month."""
    month = context.create_timer(context.current_utc_datetime + timedelta(days=30))
    return (yield context.task_any([context.wait_for_external_event("go"), month])) is month


def stopwatch(context: df.DurableEntityContext) -> None:
    """Keep how long ago each signal was sent, by the clock that sender and entity share."""
    context.set_state([*context.get_state(list), time.time() - context.get_input()])


app = df.DFApp()
app.activity_trigger(input_name="number")(nothing)
app.orchestration_trigger(context_name="context")(ten)
app.orchestration_trigger(context_name="context")(waits)
app.entity_trigger(context_name="context", entity_name="stopwatch")(stopwatch)
