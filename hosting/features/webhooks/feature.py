"""The webhooks of an app: their sender and its clocks, the routes of deliveries, and what is kept of a thread.

Any caller may name a webhook where there is a secret, so an app with a secret has all of this, and one without has
only the data of then.

The clock of a delivery is replayed by whichever version of the app runs then, so it decides nothing: it sleeps for the
seconds in its input, has the entity send, and begins anew with the answer. Its last step is a signal that has its
instance removed. The engine sends that with the clock's end, so no instance is left, whoever dies.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec.structs import asdict

from hosting.core.clocks import purge_clock
from hosting.core.hooks import ENTITY, NO_HOOKS, AgentHooks, Signal, ThreadData
from hosting.core.runs import Runs
from hosting.core.stores.stores import Stores
from hosting.core.thread.events import Terminal
from hosting.core.thread_log import ThreadLog
from hosting.errors import EngineUnavailableError, HostingError, InvalidFieldError
from hosting.feature import Activity, EntityOperation, Feature, Orchestration, OrchestrationContext
from hosting.features.webhooks.records import CLOCK_PREFIX, PUSH, RECORD, ExportedReceiver, ShownDelivery
from hosting.features.webhooks.rules import WebhookSettings, check_webhook, webhook_rules
from hosting.http.request import Bound
from hosting.names import Address
from hosting.plan import AgentPlan
from hosting.ports import ClockClient

if TYPE_CHECKING:
    from hosting.features.webhooks.delivery import WebhookOrder

KEPT_SECONDS = 30 * 86_400.0
"""After this the record of a delivery goes, and so does a receiver of a task."""

AGAIN_SECONDS = 30.0
"""After this a clock asks again where its entity could not answer."""


class WebhooksFeature(Feature):
    """The webhooks of one app."""

    name = "webhooks"
    paths = ("webhooks",)
    absent = "This app sends no webhooks: AGENT_WEBHOOK_SECRET is not set. Poll the run with GET instead."
    links: ClassVar[Mapping[str, str]] = {"webhooks_url": "webhooks"}
    settings = WebhookSettings
    page = Path(__file__).with_name("ui")

    def __init__(
        self, log: ThreadLog, stores: Stores, runs: Runs, route_prefix: str, settings: WebhookSettings
    ) -> None:
        """Raise `ConfigurationError` for a secret that is none."""
        self.rules = rules = webhook_rules(settings)
        self.webhooks = self.receivers = None
        if rules is not None:
            from hosting.features.webhooks.webhooks import Webhooks

            self.webhooks = Webhooks(log, stores, rules, route_prefix=route_prefix)
            self.receivers = self.webhooks.receivers
        self._data = thread_data(stores)
        self._log = log
        self._runs = runs

    @classmethod
    def errors(cls) -> Sequence[type[HostingError]]:
        """Return its refusals."""
        from hosting.features.webhooks.http import UnknownDeliveryError

        return (UnknownDeliveryError,)

    @property
    def is_on(self) -> bool:
        """Whether the app has a secret to sign with."""
        return self.webhooks is not None

    def add(self, agent: AgentPlan) -> None:
        """Take up an agent; raise `ConfigurationError` for one whose webhook cannot be sent to."""
        check_webhook(agent.name, agent.options.webhook, self.rules)
        if self.webhooks is not None:
            self.webhooks.add(agent)

    def hooks(self, agent: AgentPlan) -> AgentHooks:
        """Return the webhooks to be sent of the ends of runs."""
        return NO_HOOKS if self.webhooks is None else AgentHooks(on_end=[self._ordered])

    def routes(self) -> Sequence[Bound]:
        """Return the routes of deliveries."""
        from hosting.features.webhooks.http import DeliveryHandlers

        assert self.webhooks is not None
        return DeliveryHandlers(self.webhooks, self._log, self._runs).bound()

    def durable(self) -> Sequence[Orchestration | Activity | EntityOperation]:
        """Return the sender of webhooks, the clock of those that wait, and what removes that."""
        from hosting.features.webhooks.delivery import FORGET, POST, WEBHOOK_CLOCK

        return (
            Orchestration(WEBHOOK_CLOCK, _sleep),
            EntityOperation(POST, self._post),
            EntityOperation(FORGET, self._forget),
        )

    def thread_data(self) -> ThreadData:
        """Return what came of the webhooks of a thread's runs, and the receivers of its tasks."""
        return self._data

    async def drain(self, seconds: float) -> None:
        """End the tries that go on, and begin no more."""
        if self.webhooks is not None:
            await self.webhooks.drain(seconds)

    def _ordered(self, address: Address, ended: Iterable[Terminal]) -> list[Signal]:
        from hosting.features.webhooks.delivery import POST

        assert self.webhooks is not None
        orders = self.webhooks.orders(address, ended)
        return [Signal(ENTITY, order.key(), POST, order.fields()) for order in orders]

    async def _post(self, fields: Any, client: ClockClient) -> dict[str, Any] | None:
        from hosting.features.webhooks.delivery import POST

        assert self.webhooks is not None
        sleep = await self.webhooks.deliver(_order(POST, fields), client)
        return None if sleep is None else asdict(sleep)

    async def _forget(self, fields: Any, client: ClockClient) -> None:
        from hosting.features.webhooks.delivery import FORGET

        instance = _order(FORGET, fields).instance
        if await purge_clock(instance, client) == "running":
            raise EngineUnavailableError(f"Instance {instance} has not ended yet.")


