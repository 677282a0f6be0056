"""A run whose process is killed between its model's thoughts and its text, at every append and on both sides of it."""

from __future__ import annotations

from typing import Any

import pytest

from hosting.core.broadcast import LoggedEvent
from hosting.core.thread.events import Completed, RunEvent
from hosting.features.responses.fold import ResponseFold
from hosting.names import Address
from hosting.options import Reasoning
from tests.support.cluster.cluster import THREAD, AppProcess, Cluster
from tests.support.cluster.life import DiedError
from tests.support.killed_runs import die_at
from tests.support.run_events import run_of
from tests.support.thinker import SEALED, Thinker, thinker, thoughts_sent

pytestmark = pytest.mark.moved_time

MOST_APPENDS = 20
PARTS = {"reasoning": "summary", "message": "content"}


async def killed(reasoning: Reasoning, number: int, when: str, message: str) -> tuple[Thinker, AppProcess] | None:
    """Kill a streamed run at that append, and have another process end it; None if it has fewer appends."""
    model = Thinker()
    registered = {"reasoning": reasoning}
    cluster = Cluster(lambda: thinker(model), settings={"AGENT_STREAM_BATCH_SECONDS": "0"}, registered=registered)
    one, other = cluster.process(), cluster.process()
    run_id = await one.open(message, streamed=True)
    die_at(one, number, when)
    try:
        await one.deliver(run_id)
    except DiedError:
        await other.deliver(run_id)
        return model, other
    return None


async def output_of(app: AppProcess) -> list[Any]:
    """Return the thoughts and the texts of the run, as they are read of its log."""
    events = await app.log.events(Address.of("Joker", THREAD), 0)
    updates = [LoggedEvent(position, event) for position, event in events if isinstance(event, RunEvent)]
    assert isinstance(updates[-1].event, Completed), updates[-1].event
    fold = ResponseFold("Joker", run_of(updates))
    for update in updates:
        fold.next(update)
    return [item[PARTS[item["type"]]][0]["text"] for item in fold.output() if item["type"] in PARTS]


@pytest.mark.behaviour("reasoning.killed")
@pytest.mark.behaviour("reasoning.dropped")
@pytest.mark.parametrize("reasoning", ["show", "drop"])
async def test_wherever_its_process_is_killed_each_thought_is_shown_once(reasoning: Reasoning) -> None:
    """Where it stood, and the model gets it back with what its provider sealed; or not at all, if thoughts are dropped.

    The records of a run that drops them are found again, though they lack what the model thought.
    """
    drops, kills = reasoning == "drop", 0
    expected = ["A door."] if drops else ["Let me look.", "It is a door.", "A door."]
    for when in ("before", "after"):
        for number in range(1, MOST_APPENDS):
            ended = await killed(reasoning, number, when, "look again" if drops else "look")
            if ended is None:
                break
            kills += 1
            model, app = ended
            stored = b"".join(event.payload for event in await app.store.events(Address.of("Joker", THREAD), 0))
            assert await output_of(app) == expected
            assert drops or thoughts_sent(model.sent[-1]) == [("Let me look.", SEALED)]
            assert drops != any(text in stored for text in (b"Let me", b"It is a", SEALED.encode()))
    assert kills > 4
