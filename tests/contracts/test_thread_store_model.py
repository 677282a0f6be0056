"""Every store of threads' logs answers random lives of threads as a simple model does."""

import asyncio
import uuid

import pytest
from hypothesis import example, given, settings

from hosting.core.stores.contract import Append, Appended, Conflict, Row, StoredHead, ThreadStore
from hosting.names import Address
from tests.contracts.thread_appends import behind, whole
from tests.contracts.thread_model import NAMES, STEPS, Clear, ModelThread, Repeat, Step, Write
from tests.contracts.thread_stores import Threads

THREADS = (Address("joker", "one"), Address("joker", "two"))


@pytest.mark.slow
@pytest.mark.behaviour("log.compare-and-append")
@pytest.mark.behaviour("log.stale-never-writes")
def test_a_store_does_what_the_model_does(threads: Threads) -> None:
    """Appends that are new, stale or repeated, between trims, erasures and new lives, of two threads in two views."""

    @settings(deadline=None, max_examples=threads.backend.examples)
    @given(STEPS)
    @example([Write(0, 0, 2, ()), Clear(0, "erase", 1), Write(0, 0, 0, ()), Repeat(0, 1)])
    def answer_as_the_model(steps: list[Step]) -> None:
        asyncio.run(compare(threads, steps))

    answer_as_the_model()


async def compare(threads: Threads, steps: list[Step]) -> None:
    """Take the steps in a hub of their own; after each, what the store holds is what the model holds."""
    hub = f"h{uuid.uuid4().hex}"
    views = [threads.backend.open(threads.place, hub) for _ in range(2)]
    models = [ModelThread() for _ in THREADS]
    for number, step in enumerate(steps):
        model, store = models[step.thread], views[number % 2]
        if isinstance(step, Clear):
            await clear(store, model, step)
        else:
            await append(store, model, step)
        for address, expected in zip(THREADS, models, strict=True):
            head, events, rows = await whole(views[0], NAMES, address)
            assert (head, rows) == (expected.head, [expected.rows.get(name) for name in NAMES])
            assert expected.shows(events)
    for store in views:
        await store.close()


async def append(store: ThreadStore, model: ModelThread, step: Write | Repeat) -> None:
    """Give an append, or one that was given before, and compare what became of it."""
    if isinstance(step, Repeat):
        if not model.given:
            return
        known, given = model.given[-1 - step.back % len(model.given)]
    else:
        known = model.heads[-1 - step.stale % len(model.heads)]
        given = made(known, step)
        model.given.append((known, given))
    outcome = await store.append(THREADS[step.thread], known, given)
    if model.takes(known, given) and not (isinstance(outcome, Conflict) and model.may_deny(given)):
        assert isinstance(outcome, Appended)
        assert outcome.head.append_id == given.head.append_id
    else:
        assert outcome == Conflict(model.head)
    model.apply(known, given, outcome)


def made(known: StoredHead | None, step: Write) -> Append:
    """Return the step's append behind that head."""
    position = (known.position if known is not None else 0) + step.events
    rows = tuple(Row(name, max(position, 1), b"row", is_new) for name, is_new in step.rows)
    return behind(known, *(f"event {n}".encode() for n in range(step.events)), rows=rows)


async def clear(store: ThreadStore, model: ModelThread, step: Clear) -> None:
    """Trim, erase, or forget what is erased."""
    address, head = THREADS[step.thread], model.head
    through = max((head.position if head is not None else 0) - step.back, 0)
    if step.verb == "trim":
        await store.trim(address, through, through - 1)
        model.trim(through, through - 1)
    elif step.verb == "erase":
        await store.erase(address, through)
        model.erase(through)
    elif head is not None:
        await store.erase(address, head.position)
        assert await store.forget(address, head)
        model.forget()
