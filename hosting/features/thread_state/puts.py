"""Messages that a person puts into a thread without a run: for imports, and for notes.

Theory. They are one event of the thread's log, decided on its head as every append. So they stand in one order with the
runs, and each run that is accepted later begins with them. While a run is open, or calls wait for a decision, they are
refused: a later attempt of that run would begin with another conversation than the first one.

A request under an `Idempotency-Key` finds its messages, in whichever process. Its row is of the kind that runs have, so
one key is never of a run and of messages.
"""

from __future__ import annotations

import hashlib
import json
from copy import copy
from functools import partial

from msgspec.structs import replace

from hosting.core.archiving import size_bytes
from hosting.core.held_runs import HeldRuns
from hosting.core.signals import Signals
from hosting.core.stores.stores import Stores
from hosting.core.thread.commands import PutMessages, Refused
from hosting.core.thread.head import Head
from hosting.core.thread.put import entries_of
from hosting.core.thread.rows import KeyRow
from hosting.core.thread.thread_events import MessagesPut
from hosting.core.thread_log import ThreadLog
from hosting.errors import ForbiddenError, UnsupportedContentError
from hosting.features.thread_state.begun import BegunThreads
from hosting.features.thread_state.routes import StateRefusedError, StateTooLargeError
from hosting.http.verbs import NewMessages, PutIn
from hosting.names import Address, check_thread_id, is_id, max_thread_id_length, new_id
from hosting.plan import AgentPlan
from hosting.principal import Caller
from hosting.settings import Settings
from state.attachments import external_bytes
from state.codec import read
from state.errors import BadContentError
from state.models import entry_text


class Puts:
    """Puts messages into the threads of one app."""

    def __init__(self, log: ThreadLog, holders: HeldRuns, stores: Stores, settings: Settings) -> None:
        self._log = log
        self._begun = BegunThreads(log, stores)
        self._holders = holders
        self._settings = settings
        self._signals = Signals(log)

    async def put(self, agent: AgentPlan, address: Address, new: NewMessages, caller: Caller) -> PutIn:
        """Put messages in; see `hosting.http.verbs.BeginsThreads`."""
        if agent.workflow is not None:
            raise StateRefusedError(f"{agent.name!r} is a workflow: its threads take messages by runs alone.")
        if caller.grant is not None and any(message.role == "assistant" for message in new.messages):
            raise ForbiddenError("This thread is shared with you. Only its owner puts words of the agent into it.")
        put = MessagesPut(at=self._log.clocks.wall(), id=new_id(), messages=new.messages, principal=caller.principal)
        self._check_size(put)
        await self._check_id(address, caller)
        command = PutMessages(put, _fingerprint(address, new), new.key, epoch=caller.epoch)
        async with self._begun.beginning(address):
            decided = await self._holders.execute(address, command, partial(self._with_row, address, command))
            if isinstance(decided.outcome, Refused):
                if decided.outcome.signal:
                    await self._signals.delete(address, caller.client)
                raise copy(decided.outcome.error)
            put_id: str = decided.outcome.run_id  # type: ignore[union-attr]
            await self._signals.store(address, decided.head.put, caller.client)
        return PutIn(put_id, replayed=put_id != put.id)

    async def _with_row(self, address: Address, command: PutMessages, head: Head) -> PutMessages:
        """Return the command with the row of its idempotency key, as that head has it."""
        key = command.key
        return replace(command, row=None if key is None else await self._log.row(address, KeyRow, key, head))

    async def _check_id(self, address: Address, caller: Caller) -> None:
        """Raise `InvalidThreadIdError` for an id that only another package's thread has, which is not there."""
        longest = max_thread_id_length(address.agent, address.owner)
        if is_id(address.thread_id) and len(address.thread_id) <= longest:
            return
        head = await self._log.head(address)
        if head.position == 0 and await caller.client.read(*address.entity) is None:
            check_thread_id(address.thread_id, address.agent, address.owner)

    def _check_size(self, put: MessagesPut) -> None:
        try:
            entries = entries_of(put, read(None))
        except BadContentError as error:
            raise UnsupportedContentError(f"A content of the messages cannot be stored: {error}") from error
        apart = self._settings.attachment_bytes
        size = sum(size_bytes(entry_text(entry)) - external_bytes(entry, apart) for entry in entries)
        if size > self._settings.state_limit_bytes:
            limit = self._settings.state_limit_bytes
            raise StateTooLargeError(
                f"These messages are stored in {size:,} bytes and a conversation has {limit:,}. Send them in parts."
            )


def _fingerprint(address: Address, new: NewMessages) -> str:
    """Return the digest of a request; it is never that of a run's."""
    messages = [message.model_dump(mode="json") for message in new.messages]
    identity = ["messages", address.agent, address.thread_id, messages]
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
