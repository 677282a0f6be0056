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

QUICK = {
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

WHOLE = {
    "a caller waits and another repeats its key; signals fail and answers of appends are lost": World(
        (waits("A", "r1", "k"), b("open", "r2", key="k")),
        Faults(deaths=1, entity_deaths=1, sleeps=1, failed_signals=1, lost_answers=1),
        TOOL,
    ),
    "a key that a failed signal freed is used by two": World(
        (a("open", "r1", key="k"), b("open", "r2", key="k"), waits("A", "r3", "k")),
        Faults(deaths=1, entity_deaths=1, failed_signals=2, lost_answers=1),
    ),
    "three runs stand in line, and two processes die": World(
        (waits("A", "r1"), waits("B", "r2"), waits("B", "r3")), Faults(deaths=2, sleeps=1, lost_answers=1), TOOL
    ),
    "operations die, overlap and return while two runs are open": World(
        (a("open", "r1"), waits("B", "r2")), Faults(entity_deaths=1, sleeps=1, overlaps=1, repeats=1, returns=1), TOOL
    ),
    "a run loses processes, is released and tried again": World(
        (waits("A", "r1"), b("open", "r2")),
        Faults(deaths=1, entity_deaths=2, sleeps=1, stops=1, failures=1, lost_answers=1),
        TOOL,
    ),
    "messages join a run that is reset, interrupted or loses its process": World(
        (
            waits("A", "r1"),
            b("open", "r2", busy="steer"),
            b("reset"),
            a("open", "r3", waits=True, busy="interrupt"),
        ),
        Faults(deaths=1, lost_answers=1),
        TOOL,
    ),
    "an interrupted run loses processes, fails, and was cancelled before": World(
        (waits("A", "r1"), b("open", "r2", waits=True, busy="interrupt"), a("cancel", "r1")),
        Faults(deaths=1, entity_deaths=1, stops=1, failures=1),
        TOOL,
    ),
    "a run is paused twice and resumed, and two wait behind it": World(
        (waits("A", "r1"), a("open", "r2"), b("pause", "r1"), b("resume", "r1"), a("pause", "r1"), b("resume", "r1")),
        Faults(deaths=1),
        TOOL,
        sweeps=True,
    ),
    "a thread is reset twice": World(
        (a("open", "r1"), waits("A", "r2"), b("reset"), a("reset")), Faults(deaths=1, failed_signals=1, sleeps=1)
    ),
    "a thread is deleted and begun again; signals of its older life come late and twice": World(
        (waits("A", "r1"), b("delete"), waits("B", "r2")), Faults(deaths=1, overlaps=1, repeats=1)
    ),
    "a thread is deleted in two lives": World(
        (waits("A", "r1"), a("delete"), b("open", "r2"), b("delete")), Faults(deaths=1, entity_deaths=1)
    ),
    "a key is repeated and its run cancelled while the thread is deleted": World(
        (waits("A", "r1", "k"), b("delete"), b("open", "r2", key="k"), a("cancel", "r1")),
        Faults(deaths=1, lost_answers=1, failed_signals=1),
    ),
    "a call that brings its run is delivered again and overlaps, and the thread is deleted": World(
        (b("delete"), waits("B", "r2")), Faults(entity_deaths=1, overlaps=1), TOOL, calls=("r1",)
    ),
    "two approvals are answered from two processes, the last one twice": World(
        (
            waits("A", "r1"),
            a("answer", "r2", waits=True, approval="a1"),
            b("answer", "r3", waits=True, approval="a2"),
            a("answer", "r3", approval="a2"),
        ),
        Faults(deaths=1, entity_deaths=1, failed_signals=1, lost_answers=1),
        approvals=TWO,
    ),
    "an approval is answered while the thread is deleted": World(
        (waits("A", "r1"), b("answer", "r3", waits=True, approval="a1"), a("answer", "r3", approval="a1"), b("delete")),
        Faults(deaths=1, entity_deaths=1, failed_signals=1),
        approvals=ONE,
    ),
}
