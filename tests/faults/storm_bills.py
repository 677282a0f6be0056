"""Orchestrations in a storm: each has an agent charge once, and is started and asked for at whichever host is there."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import httpx

from tests.faults.storm import INTERRUPTED
from tests.faults.storm_clients import GUARD_SECONDS
from tests.support.grouped_app import GroupHost

INSTANCES = "/runtime/webhooks/durabletask/instances/{}"
START = "/runtime/webhooks/durabletask/orchestrators/bill/{}"
_LONGEST_PAUSE_SECONDS = 0.3


class Bills:
    """Orchestrations of ids that no other has; HTTP hosts take them, whether a durable one is there or not."""

    def __init__(self, hosts: Sequence[GroupHost]) -> None:
        self._hosts = hosts
        self.names: list[str] = []

    async def start(self, chance: random.Random, count: int) -> None:
        """Start so many, one behind another at times that chance chooses."""
        async with httpx.AsyncClient(timeout=GUARD_SECONDS) as http:
            for number in range(count):
                name = f"bill-{number}-{chance.getrandbits(32):08x}"
                self.names.append(name)
                answer = await http.post(chance.choice(self._hosts).origin + START.format(name))
                assert answer.status_code == 202, answer.text
                await asyncio.sleep(chance.uniform(0, _LONGEST_PAUSE_SECONDS))

    async def wrong(self, charges: Path) -> list[str]:
        """Say which have no end, or another than theirs, or charged more than once, or not though they say so."""
        async with httpx.AsyncClient(base_url=self._hosts[0].origin, timeout=GUARD_SECONDS) as http:
            outputs = {name: await _output(http, name) for name in self.names}
        charged = Counter(charges.read_text(encoding="utf-8").split())
        print(f"{len(outputs)} orchestrations, {sum(charged[name] for name in outputs)} of them charged")
        return [
            f"{name} ended with {output!r} and was charged {charged[name]} times"
            for name, output in outputs.items()
            if (output, charged[name]) != (f"charged {name}", 1) and not (output in INTERRUPTED and charged[name] < 2)
        ]


async def _output(http: httpx.AsyncClient, name: str) -> str:
    """Return the output of an instance once it has ended, its whole status if that is no success, under the guard."""
    end = time.monotonic() + GUARD_SECONDS
    while (answer := await http.get(INSTANCES.format(name))).status_code == 202:
        assert time.monotonic() < end, answer.text
        await asyncio.sleep(0.05)
    status = answer.json()
    return str(status["output"] if status["runtimeStatus"] == "Completed" else status)