def _order(operation: str, fields: Any) -> WebhookOrder:
    from hosting.features.webhooks.delivery import WebhookOrder

    order = WebhookOrder.of(fields)
    if order is None:
        raise InvalidFieldError(f"The operation {operation!r} takes an order as `WebhookOrder` writes it.")
    return order


def thread_data(stores: Stores) -> ThreadData:
    """Return what is kept of a thread for webhooks in these stores."""

    async def export(address: Address, epoch: int) -> dict[str, Any]:
        from hosting.features.webhooks.deliveries import Deliveries
        from hosting.features.webhooks.http import delivery_fields
        from hosting.features.webhooks.receivers import ReceiverStore

        deliveries = await Deliveries(stores.attachments, stores.hub).all_of(address, epoch)
        receivers = await ReceiverStore(stores.attachments, stores.hub).of_thread(address, epoch)
        return {
            "webhooks": [delivery_fields(address, delivery) for delivery in deliveries],
            "receivers": [{"id": receiver.id, "url": receiver.url} for receiver in receivers],
        }

    async def erase(address: Address, epoch: int) -> None:
        from hosting.features.webhooks.deliveries import Deliveries

        await Deliveries(stores.attachments, stores.hub).unlist(address, epoch)

    async def clocks(address: Address, epoch: int) -> Sequence[str]:
        from hosting.features.webhooks.deliveries import Deliveries

        return await Deliveries(stores.attachments, stores.hub).clocks(address, epoch)

    return ThreadData(
        prefixes=(RECORD, PUSH),
        keeps_seconds=KEPT_SECONDS,
        members={"webhooks": list[ShownDelivery], "receivers": list[ExportedReceiver]},
        export=export,
        counts={"webhooks": RECORD},
        erase=erase,
        clocks=clocks,
        clock_prefix=CLOCK_PREFIX,
    )


def _sleep(context: OrchestrationContext) -> Generator[Any, Any, None]:
    from hosting.features.webhooks.delivery import FORGET, POST, WebhookOrder

    given = context.get_input()
    order = WebhookOrder.of(given)
    assert order is not None, given
    yield context.create_timer(context.current_utc_datetime + timedelta(seconds=given["seconds"]))
    try:
        sleep = yield context.call_entity(order.key(POST), POST, given)
    except Exception:  # the entity ran out of the platform's time
        sleep = {"seconds": AGAIN_SECONDS}
    if sleep is None:
        context.signal_entity(order.key(FORGET), FORGET, given)
    else:
        context.continue_as_new({**given, **sleep})
