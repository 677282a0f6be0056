"""Two users whose runs are at work in one process at the same moment, and whose token each place of a run gets."""

from __future__ import annotations

import asyncio
from typing import Any

from hosting.tools import current
from hosting.user_tokens import UserTokenError
from tests.support.carriers import GUARD_SECONDS
from tests.support.identity_provider import ADA, BOB, GRAPH, IdentityProvider
from tests.support.mailer import of_platform
from tests.support.owned_app import OwnedApp

USERS = (ADA, BOB)


class Meeting:
    """`noted` has each place with its run's user, and the user whose token it got, or the reason why it got none.

    At the first place of each run the code waits until so many `runs` are there.
    """

    def __init__(self, provider: IdentityProvider, runs: int = len(USERS)) -> None:
        self.noted: set[tuple[str, str, str]] = set()
        self.provider = provider
        self._runs = runs
        self._here: set[str] = set()
        self._all = asyncio.Event()

    async def note(self, place: str) -> None:
        """Ask for the user's token at that place of a run."""
        run = current()
        assert run.principal is not None
        await self.meet(run.run_id)
        try:
            token = await current().user_token(GRAPH)
            who = self.provider.user_of(token.value)
        except UserTokenError as error:
            who = error.reason
        self.noted.add((place, run.principal.id, who))

    async def meet(self, run_id: str) -> None:
        """Wait for the other runs."""
        self._here.add(run_id)
        if len(self._here) == self._runs:
            self._all.set()
        async with asyncio.timeout(GUARD_SECONDS):
            await self._all.wait()

    def of(self, *places: str) -> set[tuple[str, str, str]]:
        """Return what is noted where each of these places gets its own user's token."""
        return {(place, user, user) for place in places for user in USERS}


async def both_ask(app: OwnedApp, provider: IdentityProvider, path: str, **body: Any) -> list[dict[str, Any]]:
    """Begin a run of each user at the same time, each on a thread of their own; return the answers."""

    async def ask(user: str) -> dict[str, Any]:
        answer = await app.ask(None, "POST", path, headers=of_platform(provider.token(user), user), json=body)
        assert answer.status_code < 300, answer.text
        return dict(answer.json())

    return [*await asyncio.gather(*map(ask, USERS))]
