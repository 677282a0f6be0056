"""A lease as its holder knows it."""

import pytest

from hosting.address import Address
from hosting.attachments.memory import MemoryAttachments
from hosting.runner.journal import Journal
from hosting.runner.lease import Lease
from hosting.steps.step_journal import StaleAttemptError
from hosting.stores.memory import MemoryThreadStore
from hosting.stores.thread_log import ThreadLog
from hosting.thread.commands import Claim
from hosting.thread.run import run_record
from tests.support.threads import accept, terms

ADDRESS = Address.of("Helper", "t1")


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.behaviour("runner.lease")
def test_a_lease_that_was_not_renewed_in_time_is_lost() -> None:
    """By the holder's own clock, which goes on while the machine sleeps."""
    clock = Clock()
    lease = Lease(20.0, clock)
    clock.now += 19.9
    held = lease.is_held
    clock.now += 0.1

    assert (held, lease.is_held) == (True, False)


@pytest.mark.behaviour("runner.lease")
def test_a_lease_counts_from_before_the_append_that_renewed_it() -> None:
    """Its answer may have taken long."""
    clock = Clock()
    lease = Lease(20.0, clock)
    clock.now += 10
    began_at = lease.begin()
    clock.now += 9
    lease.renew(began_at)
    clock.now += 10.9

    assert lease.is_held
    clock.now += 0.2
    assert not lease.is_held


@pytest.mark.behaviour("runner.lease")
async def test_a_holder_that_slept_past_its_lease_calls_nothing_before_it_knows_that_it_holds_the_run() -> None:
    """A watcher may have taken the run over meanwhile; then nothing more is done."""
    clock = Clock()
    log = ThreadLog(MemoryThreadStore("hub"), MemoryAttachments(), "hub")
    await log.ask(ADDRESS, accept("r1", claimed=True), is_new=True)
    record = run_record("r1", await log.events(ADDRESS, 0))
    assert record is not None
    journal = Journal(log, ADDRESS, record, "token-r1", Lease(20.0, clock), told=lambda asked: None)
    clock.now += 30
    await journal.append_here()
    renewed = journal.lease.is_held
    head = await log.head(ADDRESS)
    await log.ask(ADDRESS, Claim(0.0, terms("e1", "entity"), silent=head.append_id))
    clock.now += 30

    with pytest.raises(StaleAttemptError):
        await journal.append_here()

    assert renewed
