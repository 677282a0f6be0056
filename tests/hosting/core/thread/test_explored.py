"""Every interleaving of two processes, the entity and their faults, over the real decisions: no promise is broken."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from tests.hosting.core.thread import weakened
from tests.hosting.core.thread.decisions import Decide, Decisions
from tests.hosting.core.thread.explorer import explored
from tests.hosting.core.thread.history import EVENTS
from tests.hosting.core.thread.scenarios import ONE, QUICK, TOOL, WHOLE, a, b, waits
from tests.hosting.core.thread.search import Searched
from tests.hosting.core.thread.world import Faults, World

STUCK = "what was promised cannot come about any more"

WEAKENED: dict[str, tuple[Decide, World, str]] = {
    "leases are not waited for": (
        weakened.without_leases,
        World((waits("A", "r1"), b("open", "r2")), Faults()),
        "a holder that works and has its lease loses its claim",
    ),
    "overlapping executions take each other's claims": (
        weakened.without_beginnings,
        World((a("open", "r1"),), Faults(overlaps=1)),
        "a holder that works and has its lease loses its claim",
    ),
    "tokens are not looked at": (
        weakened.without_tokens,
        World((waits("A", "r1"),), Faults(sleeps=1)),
        "a stale token appends",
    ),
    "a lost holder counts twice": (
        weakened.a_lost_holder_counts_twice,
        World((a("open", "r1"),), Faults(entity_deaths=2)),
        "run_crashed, though 2 of its holders were lost",
    ),
    "a result is no progress": (
        weakened.results_are_no_progress,
        World((a("open", "r1"),), Faults(entity_deaths=3), TOOL),
        "run_crashed, though 2 of its holders were lost",
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
    "a queued run that is cancelled ends at once": (
        weakened.cancelled_at_once,
        World((waits("A", "r1"), b("open", "r2"), b("cancel", "r2")), Faults()),
        "a run ends before one that was accepted earlier",
    ),
    "a cancel needs no signal": (
        weakened.without_signals,
        World((waits("A", "r1"), b("cancel", "r1")), Faults(deaths=1)),
        STUCK,
    ),
    "a paused run is claimed": (
        weakened.paused_is_claimed,
        World((b("pause", "r1"),), Faults(), calls=("r1",)),
        "a run is claimed that is paused",
    ),
    "an interrupted run that is let go of ends as a cancelled one": (
        weakened.interrupted_is_cancelled,
        World((waits("A", "r1"), b("open", "r2", busy="interrupt")), Faults(stops=1)),
        "a run that was begun and interrupted ends without what it said",
    ),
    "a thread that is being deleted takes runs": (
        weakened.accepted_while_deleting,
        World((waits("A", "r1"), b("delete"), b("open", "r2")), Faults()),
        "a run is accepted while its thread is being deleted",
    ),
    "a tombstone leaves the epoch": (
        weakened.tombstones_keep_the_epoch,
        World((waits("A", "r1"), b("delete")), Faults(entity_deaths=1)),
        STUCK,
    ),
    "approvals outlive a reset": (
        weakened.approvals_outlive_a_reset,
        World((waits("A", "r1"), b("reset"), b("answer", "r2", approval="a1")), Faults(), approvals=ONE),
        "an approval is decided twice, or while none waits",
    ),
    "a message is taken while approvals wait": (
        weakened.accepted_while_waiting,
        World((waits("A", "r1"), b("open", "r2")), Faults(), approvals=ONE),
        "a message is accepted while approvals wait",
    ),
    "a key is not looked at": (
        weakened.keys_are_not_looked_at,
        World((waits("A", "r1", "k"), b("open", "r2", key="k")), Faults()),
        "a row that is to be new is there: k",
    ),
}


WORLDS = {**QUICK, **WHOLE}


@cache
def searched_world(sentence: str) -> Searched:
    """Return what is found in that world, for all tests that look at it."""
    return explored(WORLDS[sentence])


def check(sentence: str, record_property: Any) -> None:
    """Explore, and record how far."""
    searched = searched_world(sentence)

    record_property("measured", f"explored: {sentence}: {searched}")
    assert searched.broken is None, str(searched)


@pytest.mark.slow
@pytest.mark.behaviour("thread.explored")
@pytest.mark.parametrize("sentence", QUICK)
def test_no_interleaving_breaks_a_promise(sentence: str, record_property: Any) -> None:
    """Each of them in a small world, so that every run of the tests sees it."""
    check(sentence, record_property)


@pytest.mark.slow
@pytest.mark.behaviour("thread.explored")
def test_the_worlds_see_every_kind_of_event() -> None:
    """But for words and model results, which are steps as a tool's are, and trims."""
    kinds = set()
    for sentence, world in QUICK.items():
        searched_world(sentence)
        kinds |= world.decide.appended()

    assert kinds == set(EVENTS)


@pytest.mark.behaviour("thread.explored")
@pytest.mark.parametrize("left_out", WEAKENED)
def test_a_rule_that_is_left_out_is_missed(left_out: str) -> None:
    """The explorer can fail: it finds what the rule is there for, by the shortest way."""
    decide, world, broken = WEAKENED[left_out]

    searched = explored(replace(world, decide=Decisions(decide)))

    assert searched.broken == broken, str(searched)
    assert explored(world).broken is None
