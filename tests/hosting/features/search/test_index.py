"""The stored words of threads, whichever process dies at which call, and whatever others do between any two calls."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator

import pytest

from hosting.core.thread.commands import AcceptRun, Change, Continuation
from hosting.core.thread.events import Accepted
from hosting.core.thread.run_request import RunRequest
from hosting.features.search.feature import SearchFeature
from hosting.features.search.index import WordIndex
from hosting.features.search.thread_words import MOST_WORDS, ThreadWords
from hosting.features.search.words import searched_words
from hosting.http.rewinding import Rewinding
from tests.support.mortal import AGENT, ORIGIN, DiedError, Interrupted, Life, MortalProcess, World

CANARY = "canary77aa"
SEARCHED = f"{AGENT.lower()}.search"


@pytest.fixture
def world() -> Iterator[World]:
    world = World()
    yield world
    world.loop.close()


class Searching:
    """A process of an app that has the search."""

    def __init__(self, world: World, life: Life | None = None) -> None:
        self.process: MortalProcess = world.process(life)
        parts = self.process.services
        parts.thread_data.append(SearchFeature(parts.cells, parts.log, parts.threads, parts.stores).thread_data())
        self.index = WordIndex(parts.cells, parts.threads, parts.stores)

    async def update(self, mark: str = "m") -> ThreadWords | None:
        return await self.index.updated(ORIGIN, mark, self.process.engine)


def has(words: ThreadWords | None, search: str) -> bool:
    return words is not None and words.entry_of(searched_words(search)) is not None


def stored(world: World) -> bytes:
    parts = list[bytes]()
    for (_, key), thread in world.threads.threads.items():
        if SEARCHED in key:
            parts += [
                b"" if thread.head is None else thread.head.payload,
                *(text for _, text in thread.events.values()),
            ]
    return b"".join(parts)


async def died(work: Awaitable[object]) -> bool:
    try:
        await work
    except DiedError:
        return True
    return False


def many_words(count: int) -> str:
    """Return a text of so many words, which does not compress well."""
    return " ".join(f"w{number * 7_919_993 % 100_000_007:x}" for number in range(count))


async def fill(world: World) -> None:
    process = world.process()
    await process.say(f"First {CANARY}")
    for number in range(4):
        await process.say(f"message {number} {'x' * 600}")


@pytest.mark.behaviour("search.exact")
@pytest.mark.parametrize("is_done", [False, True])
async def test_a_process_that_dies_while_it_reads_a_thread_loses_nothing(world: World, is_done: bool) -> None:
    """Before or after any of its calls: the next one has all words, and after a deletion none is left."""
    await fill(world)
    ends_at, is_over = 0, False
    while not is_over:
        ends_at += 1
        other = world.again()
        is_over = not await died(Searching(other, Life(ends_at, is_done=is_done)).update())
        words = await Searching(other).update()
        assert (has(words, CANARY), has(words, "message 3")) == (True, True), ends_at
        assert CANARY.encode() in stored(other), ends_at
        await Searching(other).process.delete(ORIGIN)
        assert stored(other) == b"", ends_at

    assert ends_at > 6


@pytest.mark.behaviour("search.forgotten")
@pytest.mark.parametrize("is_done", [False, True])
@pytest.mark.parametrize("forget", [MortalProcess.delete, MortalProcess.reset])
async def test_a_process_that_dies_while_it_forgets_a_thread_leaves_no_word(
    world: World, forget: Callable[..., Awaitable[None]], is_done: bool
) -> None:
    await fill(world)
    await world.process().say(many_words(12_000))
    await Searching(world).update()
    assert len(stored(world)) > 40 * 1024
    ends_at, is_over = 0, False
    while not is_over:
        ends_at += 1
        other = world.again()
        is_over = not await died(forget(Searching(other, Life(ends_at, is_done=is_done)).process, ORIGIN))
        survivor = Searching(other).process
        head = await survivor.services.log.head(ORIGIN)
        if head.state == "open" and not head.resets:
            continue  # nobody was promised anything
        await survivor.deliver(
            "origin",
            *(("delete", {"logged": True}) if head.state != "open" else ("reset", {"position": head.reset_at})),
        )
        assert stored(other) == b"", ends_at

    assert ends_at > 6


@pytest.mark.behaviour("search.forgotten")
@pytest.mark.parametrize("forget", [MortalProcess.delete, MortalProcess.reset])
@pytest.mark.parametrize("is_known", [False, True])
async def test_a_thread_that_is_forgotten_while_it_is_read_leaves_no_word(
    world: World, forget: Callable[..., Awaitable[None]], is_known: bool
) -> None:
    await fill(world)
    if is_known:
        await Searching(world).update("earlier")
    calls, reached = 0, True
    while reached:
        calls += 1
        other, done = world.again(), list[bool]()

        async def meanwhile(other: World = other, done: list[bool] = done) -> None:
            await forget(Searching(other).process, ORIGIN)
            done.append(True)

        await Searching(other, Interrupted(calls, meanwhile)).update()
        reached = bool(done)
        assert (CANARY.encode() in stored(other)) != reached, calls

    assert calls > 5


@pytest.mark.behaviour("search.bounds")
async def test_of_a_thread_that_goes_on_only_the_newer_entries_are_read(world: World) -> None:
    """However long it is: those that the archive has by then cost a call more, and the others none."""
    calls = list[int]()
    for turns in (4, 12, 24):
        for number in range(turns):
            await world.process().say(f"message {number} {'x' * 600}")
        await Searching(world).update(f"{turns}")
        await world.process().say("one more")
        life = Life()
        words = await Searching(world, life).update(f"{turns} and one")
        calls.append(life.calls)
        assert (has(words, "one more"), has(words, "message 0")) == (True, True)

    assert calls[1] == calls[2] <= calls[0] + 2


@pytest.mark.behaviour("search.words")
async def test_words_of_a_replaced_turn_are_not_found(world: World) -> None:
    process = world.process()
    await process.say("apples")
    replaced = await process.say("bananas")
    await Searching(world).update("1")
    log = process.services.log
    view = await process.services.threads.view(ORIGIN, process.engine)
    event = Rewinding(process.services.archiver).before(view, replaced, [replaced], 1.0)
    accepted = Accepted(
        at=1.0, run_id="new", agent=AGENT, thread_id="origin", fingerprint="f", request=RunRequest(message="cherries")
    )
    continues = Continuation.of(await log.head(ORIGIN), event)
    decided = await log.execute(ORIGIN, AcceptRun(accepted, 10, continues=continues))
    assert isinstance(decided.outcome, Change)
    await process.deliver("origin", "run", {"run_id": "new", "logged": True})
    words = await Searching(world).update("2")

    assert [has(words, fruit) for fruit in ("apples", "bananas", "cherries")] == [True, False, True]
    assert b"bananas" not in stored(world)


@pytest.mark.behaviour("search.bounds")
async def test_of_too_many_words_those_of_the_newest_messages_are_kept(world: World) -> None:
    process, size = world.process(), list[int]()
    for start in range(2):
        await process.say(" ".join(f"w{start}x{number}" for number in range(MOST_WORDS * 2 // 3)))
        words = await Searching(world).update(f"{start}")
        size.append(len(stored(world)))
    again = await Searching(world).index.read(ORIGIN)

    assert words is not None
    assert (again.spoken, again.titled) == (words.spoken, words.titled)
    assert has(words, f"w1x{MOST_WORDS * 2 // 3 - 1} ")
    assert len(words.positions()) == MOST_WORDS
    assert size[1] < 2 * size[0]
