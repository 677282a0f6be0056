"""What one holder appends, and what it is given of earlier attempts."""

from __future__ import annotations

from typing import Any

import pytest

from hosting.address import Address
from hosting.attachments.memory import MemoryAttachments
from hosting.errors import LogUnavailableError
from hosting.runner.journal import Journal, LeavingError
from hosting.runner.lease import Lease
from hosting.steps.step_journal import StaleAttemptError
from hosting.stores.memory import MemoryThreadStore
from hosting.stores.thread_log import ThreadLog
from hosting.thread.commands import Cancel, Claim, Record
from hosting.thread.events import Delta, ToolResult
from hosting.thread.run import run_record
from tests.support.thread_stores import ArmedStore
from tests.support.threads import NOW, accept, model_result, terms, tool_started

ADDRESS = Address.of("Helper", "t1")
WORDS = Delta(at=NOW, run_id="r1", offset=0, text="Good")


def tool_result() -> ToolResult:
    """Return the event of a tool that answered."""
    return ToolResult(at=NOW, run_id="r1", key="1.call", result="sunny")


class Holding:
    """A thread whose run is claimed, and its holder's journal."""

    def __init__(self) -> None:
        self.store = ArmedStore(MemoryThreadStore("hub"))
        self.log = ThreadLog(self.store, MemoryAttachments(), "hub", patience_seconds=0.01)

    async def begin(self, *steps: Any) -> Holding:
        """Have an attempt record these steps, and another one take the run over."""
        await self.log.ask(ADDRESS, accept("r1", claimed=True), is_new=True)
        await self.log.ask(ADDRESS, Record("token-r1", steps))
        head = await self.log.head(ADDRESS)
        await self.log.ask(ADDRESS, Claim(NOW, terms("token"), silent=head.append_id))
        record = run_record("r1", await self.log.events(ADDRESS, 0))
        assert record is not None
        self.journal = Journal(self.log, ADDRESS, record, "token", Lease(), told=lambda asked: None)
        return self

    async def kinds(self) -> list[str]:
        """Return the kinds of what stands behind the second claim."""
        return [event.kind for _, event in (await self.log.events(ADDRESS, 0))][6:]


@pytest.mark.behaviour("runner.steps")
async def test_a_later_attempt_is_given_what_an_earlier_one_recorded() -> None:
    """And nothing that it recorded itself: that is new."""
    steps = (model_result(), tool_started(), tool_result())
    journal = (await Holding().begin(*steps)).journal
    await journal.append_here(model_result(number=2))

    assert (journal.model(1), journal.started("1.call"), journal.result("1.call")) == steps
    assert (journal.model(2), journal.model(1, "other"), journal.result("2.call")) == (None, None, None)


@pytest.mark.behaviour("runner.steps")
async def test_an_attempt_made_again_is_given_what_the_failed_one_recorded() -> None:
    """By the same holder, under its new token."""
    journal = (await Holding().begin(*[model_result()] * 3)).journal
    await journal.append_here(model_result(number=2))
    await journal.retry("another", "run_failed")

    assert (journal.model(2), journal.token) == (model_result(number=2), "another")
    await journal.append_here(tool_started(), tool_result())


@pytest.mark.behaviour("runner.steps")
async def test_words_that_wait_stand_before_the_step_that_follows_them_and_only_once() -> None:
    """In one append with it."""
    holding = await Holding().begin(*[model_result()] * 3)
    said = [(WORDS,)]
    holding.journal.take_words = lambda: said.pop() if said else ()
    before = holding.store.calls["append"]
    await holding.journal.append_here(model_result(number=2))

    assert (await holding.kinds(), holding.store.calls["append"]) == (["delta", "model_result"], before + 1)
    assert holding.journal.unlogged(()) == ()


@pytest.mark.behaviour("runner.steps")
async def test_words_of_a_failed_append_go_with_the_next_step() -> None:
    """Nobody knows whether they stand there already."""
    holding = await Holding().begin(*[model_result()] * 3)
    said = [(WORDS,)]
    holding.journal.take_words = lambda: said.pop() if said else ()
    holding.store.is_away = True
    with pytest.raises(LogUnavailableError):
        await holding.journal.append_here()
    holding.store.is_away = False
    await holding.journal.append_here(model_result(number=2))

    assert await holding.kinds() == ["delta", "model_result"]


@pytest.mark.behaviour("runner.steps")
async def test_a_holder_that_leaves_stops_behind_the_tool_that_it_has_finished() -> None:
    """What the tool answered is recorded, and so is what the model says before."""
    holding = await Holding().begin(model_result(), *[tool_started()] * 2)
    holding.journal.leaving = True
    await holding.journal.append_here(model_result(number=2))
    with pytest.raises(LeavingError):
        await holding.journal.append_here(tool_result())

    assert await holding.kinds() == ["model_result", "tool_result"]


@pytest.mark.behaviour("runner.steps")
async def test_an_attempt_that_cannot_be_made_again_leaves_the_holder_its_token() -> None:
    """With the log away; and one whose run was cancelled has ended with that."""
    holding = await Holding().begin(*[model_result()] * 3)
    holding.store.is_away = True
    with pytest.raises(LogUnavailableError):
        await holding.journal.retry("another", "run_failed")
    holding.store.is_away = False
    await holding.log.ask(ADDRESS, Cancel(NOW, "r1"))

    assert holding.journal.token == "token"
    with pytest.raises(StaleAttemptError):
        await holding.journal.retry("third", "run_failed")
    assert await holding.kinds() == ["cancel_requested", "cancelled"]
