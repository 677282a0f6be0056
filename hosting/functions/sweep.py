"""The timer that has old threads looked at. It is registered with the first agent that has a time to live."""

from __future__ import annotations

from typing import Any

import azure.durable_functions as df
import azure.functions as func

from hosting.functions.client import DurableEntityClient
from hosting.sweep import Sweep

SWEEP_FUNCTION = "agents_sweep"


def register_sweep(app: df.DFApp, sweep: Sweep, schedule: str) -> None:
    """Register the timer. One instance of the app runs it at a time; a moment that was missed is made up for."""

    async def run(timer: func.TimerRequest, client: Any) -> None:
        await sweep.run(DurableEntityClient(client))

    timed = app.timer_trigger(arg_name="timer", schedule=schedule, use_monitor=True)
    app.function_name(SWEEP_FUNCTION)(timed(app.durable_client_input(client_name="client")(run)))
