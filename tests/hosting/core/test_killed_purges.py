"""A process that dies at any call while it deletes a thread: deleted again, the receipt and the engine agree."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from hosting.names import Address
from tests.support.mortal import AGENT, DiedError, Life, World

THREAD = Address.of(AGENT, "t")


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.loop.close()


@pytest.mark.behaviour("erasure.entity")
@pytest.mark.parametrize("is_done", [False, True], ids=["before a call", "after it"])
async def test_wherever_a_deletion_dies_the_next_one_leaves_nothing_with_the_engine(
    world: World, *, is_done: bool
) -> None:
    """And the receipt has it so: nothing is called gone that is there."""
    await world.process().say("hi", THREAD)
    for ends in itertools.count(1):
        again = world.again()
        try:
            await again.process(Life(ends, is_done=is_done)).delete(THREAD)
        except DiedError:
            await again.process().delete(THREAD)
        else:
            break
        receipt = await again.process().services.threads.receipt(THREAD)
        assert (again.engine.documents, again.engine.ends) == ({}, {})
        assert receipt.instances[-1].outcome in ("deleted", "missing")

    assert ends > 15
