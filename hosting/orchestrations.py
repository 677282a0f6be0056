"""The app's orchestrations for tools, and the durable client of the function that runs now."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import hashlib
import json
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any, TypeVar, cast

from msgspec import Struct

from hosting.errors import EngineUnavailableError
from hosting.names import is_id
from hosting.ports import ClockClient, OrchestrationClient, OrchestrationStatus

_ID_LENGTH = 32
_CLASS_KEY = '"__class__"'
M = TypeVar("M", bound=Callable[..., Any])
R = TypeVar("R")


class Engine(Struct, frozen=True):
    """The durable client of the function that runs now, and the loop that it belongs to."""

    client: ClockClient
    loop: asyncio.AbstractEventLoop

    def run(self, work: Coroutine[Any, Any, R]) -> concurrent.futures.Future[R]:
        """Run the work on the client's loop: a tool runs on the agents' loop or in a thread of its own."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)


ENGINE: ContextVar[Engine] = ContextVar("hosting_durable_engine")
"""Set by a surface with a durable client, around whatever may begin a run."""


def _on_the_clients_loop(method: M) -> M:
    @functools.wraps(method)
    async def crossing(self: Orchestrations, *arguments: Any, **named: Any) -> Any:
        return await asyncio.wrap_future(self.engine.run(method(self, *arguments, **named)))

    return cast(M, crossing)


class Orchestrations(Struct, frozen=True):
    """The app's orchestrations for asynchronous tools; `blocking` is for synchronous ones.

    Every method raises `LookupError` for an instance that is not there, `ValueError` for what cannot be sent, and
    `errors.EngineUnavailableError` when the engine cannot be reached.
    """

    engine: Engine
    call_key: str

    @property
    def blocking(self) -> BlockingOrchestrations:
        """The same for a synchronous tool, whose thread waits."""
        return BlockingOrchestrations(self)

    @_on_the_clients_loop
    async def start(self, name: str, given: object = None, *, instance_id: str | None = None) -> str:
        """Start the orchestration `name` with an input of plain JSON values, and return the instance's id.

        Without an `instance_id` it is made of the call's key, the name and the input. An instance of that id is left as
        it is, running or ended, so a call that is made again after a crash starts nothing. A name that the app does not
        have makes an instance that fails at once.
        """
        text = _json(given)
        if instance_id is not None:
            chosen = _checked(instance_id)
        else:
            identity = f"{self.call_key}\n{name}\n{text}".encode(errors="surrogatepass")
            chosen = hashlib.sha256(identity).hexdigest()[:_ID_LENGTH]
        if await self.engine.client.status(chosen) is None:
            await begin_orchestration(self.engine.client, name, chosen, json.loads(text))
        return chosen

    @_on_the_clients_loop
    async def status(self, instance_id: str) -> OrchestrationStatus:
        """Return the state of the instance."""
        status = await self.engine.client.status(_checked(instance_id))
        if status is None:
            raise LookupError(f"There is no orchestration {instance_id!r}.")
        return status

    @_on_the_clients_loop
    async def send_event(self, instance_id: str, event: str, value: object = None) -> None:
        """Send an event of plain JSON values to a running instance; the same one sent again is a second event."""
        text = _json(value)
        if not event.isidentifier():
            raise ValueError(f"The event {event!r:.80} cannot be sent. Name it like a variable.")
        status = await self.status(instance_id)
        if status.is_over:
            raise LookupError(f"Orchestration {instance_id!r} has ended ({status.status}) and takes no events.")
        await self.engine.client.send_event(instance_id, event, json.loads(text))


async def begin_orchestration(client: OrchestrationClient, name: str, instance_id: str, given: object) -> None:
    """Start an orchestration under a new id; an existing one with that id was started by an earlier try.

    Raises `errors.EngineUnavailableError`.
    """
    try:
        await client.start(name, instance_id, given)
    except EngineUnavailableError:
        if await client.status(instance_id) is None:
            raise


class BlockingOrchestrations(Struct, frozen=True):
    """The methods of `Orchestrations` for synchronous tools: each returns once it is done."""

    awaited: Orchestrations

    def start(self, name: str, given: object = None, *, instance_id: str | None = None) -> str:
        """Start an orchestration and return the instance's id."""
        return self.awaited.engine.run(self.awaited.start(name, given, instance_id=instance_id)).result()

    def status(self, instance_id: str) -> OrchestrationStatus:
        """Return the state of an instance."""
        return self.awaited.engine.run(self.awaited.status(instance_id)).result()

    def send_event(self, instance_id: str, event: str, value: object = None) -> None:
        """Send an event to a running instance."""
        self.awaited.engine.run(self.awaited.send_event(instance_id, event, value)).result()


def _checked(instance_id: str) -> str:
    """Refuse ids that mean something else in a URL: a model may have made this one up."""
    if not isinstance(instance_id, str) or not is_id(instance_id):
        raise ValueError(f"The instance id {str(instance_id)[:80]!r} is not valid. Use letters, digits and . _ ~ -")
    return instance_id


def _json(value: object) -> str:
    """Return JSON text; of a value with the refused key the SDK would make an object of any class."""
    try:
        text = json.dumps(value, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{value!r:.80} is not JSON: {error}. Give plain values.") from None
    if _CLASS_KEY in text:
        raise ValueError(f"The key {_CLASS_KEY} cannot be sent. Give plain values.")
    return text
