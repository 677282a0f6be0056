"""The HTTP triggers of schedules, and their clocks: one orchestration for each, and the activity that it calls.

An orchestration is replayed by whichever version of the app runs then, so this one decides nothing: it sleeps until the
time that it was given, has the activity do what is due, and begins anew with the time that this returns. Not the app's
timer trigger: that one would run in every app each minute, and read a list of everybody's schedules.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote

import azure.durable_functions as df
import azure.functions as func

from hosting.core.request.contents import limits_of
from hosting.core.schedule import ScheduleClock, ScheduleName
from hosting.core.schedules import AGAIN_SECONDS, CLOCK
from hosting.core.services import Services
from hosting.functions.answering import HttpRequest, Served, serves
from hosting.functions.durable import enter_invocation
from hosting.http import schedule_routes
from hosting.http.replies import Reply
from hosting.http.schedule_call import parse_schedule
from hosting.http.schedule_routes import schedule_reply, schedules_reply
from hosting.ports import read_utc, utc
from hosting.settings import Settings

TICK = "agents_schedule_tick"
LONG_SECONDS = 30.0
"""After this the activity of a tick is taken for lost and is called again; each further time after twice as long."""


def register_schedules(served: Served, services: Services, settings: Settings) -> None:
    """Register schedules, where the app is to have any."""
    if settings.schedules:
        _register_routes(served, services, settings)
        _register_clock(served.app, services)


def _named(request: HttpRequest) -> ScheduleName:
    return ScheduleName(request.agent.name.lower(), request.caller.owner, request.schedule_id)


def _register_routes(served: Served, services: Services, settings: Settings) -> None:
    schedules = services.schedules

    @serves(served, schedule_routes.CREATE)
    async def create(request: HttpRequest) -> Reply:
        agent, owner = request.agent, request.caller.owner
        limits = limits_of(agent.agent, settings)
        wanted = await request.parsed(lambda raw: parse_schedule(raw, agent.name, limits, owner))
        name, schedule, is_new = await schedules.create(agent.name, wanted, request.client, request.caller)
        url = f"{request.base_url}/{agent.kind}s/{quote(agent.name)}/schedules/{name.id}"
        return schedule_reply(name, schedule, url if is_new else None)

    @serves(served, schedule_routes.LIST)
    async def listed(request: HttpRequest) -> Reply:
        return schedules_reply(await schedules.of_agent(request.agent.name, request.caller.owner, request.client))

    @serves(served, schedule_routes.READ)
    async def read(request: HttpRequest) -> Reply:
        name = _named(request)
        return schedule_reply(name, await schedules.find(name, request.client))

    @serves(served, schedule_routes.PAUSE)
    async def pause(request: HttpRequest) -> Reply:
        name = _named(request)
        return schedule_reply(name, await schedules.pause(name, request.client))

    @serves(served, schedule_routes.RESUME)
    async def resume(request: HttpRequest) -> Reply:
        name = _named(request)
        return schedule_reply(name, await schedules.resume(name, request.client))

    @serves(served, schedule_routes.DELETE)
    async def delete(request: HttpRequest) -> Reply:
        await schedules.delete(_named(request), request.client)
        return Reply(204, "", None)


def _register_clock(app: df.DFApp, services: Services) -> None:
    def sleep(context: df.DurableOrchestrationContext) -> Generator[Any, Any, None]:
        given, calls = context.get_input(), list[Any]()
        wake_at = given["wake_at"]
        while wake_at:
            yield context.create_timer(_moment(wake_at))
            wake_at = yield from _woken(context, json.dumps(given["clock"]), calls)
            if wake_at and all(call.is_completed for call in calls):
                context.continue_as_new({**given, "wake_at": wake_at})
                return

    async def tick(clock: str, client: Any, context: func.Context) -> str:
        durable = enter_invocation(client, context)
        wake_at = await services.schedules.wake(ScheduleClock.read(json.loads(clock)), durable)
        return "" if wake_at is None else utc(wake_at)

    app.function_name(CLOCK)(app.orchestration_trigger(context_name="context")(sleep))
    triggered = app.activity_trigger(input_name="clock")
    app.function_name(TICK)(triggered(app.durable_client_input(client_name="client")(tick)))


def _woken(context: df.DurableOrchestrationContext, clock: str, calls: list[Any]) -> Generator[Any, Any, str]:
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
    if isinstance(first.result, Exception):  # the activity ran out of the platform's time
        return utc(context.current_utc_datetime.timestamp() + AGAIN_SECONDS)
    return str(first.result)


def _moment(text: str) -> datetime:
    seconds = read_utc(text)
    assert seconds is not None, text
    return datetime.fromisoformat(utc(seconds).replace("Z", "+00:00"))
