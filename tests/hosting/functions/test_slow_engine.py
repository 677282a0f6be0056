"""An engine that takes its time over a signal: whoever waits is told after a while."""

import asyncio

import pytest
from azure.durable_functions import EntityId

from hosting.errors import EngineUnavailableError
from hosting.functions.durable import DurableClient

GUARD_SECONDS = 5.0


class Stalled:
    """The one method of the SDK's client, to which nobody answers, as where the engine's disk is full."""

    async def signal_entity(self, entity: EntityId, operation: str, value: object) -> None:
        """Wait."""
        await asyncio.Event().wait()


@pytest.mark.behaviour("http.full-disk")
async def test_a_signal_that_nobody_takes_fails_in_time() -> None:
    """By the error of an engine that cannot be reached; the SDK would wait for four minutes."""
    client = DurableClient(Stalled(), signal_seconds=0.01)

    with pytest.raises(EngineUnavailableError):
        await asyncio.wait_for(client.signal("dafx-joker", "t", "run", {"logged": True}), GUARD_SECONDS)
