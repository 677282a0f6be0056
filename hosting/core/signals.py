"""Signals to the entities of threads, and whether one was taken for which the engine gave no answer.

Theory. A signal has the entity carry out what the log says already, so it may be sent again, and taken twice. Whether
one was taken is not always known: this process may have slept while the engine answered, or the answer was lost. So
before a request is refused because the engine cannot be reached, the log or the document is read: it may show that the
entity was there. A caller that repeats a request that was carried out would have it done twice.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Literal

from hosting.core.thread.commands import SignalFailed, Unchanged
from hosting.core.thread.draft import needs_signal
from hosting.core.thread.events import Accepted
from hosting.core.thread_log import Decided, ThreadLog
from hosting.errors import EngineUnavailableError
from hosting.names import Address
from hosting.ports import EntityClient
from state.codec import read
from state.errors import UnreadableDocumentError
from state.extension import host_of


class Signals:
    """Signals to the threads of one app.

    Each method raises `EngineUnavailableError` where nothing shows that the signal was taken, and `LogUnavailableError`
    where that cannot be looked up.
    """

    def __init__(self, log: ThreadLog) -> None:
        self._log = log

    async def run(self, address: Address, run_id: str, client: EntityClient) -> bool:
        """Have a run of the log ended; return whether the engine answered, and nothing had to be looked up."""
        try:
            await client.signal(*address.entity, "run", {"run_id": run_id, "logged": True})
            return True
        except EngineUnavailableError:
            head = await self._log.head(address)
            run = head.run(run_id)
            if run is not None and needs_signal(head, run, self._log.clocks.wall()):
                raise
            return False

    async def withdraw(self, address: Address, accepted: Accepted, token: str | None) -> tuple[Decided, bool]:
        """Withdraw a run after its signal failed, and that token's claim; return whether the log shows a sent signal.

        Then the run is left to the process that has it, or ended it.
        """
        moment = self._log.clocks.wall()
        failed = SignalFailed(moment, accepted.run_id, token, accepted.key, accepted.fingerprint)
        decided = await self._log.execute(address, failed)
        run = decided.head.run(accepted.run_id)
        return decided, isinstance(decided.outcome, Unchanged) and (run is None or run.signalled)

    async def delete(self, address: Address, client: EntityClient) -> None:
        """Have a deletion that the log has begun come to its end."""
        try:
            await client.signal(*address.entity, "delete", {"logged": True})
        except EngineUnavailableError:
            if (await self._log.head(address)).state == "deleting":
                raise

    async def store(
        self, address: Address, position: int, client: EntityClient, operation: Literal["store", "reset"] = "store"
    ) -> None:
        """Have the document made of the log up to that position, or begin anew from the reset there."""
        try:
            await client.signal(*address.entity, operation, {"position": position})
        except EngineUnavailableError:
            text, head = await client.read(*address.entity), await self._log.head(address)
            mark = None
            with suppress(UnreadableDocumentError):
                mark = None if text is None else host_of(read(text)).log_mark
            if mark is None or mark.epoch != head.epoch or mark.position < position:
                raise
