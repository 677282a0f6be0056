"""The address of a thread: whose it is, of which agent, and its id, as every store finds what it keeps of it."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

APP = "app"
"""The owner of every thread of an app that knows no others."""

_THREAD_ID = re.compile(r"[A-Za-z0-9._~-]{1,64}")
_OWNER = re.compile(r"[a-z0-9]{1,64}")
_DIGEST_LENGTH = 32


@dataclass(frozen=True)
class Address:
    """A thread of an agent within one app. `agent` is in lower case, `owner` of lower-case letters and digits.

    Two apps never share a store's space: each store is opened under the name of the app's task hub.
    Raises `ValueError` for another owner.
    """

    agent: str
    thread_id: str
    owner: str = APP

    def __post_init__(self) -> None:
        if not _OWNER.fullmatch(self.owner):
            raise ValueError(f"The owner {self.owner[:80]!r} must be 1 to 64 of the characters a-z and 0-9.")

    @classmethod
    def of(cls, agent: str, thread_id: str, owner: str = APP) -> Address:
        """Return the address of a thread of the agent of that name, in whichever letter case."""
        return cls(agent.lower(), thread_id, owner)

    @property
    def key(self) -> str:
        """The address as one text, another for each address, of characters that every store takes in a key.

        A thread id from outside our alphabet, which another package may have given, stands there as a digest.
        """
        thread_id = self.thread_id
        if not _THREAD_ID.fullmatch(thread_id):
            thread_id = "!" + hashlib.sha256(thread_id.encode(errors="surrogatepass")).hexdigest()[:_DIGEST_LENGTH]
        return f"{self.agent}.{self.owner}~{thread_id}"


def keyed_thread_id(agent: str, owner: str, key: str) -> str:
    """Return the id of the thread that an idempotency key without a thread names: the same whenever it is repeated."""
    return hashlib.sha256(f"{agent.lower()}\n{owner}\n{key}".encode()).hexdigest()[:_DIGEST_LENGTH]
