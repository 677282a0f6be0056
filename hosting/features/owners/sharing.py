"""Threads that their owner shares with others: given, listed, withdrawn, and found by the person with the grant.

Theory. A grant is an event of the thread's log, and stands in its head: it holds from the append on, in every process,
and goes with the thread. Its id says where that thread is, and opens nothing by itself: who comes with it must be the
principal that it was given to. So nobody searches for threads among grants, and one that was withdrawn, is somebody
else's, or never was, is answered alike.
"""

from __future__ import annotations

import re
import secrets

from msgspec import Struct

from hosting.core.thread.commands import Refused, ShareThread, WithdrawGrant
from hosting.core.thread.open_runs import Grant
from hosting.core.thread.run_request import GrantedAccess
from hosting.core.thread_log import ThreadLog
from hosting.errors import RequestError, UnknownThreadError
from hosting.names import APP, Address, agent_in_key, agent_of_key
from hosting.principal import Principal

_ID = re.compile(rf"([A-Za-z0-9_!-]{{1,64}})~([a-z0-9]{{16}}|{APP})~([0-9a-f]{{16}})~([A-Za-z0-9._~-]{{1,64}})")


class UnknownGrantError(RequestError, code="unknown_grant", status=404):
    """The grant does not exist, was withdrawn, or is for another person."""


class SharedThread(Struct, frozen=True):
    """A thread that a person may use by a grant, which was given for that `epoch` of it."""

    address: Address
    access: GrantedAccess
    epoch: int


def grant_id(address: Address, grant: Grant) -> str:
    """Return the name of a grant: the thread's agent and owner, the grant's own part, and the thread's id."""
    return f"{agent_in_key(address.agent)}~{address.owner}~{grant.id}~{address.thread_id}"


def grant_parts(grant: str) -> tuple[Address, str] | None:
    """Return the thread that a grant names, and the grant's own part; None for an invalid name."""
    found = _ID.fullmatch(grant)
    return None if found is None else (Address.of(agent_of_key(found[1]), found[4], found[2]), found[3])


class Sharing:
    """Shares the threads of one app."""

    def __init__(self, log: ThreadLog) -> None:
        self._log = log

    async def give(self, address: Address, principal: Principal, access: GrantedAccess) -> Grant:
        """Share the thread with a principal; one who has that grant already gets the same.

        Raises `UnknownThreadError`, `ThreadDeletingError`, `ThreadDeletedError`, `TooManyGrantsError` and
        `LogUnavailableError`.
        """
        head = await self._log.head(address)
        for grant in head.grants:
            if (grant.principal.owner, grant.access) == (principal.owner, access):
                return grant
        if head.position == 0 or head.state == "deleted":
            raise _no_thread(address)
        share = ShareThread(self._log.clocks.wall(), head.epoch, secrets.token_hex(8), principal, access)
        decided = await self._log.execute(address, share)
        if isinstance(decided.outcome, Refused):
            raise decided.outcome.error
        return next(grant for grant in decided.head.grants if grant.id == share.id)

    async def given(self, address: Address) -> tuple[Grant, ...]:
        """Return the people with access to the thread. Raises `UnknownThreadError` and `LogUnavailableError`."""
        head = await self._log.head(address)
        if head.position == 0 or head.state == "deleted":
            raise _no_thread(address)
        return head.grants

    async def withdraw(self, address: Address, grant: str) -> None:
        """End a grant; again changes nothing. Raises `LogUnavailableError`."""
        parts = grant_parts(grant)
        await self._log.execute(address, WithdrawGrant(self._log.clocks.wall(), "" if parts is None else parts[1]))

    async def find(self, grant: str, principal: Principal) -> SharedThread:
        """Return the thread that a grant opens for a principal.

        Raises `UnknownGrantError` where it opens none for them, and `LogUnavailableError`.
        """
        if (parts := grant_parts(grant)) is not None:
            address, own_id = parts
            head = await self._log.head(address)
            for given in head.grants:
                if given.id == own_id and given.principal.owner == principal.owner:
                    return SharedThread(address, given.access, head.epoch)
        raise UnknownGrantError(f"Nothing is shared with you under {grant[:160]!r}.")


def _no_thread(address: Address) -> UnknownThreadError:
    return UnknownThreadError(f"There is no thread {address.thread_id[:80]!r} of {address.agent!r}.")
