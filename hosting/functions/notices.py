"""What is notified of the ends of runs: the entity that calls callbacks and webhooks, once an app has either.

Theory. Both are signalled to one entity (`entity.callback_entity`), which an app without them does not have. Any caller
may name a webhook where there is a secret, so the secret alone has the entity registered, and the timer that looks for
what is to be sent again; a callback has it by being given.
"""

from __future__ import annotations

import azure.durable_functions as df

from hosting.entity.callback_entity import ENTITY, CallbackEntity, WebhookSweep
from hosting.functions.durable import WEBHOOK_FUNCTION, WEBHOOK_SCHEDULE, register_entity, register_sweep
from hosting.runner.callbacks import CallbackCalls, Listeners
from hosting.service.services import Services


class Notices:
    """The callbacks and webhooks of one app, whose functions are registered with the first of them."""

    def __init__(self, callback_seconds: float) -> None:
        self._calls = CallbackCalls(callback_seconds)
        self.listeners = Listeners(self._calls)
        self._is_registered = False

    def add_callback(self, app: df.DFApp, agent: str, callback: object, services: Services) -> None:
        """Have a callback called for the agent's runs; raises `ConfigurationError` for what is none."""
        self.listeners.add(agent, callback)
        self._register(app, services)

    def add_webhooks(self, app: df.DFApp, services: Services) -> None:
        """Have webhooks notified of the ends of runs, in an app that has a secret to sign with."""
        if services.webhooks is not None:
            self._register(app, services)
            register_sweep(app, WEBHOOK_FUNCTION, WEBHOOK_SCHEDULE, WebhookSweep(services.webhooks))

    def _register(self, app: df.DFApp, services: Services) -> None:
        if not self._is_registered:
            entity = CallbackEntity(self._calls, self.listeners, services.log, services.webhooks, services.turn)
            register_entity(app, ENTITY, entity.handle)
        self._is_registered = True
