"""The timers that look for what has grown old: threads, where an agent has a time to live, and run logs."""

from __future__ import annotations

from typing import Any

import azure.durable_functions as df
import azure.functions as func

from hosting.entity.sweep import Sweep
from hosting.functions.client import DurableEntityClient
from hosting.process.invocation import begin_invocation
from hosting.run.retention import Retention

SWEEP_FUNCTION = "agents_sweep"
RETENTION_FUNCTION = "runs_retention"
RETENTION_SCHEDULE = "0 7 * * * *"
"""Once an hour: in blobs, looking for old logs is a listing of all."""


def register_sweep(app: df.DFApp, sweep: Sweep, schedule: str) -> None:
    """Register the timer. One instance of the app runs it at a time; a moment that was missed is made up for."""

    async def run(timer: func.TimerRequest, client: Any) -> None:
        begin_invocation()
        await sweep.run(DurableEntityClient(client))

    timed = app.timer_trigger(arg_name="timer", schedule=schedule, use_monitor=True)
    app.function_name(SWEEP_FUNCTION)(timed(app.durable_client_input(client_name="client")(run)))


def register_retention(app: df.DFApp, retention: Retention) -> None:
    """Register the timer that removes run logs by their age."""

    async def run(timer: func.TimerRequest) -> None:
        begin_invocation()
        await retention.run()

    timed = app.timer_trigger(arg_name="timer", schedule=RETENTION_SCHEDULE, use_monitor=True)
    app.function_name(RETENTION_FUNCTION)(timed(run))
