"""Feedback on runs that count no more, by a reset or by what replaced them, and on those that the log has forgotten."""

from __future__ import annotations

import asyncio

import pytest

from hosting.core.retention import DAY_SECONDS
from hosting.names import Address
from tests.support.ag_ui import Wired, wanted
from tests.support.carriers import GUARD_SECONDS
from tests.support.rated import GOOD, kept, records


@pytest.mark.behaviour("feedback.erased")
async def test_feedback_on_a_replaced_run_goes_before_the_log_forgets_that(monkeypatch: pytest.MonkeyPatch) -> None:
    wired, address = Wired(), Address.of("Joker", "t")
    async with wired.http:
        question = {"id": "m", "role": "user", "content": "say one"}
        await wired.run(wanted(question, run="r-1"))
        [first] = (await wired.http.get("agents/Joker/threads/t/runs")).json()["runs"]
        await wired.http.post(f"agents/Joker/threads/t/runs/{first['run_id']}/feedback", json=GOOD)
        await wired.run(wanted({**question, "content": "say two"}, run="r-2"))
        await asyncio.wait_for(wired.host.entities.idle(), GUARD_SECONDS)
        left = [*await records(wired.app, address), *await kept(wired.app)]
        clocks = wired.app._services.log.clocks
        later = clocks.wall() + 40 * DAY_SECONDS
        monkeypatch.setattr(type(clocks), "wall", property(lambda self: lambda: later))
        await wired.host.entities.deliver(*address.entity, "trim", {})
        trimmed = (await wired.app._services.log.head(address)).trimmed
        shown = (await wired.http.get("agents/Joker/threads/t/feedback")).json()["feedback"]
        exported = (await wired.http.get("agents/Joker/threads/t/export")).json()["feedback"]

    assert trimmed > 0
    assert left == []
    assert (shown, exported) == ([], [])
