"""Notifications about the ends of runs: the entity that calls callbacks and webhooks, if an app has either.

The routes of deliveries are here too, which an app has that sends webhooks.

Theory. Both are signalled to one entity (`core.entity.callback_entity`), which an app without them does not have. Any
caller may name a webhook where there is a secret, so the secret alone has the entity registered, and the orchestration
that is the clock of a webhook that waits; a callback has it by being given.

The clock is replayed by whichever version of the app runs then, so it decides nothing: it sleeps for the seconds in its
input, has the entity send, and begins anew with the answer. Its last step is a signal that has its instance removed.
The engine sends that with the clock's end, so no instance is left, whoever dies.
"""

from __future__ import annotations

from collections.abc import Generator
from datetime import timedelta
from typing import Any

import azure.durable_functions as df

from hosting.core.agent.callbacks import CallbackCalls, Listeners
from hosting.core.delivery import ENTITY, FORGET, POST, WEBHOOK_CLOCK, WebhookOrder, is_target
from hosting.core.entity.callback_entity import CallbackEntity
from hosting.core.services import Services
from hosting.core.webhooks import Webhooks
from hosting.errors import UnknownDeliveryError
from hosting.functions.answering import Served, serves
from hosting.functions.durable import register_entity
from hosting.http.deliveries import AGAIN, NOT_TAKEN, OF_THREAD, again_reply, deliveries_reply
from hosting.http.parameters import OF_RUN, OWNER, read_cursor, read_limit
from hosting.http.replies import Reply, thread_headers
from hosting.http.request import HttpRequest

AGAIN_SECONDS = 30.0
"""After this a clock asks again where its entity could not answer."""


class Notices:
    """The callbacks and webhooks of an app; their functions are registered with the first of them."""

    def __init__(self, callback_seconds: float) -> None:
        self._calls = CallbackCalls(callback_seconds)
        self.listeners = Listeners(self._calls)
        self._is_registered = False

    def add_callback(self, app: df.DFApp, agent: str, callback: object, services: Services) -> None:
        """Have a callback called for the agent's runs; raises `ConfigurationError` for another value."""
        self.listeners.add(agent, callback)
        self._register(app, services)

    def add_webhooks(self, served: Served, services: Services) -> None:
        """Have webhooks notified of the ends of runs, in an app that has a secret to sign with."""
        if services.webhooks is not None:
            self._register(served.app, services)
            served.app.function_name(WEBHOOK_CLOCK)(served.app.orchestration_trigger(context_name="context")(_sleep))
            _register_deliveries(served, services, services.webhooks)

    def _register(self, app: df.DFApp, services: Services) -> None:
        if not self._is_registered:
            entity = CallbackEntity(self._calls, self.listeners, services.log, services.webhooks, services.turn)
            register_entity(app, ENTITY, entity.handle)
        self._is_registered = True


def _sleep(context: df.DurableOrchestrationContext) -> Generator[Any, Any, None]:
    given = context.get_input()
    order = WebhookOrder.of(given)
    assert order is not None, given
    yield context.create_timer(context.current_utc_datetime + timedelta(seconds=given["seconds"]))
    try:
        sleep = yield context.call_entity(df.EntityId(ENTITY, order.key(POST)), POST, given)
    except Exception:  # the entity ran out of the platform's time
        sleep = {"seconds": AGAIN_SECONDS}
    if sleep is None:
        context.signal_entity(df.EntityId(ENTITY, order.key(FORGET)), FORGET, given)
    else:
        context.continue_as_new({**given, **sleep})


def _register_deliveries(served: Served, services: Services, webhooks: Webhooks) -> None:
    clocks, log, deliveries = services.log.clocks, services.log, webhooks.deliveries

    @serves(served, NOT_TAKEN)
    async def not_taken(request: HttpRequest) -> Reply:
        limit, cursor, owner = read_limit(request.query), read_cursor(request.query), OWNER.read(request.query)
        page = await deliveries.not_taken(request.agent.name, owner, limit, clocks.wall() + 1, cursor)
        await webhooks.mend(page, request.client)
        return deliveries_reply(page)

    @serves(served, OF_THREAD)
    async def of_thread(request: HttpRequest) -> Reply:
        limit, cursor, run_id = read_limit(request.query), read_cursor(request.query), OF_RUN.read(request.query)
        address = request.address
        epoch = (await log.head(address)).epoch
        page = await deliveries.of_thread(address, epoch, limit, cursor, run_id)
        await webhooks.mend(page, request.client)
        return deliveries_reply(page, thread_headers(address.thread_id))

    @serves(served, AGAIN)
    async def again(request: HttpRequest) -> Reply:
        address, receiver = request.address, request.received.path_params["receiver"]
        run = await services.runs.find(address, request.run_id, request.client)
        found = await webhooks.again(WebhookOrder(address, run.run_id, receiver)) if is_target(receiver) else None
        if found is None:
            raise UnknownDeliveryError(
                f"No webhook of {receiver[:80]!r} was tried for run {run.run_id}. The lists name receivers."
            )
        order, before = found
        await order.signal(request.client)
        return again_reply(address, before)
