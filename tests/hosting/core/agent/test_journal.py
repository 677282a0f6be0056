"""What one holder appends, and what it is given of earlier attempts."""

from __future__ import annotations

from typing import Any

import pytest

from hosting.core.agent.held_run import DrainingError, StaleTokenError
from hosting.core.stores.memory import MemoryObjects, MemoryThreadStore
from hosting.core.thread.commands import CancelRun, ClaimRun, RecordSteps
from hosting.core.thread.events import Delta, ToolResult
from hosting.core.thread_log import ThreadLog
from hosting.errors import LogUnavailableError
from hosting.names import Address
from tests.support.thread_stores import ArmedStore
from tests.support.threads import NOW, accept, held_run, model_result, terms, tool_started

ADDRESS = Address.of("Helper", "t1")
DELTA = Delta(at=NOW, run_id="r1", offset=0, text="Good")


def tool_result(key: str = "1.call") -> ToolResult:
    """Return the event of a tool that answered."""
    return ToolResult(at=NOW, run_id="r1", key=key, text="sunny")


class Holding:
    """A thread whose run is claimed, and its holder."""

    def __init__(self) -> None:
        self.store = ArmedStore(MemoryThreadStore("hub"))
        self.log = ThreadLog(self.store, MemoryObjects(), "hub", patience_seconds=0.01)

    async def begin(self, *steps: Any) -> Holding:
        """Have an attempt record these steps, and another one take the run over."""
        await self.log.execute(ADDRESS, accept("r1", claimed=True), is_new=True)
        await self.log.execute(ADDRESS, RecordSteps("token-r1", steps))
        head = await self.log.head(ADDRESS)
        await self.log.execute(ADDRESS, ClaimRun(NOW, terms("token"), idle_append=head.append_id))
        self.held = await held_run(self.log, ADDRESS)
        return self

    async def kinds(self) -> list[str]:
        """Return the kinds of what stands behind the second claim."""
        return [event.kind for _, event in (await self.log.events(ADDRESS, 0))][6:]


@pytest.mark.behaviour("runner.steps")
@pytest.mark.behaviour("streams.words-before-steps")
async def test_deltas_that_wait_stand_before_the_step_that_follows_them_and_only_once() -> None:
    holding = await Holding().begin(*[model_result()] * 3)
    waiting = [(DELTA,)]
    holding.held.take_deltas = lambda: waiting.pop() if waiting else ()
    before = holding.store.calls["append"]
    await holding.held.append_on_loop(model_result(number=2))

    assert (await holding.kinds(), holding.store.calls["append"]) == (["delta", "model_result"], before + 1)
    assert holding.held.unlogged == ()


@pytest.mark.behaviour("runner.steps")
async def test_a_holder_that_leaves_stops_behind_the_tool_that_it_has_finished() -> None:
    """What the tool answered is recorded, and so is what the model says before."""
    holding = await Holding().begin(model_result(), *[tool_started()] * 2)
    holding.held.is_draining = True
    await holding.held.append_on_loop(model_result(number=2))
    with pytest.raises(DrainingError):
        await holding.held.append_on_loop(tool_result())

    assert await holding.kinds() == ["model_result", "tool_result"]


@pytest.mark.behaviour("runner.steps")
async def test_an_attempt_that_cannot_be_made_again_leaves_the_holder_its_token() -> None:
    """With the log away; and one whose run was cancelled has ended with that."""
    holding = await Holding().begin(*[model_result()] * 3)
    holding.store.is_away = True
    with pytest.raises(LogUnavailableError):
        await holding.held.retry("another", "run_failed")
    holding.store.is_away = False
    await holding.log.execute(ADDRESS, CancelRun(NOW, "r1"))

    assert holding.held.token == "token"
    with pytest.raises(StaleTokenError):
        await holding.held.retry("third", "run_failed")
    assert await holding.kinds() == ["cancel_requested", "cancelled"]
