"""Words of threads, in the app's index and in an engine, whichever process dies at which call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from hosting.core.thread.commands import AcceptRun, Change, Continuation
from hosting.core.thread.events import Accepted
from hosting.core.thread.run_request import RunRequest
from hosting.features.search.engine_search import EngineIndex
from hosting.features.search.feature import SearchFeature
from hosting.features.search.handed import Debts, handed_cell
from hosting.features.search.index import WordIndex
from hosting.features.search.thread_words import MOST_WORDS, ThreadWords
from hosting.features.search.words import searched_words
from hosting.http.rewinding import Rewinding
from tests.support.mortal import AGENT, ORIGIN, DiedError, Interrupted, Life, Mortal, MortalProcess, World
from tests.support.simple_engine import SimpleEngine

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


LATER_SECONDS = 60.0
"""After so long nobody hands over what a process was about to hand over before."""


class Handing:
    """A process of an app that has an engine."""

    def __init__(self, world: World, engine: SimpleEngine | None, life: Life | None = None) -> None:
        life = life or Life()
        self.process: MortalProcess = world.process(life)
        parts = self.process.services
        mortal: Any = None if engine is None else Mortal(life, engine)
        self.feature = SearchFeature(parts.cells, parts.log, parts.threads, parts.stores, mortal)
        parts.thread_data.append(self.feature.thread_data())
        self.handed = self.feature._handed
        self.index = EngineIndex(self.handed, self.feature._index, parts.threads, parts.stores)

    async def update(self, mark: str = "m") -> ThreadWords | None:
        return await self.index.updated(ORIGIN, mark, self.process.engine)

    async def upkeep(self) -> None:
        await Debts(self.handed).run(None)
        await self.handed.close()


class Scene:
    """A world, its engine, and what outlives processes."""

    def __init__(self, world: World, engine: SimpleEngine) -> None:
        self.world, self.engine = world, engine

    def again(self) -> Scene:
        """Return another one in which everything stands as it stands here now."""
        engine = SimpleEngine()
        engine.texts = dict(self.engine.texts)
        return Scene(self.world.again(), engine)

    def process(self, life: Life | None = None) -> Handing:
        return Handing(self.world, self.engine, life)

    async def owed(self) -> tuple[list[Any], bool]:
        """Return the debts, and whether there is still a cell of the thread."""
        debts = await self.process().handed.debts()
        return debts, await self.world.log().head(handed_cell(ORIGIN).address) is not None

    def has(self, text: str) -> bool:
        return any(text in each for each in self.engine.texts.values())


@pytest.fixture
async def scene() -> Any:
    world = World()
    await world.process().say(f"First {CANARY}")
    for number in range(4):
        await world.process().say(f"message {number} {'x' * 600}")
    yield Scene(world, SimpleEngine())
    world.loop.close()


@pytest.mark.behaviour("search.engine-exact")
@pytest.mark.parametrize("is_done", [False, True])
async def test_a_process_that_dies_while_it_hands_over_loses_nothing_and_leaves_nothing(
    scene: Scene, is_done: bool
) -> None:
    """Before or after any of its calls: the next one hands over all of it, and a deletion takes all of it back."""
    whole = scene.again()
    await whole.process().update()
    ends_at, is_over = 0, False
    while not is_over:
        ends_at += 1
        other = scene.again()
        is_over = not await died(other.process(Life(ends_at, is_done=is_done)).update())
        deleted = other.again()
        other.world.clock.now += LATER_SECONDS
        words = await other.process().update()
        assert words is not None
        assert words.extent.mark == "m", ends_at
        assert other.engine.texts == whole.engine.texts, ends_at

        await deleted.process().process.delete(ORIGIN)
        deleted.world.clock.now += LATER_SECONDS
        await deleted.process().upkeep()
        assert (deleted.engine.texts, await deleted.owed()) == ({}, ([], False)), ends_at

    assert ends_at > 8


@pytest.mark.behaviour("search.engine-forgotten")
@pytest.mark.parametrize("is_done", [False, True])
@pytest.mark.parametrize("forget", [MortalProcess.delete, MortalProcess.reset])
async def test_a_process_that_dies_while_it_forgets_leaves_nothing_in_the_engine(
    scene: Scene, forget: Callable[..., Awaitable[None]], is_done: bool
) -> None:
    await scene.process().update()
    ends_at, is_over = 0, False
    while not is_over:
        ends_at += 1
        other = scene.again()
        is_over = not await died(forget(other.process(Life(ends_at, is_done=is_done)).process, ORIGIN))
        survivor = other.process().process
        head = await survivor.services.log.head(ORIGIN)
        if head.state == "open" and not head.resets:
            continue  # nobody was promised anything
        await survivor.deliver(
            "origin",
            *(("delete", {"logged": True}) if head.state != "open" else ("reset", {"position": head.reset_at})),
        )
        await other.process().upkeep()
        assert (other.engine.texts, await other.owed()) == ({}, ([], False)), ends_at

    assert ends_at > 8


@pytest.mark.behaviour("search.engine-forgotten")
@pytest.mark.parametrize("forget", [MortalProcess.delete, MortalProcess.reset])
@pytest.mark.parametrize("is_known", [False, True])
async def test_a_thread_that_is_forgotten_while_it_is_handed_over_leaves_nothing_in_the_engine(
    scene: Scene, forget: Callable[..., Awaitable[None]], is_known: bool
) -> None:
    """By another process, between any two calls of the one that hands over: also what comes to the engine later."""
    if is_known:
        await scene.process().update("earlier")
        await scene.world.process().say("one more")
    calls, reached = 0, True
    while reached:
        calls += 1
        other, done = scene.again(), list[bool]()

        async def meanwhile(other: Scene = other, done: list[bool] = done) -> None:
            await forget(other.process().process, ORIGIN)
            done.append(True)

        await other.process(Interrupted(calls, meanwhile)).update()
        reached = bool(done)
        other.world.clock.now += LATER_SECONDS
        await other.process().upkeep()
        assert other.has(CANARY) != reached, calls
        assert (await other.owed())[0] == [], calls

    assert calls > 5


@pytest.mark.behaviour("search.engine-forgotten")
async def test_an_engine_that_is_away_keeps_no_thread_from_being_deleted(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    """What it owes is listed, and goes once it is back: nobody has to ask."""
    await scene.process().update()
    scene.engine.is_away = True
    process = scene.process()
    await process.process.delete(ORIGIN)
    await process.handed.close()
    state = (await process.process.services.log.head(ORIGIN)).state
    owed, had = await process.feature.owed(), scene.has(CANARY)
    await scene.process().upkeep()
    still = await scene.owed()
    scene.engine.is_away = False
    await scene.process().upkeep()

    assert (state, owed, had, still) == ("deleted", 1, True, ([ORIGIN], True))
    assert (scene.engine.texts, await scene.owed(), await process.feature.owed()) == ({}, ([], False), 0)
    assert "has not removed thread origin of agent joker" in caplog.text
    assert "secret text" not in caplog.text


@pytest.mark.behaviour("search.engine-forgotten")
async def test_the_process_that_owes_tries_again_by_itself(scene: Scene) -> None:
    """After a pause, until the engine is back."""
    await scene.process().update()
    scene.engine.is_away = True
    process = scene.process()
    process.handed._pauses = (0.0,)
    await process.process.delete(ORIGIN)
    scene.engine.is_away = False
    assert process.handed._payer is not None
    await process.handed._payer

    assert (scene.engine.texts, await scene.owed()) == ({}, ([], False))


@pytest.mark.behaviour("search.words")
async def test_words_of_a_replaced_turn_are_not_found(world: World) -> None:
    """The thread goes on from before it, and its older words stay."""
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
