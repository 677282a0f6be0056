"""The receivers that are sent to now, so that a hanging one does not delay the others.

Theory. A receiver whose latest try was over in a moment is prompt, and is sent to at once. Any other one may hang for
as long as a try takes, so there are places for these: some for hosts of which nothing is known, which hold them for
that moment only, and some for hosts that took longer. A host has few of both, and who holds the fewest is next. So what
hangs takes the places of what hangs. A receiver is prompt by its whole address, for another one at its host may be
somebody else's; places are counted by host, for one receiver may have addresses without end.

All this is the memory of one process, and counts for nothing: what waits for a place has a note
(`service.webhook_notes`), by which it is found where this process dies or forgets it. So what would be too much is
forgotten.
"""

from __future__ import annotations

import hashlib
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from hosting.ports import Clock
from hosting.service.deliveries import WebhookOrder

PROMPT_SECONDS = 1.0
"""A try that takes longer holds none of the entity's keys any more."""

MOST_OF_HOST = 16
MOST_NEW = 16
MOST_SLOW = 48
MOST_AT_WORK = 256
"""How many tries that may hang one process makes at one time: at one host, those at hosts of which nothing is known and
that began a moment ago, how many others keep one more at a slow host from beginning, and how many in all."""

MOST_WAITING = 1000
MOST_WAITING_OF_HOST = 100
WAITING_SECONDS = 120.0
"""The most that wait for a place in one process, for all hosts and for one, and how long."""

MOST_REMEMBERED = 4096
"""How many prompt receivers one process remembers, and how many slow hosts: the latest ones."""


def host_digest(url: str) -> str:
    """Return the digest of a receiver's host, with its port, for a place without room for the name."""
    return _digest(urlsplit(url).netloc.lower())


@dataclass(eq=False)
class Place:
    """Permission for one try. `counts` for a limited one, `is_new` while it is one of a new host."""

    url: str
    host: str
    sender: str
    began_at: float
    counts: bool = False
    is_new: bool = False


@dataclass(frozen=True)
class _Waiting:
    order: WebhookOrder
    url: str
    host: str
    since: float


class Places:
    """The receivers of one process; `begin` is called when the turn of a waiting order comes."""

    def __init__(
        self, clock: Clock, begin: Callable[[WebhookOrder, Place], None], prompt_seconds: float = PROMPT_SECONDS
    ) -> None:
        self.prompt_seconds = prompt_seconds
        self._clock = clock
        self._begin = begin
        self._prompt = OrderedDict[str, str]()
        self._prompt_of_host = Counter[str]()
        self._slow = OrderedDict[str, None]()
        self._of_host = Counter[str]()
        self._of_sender = Counter[str]()
        self._at_work = self._new = 0
        self._waiting: dict[str, deque[_Waiting]] = {}

    def is_prompt(self, host: str) -> bool:
        """Whether a receiver of that host (`host_digest`) is prompt."""
        return self._prompt_of_host[host] > 0

    def take(self, order: WebhookOrder, url: str) -> Place | None:
        """Return a place for a try that begins now, None where there is none."""
        place = Place(url, host_digest(url), _sender(order), self._clock())
        if _digest(url) not in self._prompt:
            if not self._has_place(place.host):
                return None
            self._count(place)
        return place

    def overdue(self, place: Place) -> None:
        """Take note that a try was not over in a moment: from here on its receiver is slow."""
        self._forget(_digest(place.url))
        self._slow[place.host] = None
        self._slow.move_to_end(place.host)
        if len(self._slow) > MOST_REMEMBERED:
            self._slow.popitem(last=False)
        if place.counts:
            self._new -= place.is_new
            place.is_new = False
        else:
            self._count(place)
        self._begin_next()

    def over(self, place: Place) -> None:
        """Take note that a try is over, and give its place back."""
        if self._clock() - place.began_at <= self.prompt_seconds:
            self._forget(_digest(place.url))  # and remember it as the latest one
            self._prompt[_digest(place.url)] = place.host
            self._prompt_of_host[place.host] += 1
            if len(self._prompt) > MOST_REMEMBERED:
                self._forget(next(iter(self._prompt)))
        self.give_back(place)

    def give_back(self, place: Place) -> None:
        """Give a place back, if it is not yet; a waiting order may begin."""
        if place.counts:
            self._at_work -= 1
            self._new -= place.is_new
            place.counts = place.is_new = False
            _decrease(self._of_host, place.host)
            _decrease(self._of_sender, place.sender)
        self._begin_next()

    def keeps(self, order: WebhookOrder, url: str) -> bool:
        """Whether another one of these may wait here; if all is full, the owner with most gives one up."""
        host, waiting = host_digest(url), [one for those in self._waiting.values() for one in those]
        if sum(one.host == host for one in waiting) >= MOST_WAITING_OF_HOST:
            return False
        return len(waiting) < MOST_WAITING or _sender(order) != self._most_waiting()

    def wait(self, order: WebhookOrder, url: str) -> None:
        """Begin it once there is a place, if it `keeps` it."""
        if not self.keeps(order, url):
            return
        if sum(map(len, self._waiting.values())) >= MOST_WAITING:
            self._waiting[self._most_waiting()].pop()
        self._waiting.setdefault(_sender(order), deque()).append(_Waiting(order, url, host_digest(url), self._clock()))
        self._begin_next()

    def forget_waiting(self) -> None:
        """Begin nothing that waits: its notes have it begun elsewhere."""
        self._waiting.clear()

    def _most_waiting(self) -> str:
        return max(self._waiting, key=lambda sender: len(self._waiting[sender]))

    def _has_place(self, host: str) -> bool:
        if self._of_host[host] >= MOST_OF_HOST or self._at_work >= MOST_AT_WORK:
            return False
        if self.is_prompt(host):
            return True
        return self._at_work - self._new < MOST_SLOW if host in self._slow else self._new < MOST_NEW

    def _count(self, place: Place) -> None:
        place.counts, place.is_new = True, place.host not in self._slow and not self.is_prompt(place.host)
        self._at_work += 1
        self._new += place.is_new
        self._of_host[place.host] += 1
        self._of_sender[place.sender] += 1

    def _forget(self, receiver: str) -> None:
        """Mark a receiver as slow."""
        host = self._prompt.pop(receiver, None)
        if host is not None:
            _decrease(self._prompt_of_host, host)

    def _begin_next(self) -> None:
        while (found := self._next()) is not None:
            place = Place(found.url, found.host, _sender(found.order), self._clock())
            self._count(place)
            self._begin(found.order, place)

    def _next(self) -> _Waiting | None:
        """Take the oldest order with a free place, of the owner and then the host with the fewest held."""
        oldest = self._clock() - WAITING_SECONDS
        for sender in sorted(self._waiting, key=lambda sender: self._of_sender[sender]):
            those = self._waiting[sender]
            while those and those[0].since <= oldest:
                those.popleft()
            ready = (one for one in those if self._has_place(one.host))
            found = min(ready, key=lambda one: self._of_host[one.host], default=None)
            if found is not None:
                those.remove(found)
            if not those:
                del self._waiting[sender]
            if found is not None:
                return found
        return None


def _sender(order: WebhookOrder) -> str:
    """Return the owner of a delivery: an agent, or the person who named its address."""
    return f"agent {order.address.agent}" if order.target == "agent" else f"owner {order.address.owner}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _decrease(counter: Counter[str], key: str) -> None:
    counter[key] -= 1
    if not counter[key]:
        del counter[key]
