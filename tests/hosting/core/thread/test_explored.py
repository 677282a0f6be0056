"""Every interleaving of two processes, the entity and their faults, over the real `decide` and `fold`.

Theory. The state is small and canonical (`world`), decisions are made once (`decisions`), and what the events say is
told a second time apart from the head (`history`), so that a wrong head is seen. `search` finds the shortest way to a
broken promise, and the states from which a promise can never be kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from tests.hosting.core.thread import weakened
from tests.hosting.core.thread.callers import Callers
from tests.hosting.core.thread.decisions import Decide, Decisions
from tests.hosting.core.thread.entity import Entity
from tests.hosting.core.thread.history import EVENTS
from tests.hosting.core.thread.holders import Holders
from tests.hosting.core.thread.scenarios import LARGE, ONE, WORLDS, a, b, waits
from tests.hosting.core.thread.search import Search, Searched
from tests.hosting.core.thread.world import Faults, State, Step, World

pytestmark = pytest.mark.behaviour("thread.explored")

STUCK = "what was promised cannot come about any more"

WEAKENED: dict[str, tuple[Decide, World, str]] = {
    "leases are not waited for": (
        weakened.without_leases,
        World((waits("A", "r1"), b("open", "r2")), Faults()),
        "a holder that works and has its lease loses its claim",
    ),
    "tokens are not looked at": (
        weakened.without_tokens,
        World((waits("A", "r1"),), Faults(sleeps=1)),
        "a stale token appends",
    ),
    "a failed signal cancels whatever was attached": (
        weakened.without_attached,
        World((a("open", "r1", key="k"), b("open", "r2", key="k")), Faults(failed_signals=1)),
        "a run that somebody else was promised is cancelled by a failed signal",
    ),
    "a live claim counts as proof of a signal": (
        weakened.a_live_claim_is_proof,
        World((waits("A", "r1", "k"), b("open", "r2", key="k")), Faults(deaths=1)),
        STUCK,
    ),
    "a tombstone leaves the epoch": (
        weakened.tombstones_keep_the_epoch,
        World((waits("A", "r1"), b("delete")), Faults(entity_deaths=1)),
        STUCK,
    ),
    "a message is taken while approvals wait": (
        weakened.accepted_while_waiting,
        World((waits("A", "r1"), b("open", "r2")), Faults(), approvals=ONE),
        "a message is accepted while approvals wait",
    ),
}


def explored(world: World) -> Searched:
    """Return how many states the world has, and the first promise that is broken in one."""
    actors = (Callers(world), Holders(world), Entity(world))

    def steps(state: State) -> Iterator[Step]:
        for actor in actors:
            yield from actor.steps(state)

    return Search(world.first(), steps).run(world.is_over_now)


@cache
def searched_world(sentence: str) -> Searched:
    """Return what is found in that world, for all tests that look at it."""
    return explored(WORLDS[sentence])


@pytest.mark.parametrize(
    "sentence", [pytest.param(sentence, marks=[pytest.mark.slow] * (sentence in LARGE)) for sentence in WORLDS]
)
def test_no_interleaving_breaks_a_promise(sentence: str, record_property: Any) -> None:
    """Each of them in a small world, so that every run of the tests sees it."""
    searched = searched_world(sentence)

    record_property("measured", f"explored: {sentence}: {searched}")
    assert searched.broken is None, str(searched)


@pytest.mark.slow
def test_the_worlds_see_every_kind_of_event() -> None:
    """But for words and model results, which are steps as a tool's are, and trims."""
    kinds = set()
    for sentence, world in WORLDS.items():
        searched_world(sentence)
        kinds |= world.decide.appended()

    assert kinds == set(EVENTS)


@pytest.mark.parametrize("left_out", WEAKENED)
def test_a_rule_that_is_left_out_is_missed(left_out: str) -> None:
    """The explorer can fail: it finds what the rule is there for, by the shortest way."""
    decide, world, broken = WEAKENED[left_out]

    searched = explored(replace(world, decide=Decisions(decide)))

    assert searched.broken == broken, str(searched)
    assert explored(world).broken is None
