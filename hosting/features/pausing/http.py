"""The handlers of the routes by which a run is paused and resumed."""

from __future__ import annotations

from collections.abc import Sequence

from hosting.features.pausing.pausing import Pausing
from hosting.features.pausing.routes import PAUSE, RESUME
from hosting.http.replies import Reply, cancel_reply
from hosting.http.request import Bound, HttpRequest


class PausingHandlers:
    """Pauses and resumes runs at the request of whoever may cancel them."""

    def __init__(self, pausing: Pausing) -> None:
        self._pausing = pausing

    def bound(self) -> Sequence[Bound]:
        """Return the routes with their handlers."""
        return Bound(PAUSE, self._pause), Bound(RESUME, self._resume)

    async def _pause(self, request: HttpRequest) -> Reply:
        return cancel_reply(await self._pausing.pause(request.address, request.run_id, request.caller.client))

    async def _resume(self, request: HttpRequest) -> Reply:
        return cancel_reply(await self._pausing.resume(request.address, request.run_id, request.caller.client))
