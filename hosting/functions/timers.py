"""The timers of an app. What they do is imported at the first of their times, and not at the start of the app."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import azure.durable_functions as df
import azure.functions as func

from hosting.core.retention import DAY_SECONDS
from hosting.core.services import Services
from hosting.feature import Upkeep
from hosting.functions.answering import Served
from hosting.functions.durable import enter_invocation

SWEEP_FUNCTION = "agents_sweep"
RETENTION_FUNCTION = "agents_retention"
RETENTION_SCHEDULE = "0 7 3,15 * * *"
"""Twice a day, to remove unused uploads within a day; each time pages through the engine's index."""

PROMISE_FUNCTION = "agents_promises"
PROMISE_SCHEDULE = "30 */5 * * * *"
"""Every five minutes: one listing if no run was answered before its result was read."""
TIMERS = (RETENTION_FUNCTION, PROMISE_FUNCTION, SWEEP_FUNCTION)


def register_timers(served: Served, services: Services) -> None:
    """Register the work of twice a day, and the look at runs that no process took up."""
    agents = served.plan.by_name

    def retention() -> Sequence[Upkeep]:
        from hosting.core.sweeps import Sweep, sweeps_of

        seconds, rotation = services.settings.log_days * DAY_SECONDS, services.rotation("trim")
        trimming = Sweep(
            "trim",
            lambda: dict.fromkeys(agents(), seconds),
            services.purging,
            rotation,
            clocks=services.clocks,
        )
        of_features = (work for feature in served.features for work in feature.upkeep())
        return (trimming, *sweeps_of(services, agents), *of_features)

    _register(served.app, RETENTION_FUNCTION, RETENTION_SCHEDULE, retention)
    _register(served.app, PROMISE_FUNCTION, PROMISE_SCHEDULE, lambda: (services.promise_sweep(agents),))


def register_expiry(app: df.DFApp, services: Services, ages: Mapping[str, float]) -> None:
    """Register the search for threads that were not used for as many seconds as `ages` has for their agents."""

    def expiry() -> Sequence[Upkeep]:
        from hosting.core.sweeps import Sweep

        rotation = services.rotation("expire")
        return (Sweep("expire", lambda: ages, services.purging, rotation, clocks=services.clocks),)

    _register(app, SWEEP_FUNCTION, services.settings.sweep_schedule, expiry)


def _register(app: df.DFApp, name: str, schedule: str, upkeep: Callable[[], Sequence[Upkeep]]) -> None:
    """Register a timer of what `upkeep` returns at its first time.

    One instance of the app runs it at a time; a missed moment of a seldom timer is made up for.
    A sweep that fails keeps no other one from its work. The host remembers a timer's moments in a container that it
    wants to create each time, and its log has a warning of each 409: a frequent timer, whose next moment makes up for
    the one before, is not worth that.
    """
    made = cache(upkeep)

    async def run(timer: func.TimerRequest, client: Any) -> None:
        durable = enter_invocation(client)
        outcomes = await asyncio.gather(*(work.run(durable) for work in made()), return_exceptions=True)
        for error in outcomes:
            if isinstance(error, BaseException):
                raise error

    timed = app.timer_trigger(arg_name="timer", schedule=schedule, use_monitor=schedule != PROMISE_SCHEDULE)
    app.function_name(name)(timed(app.durable_client_input(client_name="client")(run)))
