"""Runs whose process is killed at one of its appends, and the attempts of other processes that end them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from agent_framework import Agent

from hosting.core.thread.events import ToolResult, ToolStarted
from hosting.core.thread.run_request import RunRequest
from tests.support.cluster.cluster import AppProcess, Cluster
from tests.support.cluster.life import DiedError

GO = RunRequest(message="go")
# Appends: the claim; a model's answer with the begin of the call that it asks for; the call's end; and so on.
AFTER_A_BEGIN, AFTER_A_TOOL, AFTER_TWO_TOOLS = 2, 3, 5


def die_at(process: AppProcess, number: int, when: str = "after") -> None:
    """Have a process die at its n-th append from now, before it or after it."""
    append, left = process.store.append, number

    async def counted(*given: Any) -> Any:
        nonlocal left
        left -= 1
        if not left and when == "before":
            process.die()
        outcome = await append(*given)
        if not left:
            process.die()
        return outcome

    process.store.append = counted  # type: ignore[method-assign]


async def killed_at(process: AppProcess, run_id: str, number: int, when: str = "after") -> None:
    """Have a process do the run until its n-th append, where it is killed."""
    die_at(process, number, when)
    with pytest.raises(DiedError):
        await process.deliver(run_id)


@dataclass(frozen=True)
class Ended:
    """How a run ended that was killed, what the outside counted after the kill, and the calls that it began."""

    terminal: dict[str, Any]
    done_after: Counter[str]
    begun: list[str]
    interrupted: list[str]


async def killed_and_finished(
    agent: Agent[Any],
    counted: Counter[str],
    *,
    request: RunRequest = GO,
    appends: int = AFTER_TWO_TOOLS,
    streamed: bool = False,
) -> Ended:
    """Kill the run once it has appended so often, and let another process end it."""
    cluster = Cluster(lambda: agent)
    one, other = cluster.process(), cluster.process()
    await one.open(run_id="r-1", request=request, streamed=streamed)
    await killed_at(one, "r-1", appends)
    await one.loop.lifespans.close()
    before = Counter(counted)
    await other.deliver("r-1")
    events = await other.run_events("r-1")
    terminal = (await other.terminal("r-1")).model_dump(mode="json")
    await other.loop.lifespans.close()
    await cluster.close()
    begun = [event.name for event in events if isinstance(event, ToolStarted)]
    interrupted = [event.key for event in events if isinstance(event, ToolResult) and event.interrupted]
    return Ended(terminal, counted - before, begun, interrupted)


def counting() -> tuple[Counter[str], Callable[[str], None]]:
    """Return a count, and what counts into it: whatever is noted, without the key of a call."""
    counted: Counter[str] = Counter()
    return counted, lambda what: counted.update([what.partition(" r-")[0]])
