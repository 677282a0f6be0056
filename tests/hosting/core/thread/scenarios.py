"""What two callers ask of one thread, and the faults that may befall it: a sentence and its world each."""

from __future__ import annotations

from tests.hosting.core.thread.world import Faults, Request, World


def a(asks: str, run: str = "", **details: object) -> Request:
    """Return what is asked of the process A."""
    return Request("A", asks, run, **details)  # type: ignore[arg-type]


def b(asks: str, run: str = "", **details: object) -> Request:
    """Return what is asked of the process B."""
    return Request("B", asks, run, **details)  # type: ignore[arg-type]


def waits(process: str, run: str, key: str | None = None) -> Request:
    """Return a request whose caller waits for its run."""
    return Request(process, "open", run, True, key)


TOOL = frozenset({"r1"})
ONE, TWO = {"r1": ("a1",)}, {"r1": ("a1", "a2")}

WORLDS = {
    "a caller waits, and its process dies, sleeps or is stopped": World(
        (waits("A", "r1"),), Faults(deaths=1, sleeps=1, stops=1, entity_deaths=1, returns=1), TOOL
    ),
    "a run of several attempts is handed on by its caller's process and by its entity": World(
        (waits("A", "r1"), b("open", "r2")), Faults(stops=2, entity_deaths=1), TOOL
    ),
    "two callers wait in two processes": World((waits("A", "r1"), waits("B", "r2")), Faults(deaths=1, sleeps=1), TOOL),
    "an operation dies again and again": World((a("open", "r1"),), Faults(entity_deaths=3, sleeps=1, repeats=1), TOOL),
    "two executions of an operation overlap": World((a("open", "r1"),), Faults(overlaps=2, sleeps=1), TOOL),
    "a key is repeated, and the first signal fails": World(
        (waits("A", "r1", "k"), b("open", "r2", key="k")), Faults(deaths=1, failed_signals=1), TOOL
    ),
    "a run fails and is tried again, or is given up": World(
        (waits("A", "r1"), b("give up", "r1")), Faults(deaths=1, failures=2, lost_answers=1), TOOL
    ),
    "a run waits for too long, and may be claimed at that moment": World(
        (waits("A", "r1"), waits("B", "r2"), a("end its waiting", "r2")), Faults(deaths=1, stops=1)
    ),
    "a receipt is settled while the thread is begun again": World(
        (a("open", "r1"), b("delete"), b("open", "r2"), a("settle")), Faults(entity_deaths=1)
    ),
    "a run is cancelled from another process": World(
        (waits("A", "r1"), b("cancel", "r1")), Faults(deaths=1, failed_signals=1, sleeps=1), TOOL
    ),
    "a run is interrupted from another process": World(
        (waits("A", "r1"), b("open", "r2", waits=True, busy="interrupt")),
        Faults(deaths=1, stops=1, failed_signals=1),
        TOOL,
    ),
    "a message joins a run of another process, and is cancelled": World(
        (waits("A", "r1"), b("open", "r2", waits=True, busy="steer"), a("cancel", "r2")),
        Faults(deaths=1, sleeps=1),
        TOOL,
    ),
    "a run that ends in approvals is rolled back from another process": World(
        (waits("A", "r1"), b("open", "r2", busy="rollback")), Faults(deaths=1, sleeps=1), approvals=ONE
    ),
    "a run is paused and resumed from another process": World(
        (waits("A", "r1"), b("pause", "r1"), a("resume", "r1")), Faults(sleeps=1, stops=1), TOOL
    ),
    "processes that pause and resume a run, and the one that has it, die": World(
        (waits("A", "r1"), b("pause", "r1"), b("resume", "r1")), Faults(deaths=2, entity_deaths=1), TOOL, sweeps=True
    ),
    "a paused run is cancelled, and another waits behind it": World(
        (a("open", "r1"), a("open", "r2"), b("pause", "r1"), b("cancel", "r1")), Faults(stops=1)
    ),
    "a run is paused, resumed and cancelled at once": World(
        (a("open", "r1"), a("pause", "r1"), b("resume", "r1"), b("cancel", "r1")), Faults(repeats=1)
    ),
    "a thread is reset while a run is open": World((waits("A", "r1"), b("reset")), Faults(deaths=1, entity_deaths=1)),
    "a thread is deleted and begun again": World((waits("A", "r1"), b("delete"), b("open", "r2")), Faults(deaths=1)),
    "two approvals are answered from two processes": World(
        (waits("A", "r1"), a("answer", "r2", approval="a1"), b("answer", "r3", waits=True, approval="a2")),
        Faults(deaths=1),
        approvals=TWO,
    ),
}

LARGE = {
    "a caller waits, and its process dies, sleeps or is stopped",
    "a run of several attempts is handed on by its caller's process and by its entity",
    "two callers wait in two processes",
    "a run fails and is tried again, or is given up",
    "a run waits for too long, and may be claimed at that moment",
    "a receipt is settled while the thread is begun again",
    "a run is interrupted from another process",
    "a message joins a run of another process, and is cancelled",
    "a run is paused and resumed from another process",
    "processes that pause and resume a run, and the one that has it, die",
    "a paused run is cancelled, and another waits behind it",
}
"""Those that take half a second and more to search."""
