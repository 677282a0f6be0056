"""Changes of feedback whose signal was lost, when somebody else gives feedback on the same thread."""

from __future__ import annotations

import pytest

from tests.support.owned_app import OwnedApp
from tests.support.rated import GOOD, kept, path_of, shared


async def marks(owned: OwnedApp) -> int:
    """Return how many are in the figures."""
    return sum("~" not in key and key.startswith("clerk.") for key, _ in await kept(owned.app))


@pytest.mark.behaviour("feedback.told")
async def test_the_next_feedback_on_a_thread_has_an_older_change_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine was away when the first was given; one that is young may have its signal yet, and waits."""
    owned = OwnedApp()
    async with owned.http:
        path = await path_of(owned)
        at_bob, later = await shared(owned, path), await shared(owned, path, "eve")
        await owned.stored()
        owned.host.entities.refuse_signals = True
        refused = await owned.ask("ada", "POST", path, json=GOOD)
        owned.host.entities.refuse_signals = False
        await owned.ask("bob", "POST", at_bob, json=GOOD)
        await owned.stored()
        young = await marks(owned)
        clocks = owned.app._services.log.clocks
        now = clocks.wall() + 120.0
        monkeypatch.setattr(type(clocks), "wall", property(lambda self: lambda: now))
        monkeypatch.setattr(owned.app._services.stores.attachments, "_clock", lambda: now)
        await owned.ask("eve", "POST", later, json=GOOD)
        await owned.stored()
        counted = await marks(owned)

    assert (refused.status_code, young, counted) == (503, 1, 3)
