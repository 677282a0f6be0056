"""Agents of which something is stored and that the app does not have now: left out, renamed, or of another version.

Theory. The entity of such an agent takes no signal, so no entity carries out the orders of a thread's log. Its thread
is erased by the process that deletes it: all but the document is in the stores, every step may be repeated, and an
entity that another version of the app still has at that moment meets the tombstone, as any late operation does. The
document goes with the instance, which is purged as it is (`core.purging`). The thread's address is put among the
tombstones before its deletion begins, so a sweep goes on with it where this process dies.

What the agent's own context providers keep elsewhere is reached by that agent alone, and stays.
"""

from __future__ import annotations

from collections.abc import Mapping

from hosting.core.agent.hosted_agent import HostedAgent
from hosting.core.deletion import ThreadDeletion
from hosting.names import Address
from hosting.ports import EntityClient


class AbsentAgents:
    """All agents but those of the app, which `agents` has by their names in lower case."""

    def __init__(self, deletion: ThreadDeletion, agents: Mapping[str, HostedAgent]) -> None:
        self._deletion = deletion
        self._agents = agents

    def has(self, agent: str) -> bool:
        """Return whether an agent, named in whichever letter case, is absent."""
        return agent.lower() not in self._agents

    async def prepare(self, address: Address) -> None:
        """Do the work before a thread's deletion begins. Raises `AttachmentsUnavailableError`."""
        if self.has(address.agent):
            await self._deletion.mark(address)

    async def erase(self, address: Address, client: EntityClient) -> None:
        """Erase a thread that is being deleted, or was, but for its instance; raises as `ThreadDeletion` does."""
        await self._deletion.delete(address, await client.read(*address.entity))
        await self._deletion.end(address)
