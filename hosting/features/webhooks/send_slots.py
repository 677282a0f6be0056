"""Which receivers one process sends to now, so that one that hangs does not delay the others.

Theory. A receiver whose latest try was over in a moment is prompt, and is sent to at once. Any other one may hang for
as long as a try takes, and needs a slot. A host of which nothing is known holds a slot of its own kind for that moment
only. A host has few slots, and who holds the fewest is next. So what hangs takes the slots of what hangs. A receiver is
prompt by its whole address, for another one at its host may be somebody else's; slots are counted by host, for one
receiver may have addresses without end.

All this is the memory of one process, and counts for nothing: the clock of a delivery (`delivery.py`) has it sent
where this process dies or forgets it. So what would be too much is forgotten.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter, OrderedDict, deque
from urllib.parse import urlsplit

from msgspec import Struct, field

from hosting.features.webhooks.delivery import WAITING_SECONDS
from hosting.ports import Clock

PROMPT_SECONDS = 1.0
"""A try that takes longer holds none of the entity's keys any more."""

MOST_OF_HOST = 16
MOST_NEW = 16
MOST_SLOW = 48
MOST_HELD = 256
"""How many slots one process has: for one host, for hosts of which nothing is known while their tries began a moment
ago, how many others keep one more slow host from a slot, and how many in all."""

MOST_WAITING = 1000
MOST_WAITING_OF_HOST = 100
"""How many deliveries wait for a slot in one process, for all hosts and for one."""

MOST_REMEMBERED = 4096
"""How many prompt receivers one process remembers, and how many slow hosts: the latest ones."""


class Slot(Struct, eq=False):
    """Permission for one try. It `is_new` while nothing is known of its host."""

    url: str
    sender: str
    began_at: float
    is_new: bool = False

    @property
    def host(self) -> str:
        """The receiver's host, with its port."""
        return _host(self.url)


class _Waiting(Struct, frozen=True, eq=False):
    url: str
    since: float
    slot: asyncio.Future[Slot | None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class SendSlots:
    """The slots of one process. `sender` is who has a message sent: among senders they are shared fairly."""

    def __init__(self, clock: Clock, prompt_seconds: float = PROMPT_SECONDS) -> None:
        self.prompt_seconds = prompt_seconds
        self._clock = clock
        self._prompt = OrderedDict[str, str]()  # receivers' digests, with their hosts
        self._slow = OrderedDict[str, None]()
        self._held = set[Slot]()
        self._waiting: dict[str, deque[_Waiting]] = {}

    def take(self, sender: str, url: str) -> Slot | None:
        """Return a slot for a try that begins now, None where there is none."""
        slot = Slot(url, sender, self._clock())
        if _digest(url) not in self._prompt:
            if not self._is_free(slot.host, *self._counts()):
                return None
            self._hold(slot)
        return slot

    async def acquire(self, sender: str, url: str) -> Slot | None:
        """Return a slot once it is this one's turn; None where too many wait, or it waited for too long.

        If all is full, the sender with most waiting gives one up.
        """
        waiting = [each for queue in self._waiting.values() for each in queue]
        if sum(_host(each.url) == _host(url) for each in waiting) >= MOST_WAITING_OF_HOST:
            return None
        if len(waiting) >= MOST_WAITING:
            most = max(self._waiting, key=lambda name: len(self._waiting[name]))
            if sender == most:
                return None
            self._waiting[most].pop().slot.set_result(None)
        own = _Waiting(url, self._clock())
        self._waiting.setdefault(sender, deque()).append(own)
        self._serve()
        return await own.slot

    def mark_slow(self, slot: Slot) -> None:
        """Take note that a try was not over in a moment."""
        self._prompt.pop(_digest(slot.url), None)
        self._slow[slot.host] = None
        self._slow.move_to_end(slot.host)
        if len(self._slow) > MOST_REMEMBERED:
            self._slow.popitem(last=False)
        self._hold(slot)
        slot.is_new = False
        self._serve()

    def mark_over(self, slot: Slot) -> None:
        """Take note that a try came to its end; one in a moment makes its receiver prompt."""
        if self._clock() - slot.began_at <= self.prompt_seconds:
            self._prompt[_digest(slot.url)] = slot.host
            self._prompt.move_to_end(_digest(slot.url))
            if len(self._prompt) > MOST_REMEMBERED:
                self._prompt.popitem(last=False)

    def release(self, slot: Slot) -> None:
        """Give a slot back; a delivery that waits may begin."""
        self._held.discard(slot)
        self._serve()

    def close(self) -> None:
        """Let none begin that waits: its clock has it sent elsewhere."""
        for queue in self._waiting.values():
            for waiting in queue:
                waiting.slot.set_result(None)
        self._waiting.clear()

    def _counts(self) -> tuple[Counter[str], set[str]]:
        """Return how many slots each host holds, and which hosts have a prompt receiver."""
        return Counter(slot.host for slot in self._held), set(self._prompt.values())

    def _is_free(self, host: str, held: Counter[str], prompt: set[str]) -> bool:
        if held[host] >= MOST_OF_HOST or len(self._held) >= MOST_HELD:
            return False
        if host in prompt:
            return True
        new = sum(slot.is_new for slot in self._held)
        return len(self._held) - new < MOST_SLOW if host in self._slow else new < MOST_NEW

    def _hold(self, slot: Slot) -> None:
        if slot not in self._held:
            slot.is_new = slot.host not in self._slow and slot.host not in self._prompt.values()
            self._held.add(slot)

    def _serve(self) -> None:
        """Give free slots to those that wait."""
        while (chosen := self._next()) is not None:
            sender, waiting = chosen
            slot = Slot(waiting.url, sender, self._clock())
            self._hold(slot)
            waiting.slot.set_result(slot)

    def _next(self) -> tuple[str, _Waiting] | None:
        """Take the oldest one with a free slot, of the sender and then the host that holds the fewest."""
        oldest, (held, prompt) = self._clock() - WAITING_SECONDS, self._counts()
        of_sender = Counter(slot.sender for slot in self._held)
        for sender in sorted(self._waiting, key=lambda sender: of_sender[sender]):
            queue = self._waiting[sender]
            while queue and queue[0].since <= oldest:
                queue.popleft().slot.set_result(None)
            free = (each for each in queue if self._is_free(_host(each.url), held, prompt))
            chosen = min(free, key=lambda each: held[_host(each.url)], default=None)
            if chosen is not None:
                queue.remove(chosen)
            if not queue:
                del self._waiting[sender]
            if chosen is not None:
                return sender, chosen
        return None


def _host(url: str) -> str:
    return urlsplit(url).netloc.lower()


def _digest(url: str) -> str:
    return hashlib.sha256(url.encode()).hexdigest()[:16]
