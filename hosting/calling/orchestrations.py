"""Orchestrations as a tool reaches them: start one, ask how it stands, send it an event.

Theory. A tool runs on the agents' loop or in a thread of its own, the durable client belongs to the loop of the
function that the host called; each request crosses over. An instance's id is made of the call's key, so that a call
that is made again after a crash finds the instance that it started.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import hashlib
import json
from collections.abc import Coroutine
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

from hosting.identity import is_id
from hosting.ports import OrchestrationClient, OrchestrationStatus

_ID_LENGTH = 32
_CLASS_KEY = '"__class__"'
T = TypeVar("T")


@dataclass(frozen=True)
class Engine:
    """The durable client of the function that runs now, and the loop that it belongs to."""

    client: OrchestrationClient
    loop: asyncio.AbstractEventLoop

    def ask(self, work: Coroutine[Any, Any, T]) -> concurrent.futures.Future[T]:
        """Run the request where the client belongs."""
        return asyncio.run_coroutine_threadsafe(work, self.loop)


ENGINE: ContextVar[Engine] = ContextVar("hosting_durable_engine")
"""Set around an entity's batch by the surface that has a durable client."""


class Orchestrations:
    """For asynchronous tools; `blocking` is for synchronous ones.

    Every method raises `LookupError` for an instance that is not there, `ValueError` for what cannot be sent, and
    `errors.EngineUnavailableError` when the engine cannot be reached.
    """

    def __init__(self, engine: Engine, call_key: str) -> None:
        self._engine = engine
        self._call_key = call_key

    @property
    def blocking(self) -> BlockingOrchestrations:
        """The same for a synchronous tool, whose thread waits."""
        return BlockingOrchestrations(self._engine, self._call_key)

    async def start(self, name: str, given: object = None, *, instance_id: str | None = None) -> str:
        """Start the orchestration `name` with an input of plain JSON values, and return the instance's id.

        Without an id of the tool's own it is made of the call, the name and the input. An instance of that id is left
        as it is, running or ended, so a call that is made again starts nothing. A name that the app does not have makes
        an instance that fails at once.
        """
        work = _started(self._engine, self._call_key, name, given, instance_id)
        return await asyncio.wrap_future(self._engine.ask(work))

    async def status(self, instance_id: str) -> OrchestrationStatus:
        """Return how the instance stands."""
        return await asyncio.wrap_future(self._engine.ask(_found(self._engine, instance_id)))

    async def send_event(self, instance_id: str, event: str, value: object = None) -> None:
        """Send an event of plain JSON values to a running instance; the same one sent again is a second event."""
        await asyncio.wrap_future(self._engine.ask(_sent(self._engine, instance_id, event, value)))


class BlockingOrchestrations:
    """For synchronous tools; see `Orchestrations`, method by method."""

    def __init__(self, engine: Engine, call_key: str) -> None:
        self._engine = engine
        self._call_key = call_key

    def start(self, name: str, given: object = None, *, instance_id: str | None = None) -> str:
        """See `Orchestrations.start`."""
        return self._engine.ask(_started(self._engine, self._call_key, name, given, instance_id)).result()

    def status(self, instance_id: str) -> OrchestrationStatus:
        """See `Orchestrations.status`."""
        return self._engine.ask(_found(self._engine, instance_id)).result()

    def send_event(self, instance_id: str, event: str, value: object = None) -> None:
        """See `Orchestrations.send_event`."""
        self._engine.ask(_sent(self._engine, instance_id, event, value)).result()


def orchestrations_for(call_key: str) -> Orchestrations:
    """Return the orchestrations of the app for one tool call; raises `LookupError` where the host has none."""
    try:
        return Orchestrations(ENGINE.get(), call_key)
    except LookupError:
        raise LookupError("This host gives tools no orchestrations; a Functions app does.") from None


async def _started(engine: Engine, call_key: str, name: str, given: object, instance_id: str | None) -> str:
    text = _json(given)
    chosen = _checked(instance_id) if instance_id is not None else _made_id(call_key, name, text)
    if await engine.client.status(chosen) is None:
        await engine.client.start(name, chosen, json.loads(text))
    return chosen


async def _found(engine: Engine, instance_id: str) -> OrchestrationStatus:
    status = await engine.client.status(_checked(instance_id))
    if status is None:
        raise LookupError(f"There is no orchestration {instance_id!r}.")
    return status


async def _sent(engine: Engine, instance_id: str, event: str, value: object) -> None:
    text = _json(value)
    if not event.isidentifier():
        raise ValueError(f"The event {event!r:.80} cannot be sent. Name it like a variable.")
    found = await _found(engine, instance_id)
    if found.is_over:
        raise LookupError(f"Orchestration {instance_id!r} has ended ({found.status}) and takes no events.")
    await engine.client.send_event(instance_id, event, json.loads(text))


def _made_id(call_key: str, name: str, text: str) -> str:
    return hashlib.sha256(f"{call_key}\n{name}\n{text}".encode(errors="surrogatepass")).hexdigest()[:_ID_LENGTH]


def _checked(instance_id: str) -> str:
    """Refuse ids that mean something else in an address: a model may have made this one up."""
    if not isinstance(instance_id, str) or not is_id(instance_id):
        raise ValueError(f"The instance id {str(instance_id)[:80]!r} is not valid. Use letters, digits and . _ ~ -")
    return instance_id


def _json(value: object) -> str:
    """Return JSON text; the SDK would make an object of any class of a value with the key that is refused."""
    try:
        text = json.dumps(value, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{value!r:.80} is not JSON: {error}. Give plain values.") from None
    if _CLASS_KEY in text:
        raise ValueError(f"The key {_CLASS_KEY} is not sent. Give plain values.")
    return text
