"""Words of threads, in the app's index and in an engine, whichever process dies at which call."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from hosting.core.thread.commands import AcceptRun, Change, Continuation
from hosting.core.thread.events import Accepted
from hosting.core.thread.run_request import RunRequest
from hosting.features.search import thread_words
from hosting.features.search.engine_search import EngineIndex
from hosting.features.search.feature import SearchFeature
from hosting.features.search.handed import handed_cell
from hosting.features.search.thread_words import ThreadWords
from hosting.features.search.words import searched_words
from hosting.http.rewinding import Rewinding
from tests.support.cluster.cluster import ADDRESS, AGENT, THREAD, AppProcess, Cluster
from tests.support.cluster.life import DiedError, Life, Mortal
from tests.support.cluster.threads import archiving_cluster, delete, reset
from tests.support.simple_engine import SimpleEngine

pytestmark = pytest.mark.moved_time

CANARY = "canary77aa"
SEARCHED = f"{AGENT.lower()}.search"
LATER_SECONDS = 60.0
"""After so long nobody hands over what a process was about to hand over before."""
Forget = Callable[[AppProcess], Awaitable[None]]


class Searching:
    """A process of an app that has the search."""

    def __init__(self, app: AppProcess) -> None:
        self.app, self.feature = app, app.feature(SearchFeature)
        self.index: Any = self.feature._index
        if self.feature._engine is not None:
            self.index = EngineIndex(self.feature._handed, self.index, app.threads, app.stores)

    async def update(self, mark: str = "m") -> ThreadWords | None:
        words: ThreadWords | None = await self.index.updated(ADDRESS, mark, self.app.engine)
        return words

    async def upkeep(self) -> None:
        for work in self.feature.upkeep():
            await work.run(self.app.engine)
        await self.feature.close()


class Scene:
    """A cluster with its engine of searches, if it has one."""

    def __init__(self, cluster: Cluster, engine: SimpleEngine | None) -> None:
        self.cluster, self.engine = cluster, engine

    def again(self) -> Scene:
        """Return another one in which everything stands as it stands here now."""
        engine = self.engine and SimpleEngine()
        if self.engine and engine:
            engine.texts = dict(self.engine.texts)
        return Scene(self.cluster.again(), engine)

    def process(self, life: Life | None = None) -> Searching:
        life = life or Life()
        self.cluster.options["search"] = self.engine and Mortal(life, self.engine)
        return Searching(self.cluster.process(life))

    def has(self, text: str) -> bool:
        """Return whether a text or a word is anywhere."""
        if self.engine is None:
            return text.encode() in stored(self.cluster)
        return any(text in each for each in self.engine.texts.values())

    async def left(self) -> tuple[bytes, int, list[Any], bool]:
        """Return what is there of words and of texts, what is owed, and whether there is a cell of the thread."""
        later = self.process()
        debts = await later.feature._handed.debts()
        cell = await later.app.store.head(handed_cell(ADDRESS).address)
        return stored(self.cluster), len(self.engine.texts) if self.engine else 0, debts, cell is not None


NOTHING: tuple[bytes, int, list[Any], bool] = (b"", 0, [], False)


@pytest.fixture(params=["own index", "engine"])
async def scene(request: pytest.FixtureRequest) -> AsyncIterator[Scene]:
    """An app whose only thread has a few turns."""
    scene = Scene(archiving_cluster(), SimpleEngine() if request.param == "engine" else None)
    app = scene.process().app
    await app.run(f"First {CANARY}")
    for number in range(4):
        await app.run(f"message {number} {'x' * 600}")
    yield scene
    await scene.cluster.close()


@pytest.fixture
async def own(cluster: Cluster) -> Scene:
    """An app with its own index, without a thread."""
    return Scene(cluster, None)


def has(words: ThreadWords | None, search: str) -> bool:
    return words is not None and words.entry_of(searched_words(search)) is not None


def stored(cluster: Cluster) -> bytes:
    """Return all that the app's own index has."""
    parts = list[bytes]()
    for (_, key), thread in cluster.memory.threads.items():
        if SEARCHED in key:
            head = b"" if thread.head is None else thread.head.payload
            parts += [head, *(text for _, text in thread.events.values())]
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


@pytest.mark.behaviour("search.exact")
@pytest.mark.behaviour("search.engine-exact")
@pytest.mark.parametrize("is_done", [False, True])
async def test_a_process_that_dies_while_it_reads_a_thread_loses_nothing_and_leaves_nothing(
    scene: Scene, is_done: bool
) -> None:
    """Before or after any of its calls: the next one has all of it, and a deletion takes all of it back."""
    whole = scene.again()
    await whole.process().update()
    ends_at, is_over = 0, False
    while not is_over:
        ends_at += 1
        other = scene.again()
        is_over = not await died(other.process(Life(ends_at, is_done=is_done)).update())
        deleted = other.again()
        other.cluster.wall_ahead += LATER_SECONDS
        words = await other.process().update()
        assert words is not None
        assert (words.extent.mark, other.has(CANARY), other.has("message")) == ("m", True, True), ends_at
        assert (other.engine and other.engine.texts) == (whole.engine and whole.engine.texts), ends_at
        await delete(deleted.process().app)
        deleted.cluster.wall_ahead += LATER_SECONDS
        await deleted.process().upkeep()
        assert await deleted.left() == NOTHING, ends_at
    assert ends_at > 6


@pytest.mark.behaviour("search.forgotten")
@pytest.mark.behaviour("search.engine-forgotten")
@pytest.mark.parametrize(("forget", "is_done"), [(delete, False), (reset, True)])
async def test_a_process_that_dies_while_it_forgets_a_thread_leaves_no_word(
    scene: Scene, forget: Forget, is_done: bool
) -> None:
    if scene.engine is None:
        await scene.process().app.run(many_words(12_000))
    await scene.process().update()
    assert scene.engine or len(stored(scene.cluster)) > 40 * 1024
    ends_at, is_over = 0, False
    while not is_over:
        ends_at += 1
        other = scene.again()
        is_over = not await died(forget(other.process(Life(ends_at, is_done=is_done)).app))
        survivor = other.process().app
        head = await survivor.log.head(ADDRESS)
        if head.state == "open" and not head.resets:
            continue  # nobody was promised anything
        if head.state == "open":
            await survivor.operate({"position": head.reset_at}, "reset")
        else:
            await survivor.operate({"logged": True}, "delete")
        await other.process().upkeep()
        assert await other.left() == NOTHING, ends_at
    assert ends_at > 6


@pytest.mark.behaviour("search.forgotten")
@pytest.mark.behaviour("search.engine-forgotten")
@pytest.mark.parametrize(("forget", "is_known"), [(delete, True), (reset, False)])
async def test_a_thread_that_is_forgotten_while_it_is_read_leaves_no_word(
    scene: Scene, forget: Forget, is_known: bool
) -> None:
    """By another process, between any two calls of the one that reads: also what comes to the engine later."""
    if is_known:
        await scene.process().update("earlier")
        await scene.process().app.run("one more")
    calls, reached = 0, True
    while reached:
        calls += 1
        other, done = scene.again(), list[bool]()

        async def meanwhile(other: Scene = other, done: list[bool] = done) -> None:
            await forget(other.process().app)
            done.append(True)

        await other.process(Life(turn_at=calls, meanwhile=meanwhile)).update()
        reached = bool(done)
        other.cluster.wall_ahead += LATER_SECONDS
        await other.process().upkeep()
        assert other.has(CANARY) != reached, calls
        assert (await other.left())[2] == [], calls
    assert calls > 5


@pytest.mark.behaviour("search.engine-forgotten")
@pytest.mark.parametrize("scene", ["engine"], indirect=True)
async def test_an_engine_that_is_away_keeps_no_thread_from_being_deleted(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    """What it owes is listed, and goes once it is back: the process tries again by itself, and so does the upkeep."""
    await scene.process().update()
    assert scene.engine
    scene.engine.is_away = True
    process = scene.process()
    await delete(process.app)
    owed, had = await process.feature.owed(), scene.has(CANARY)
    waiting = process.feature._handed._payer
    await process.feature.close()
    await scene.process().upkeep()
    still = await scene.left()
    scene.engine.is_away = False
    await scene.process().upkeep()

    assert ((await process.app.log.head(ADDRESS)).state, owed, had, waiting is None) == ("deleted", 1, True, False)
    assert still[2:] == ([ADDRESS], True)
    assert (await scene.left(), await process.feature.owed()) == (NOTHING, 0)
    assert f"has not removed thread {THREAD} of agent {AGENT.lower()}" in caplog.text
    assert "secret text" not in caplog.text


@pytest.mark.behaviour("search.engine-forgotten")
@pytest.mark.parametrize("scene", ["engine"], indirect=True)
async def test_the_process_that_owes_tries_again_by_itself(scene: Scene) -> None:
    await scene.process().update()
    assert scene.engine
    scene.engine.is_away = True
    process = scene.process()
    await delete(process.app)
    scene.engine.is_away = False
    assert process.feature._handed._payer is not None
    await process.feature._handed._payer
    assert await scene.left() == NOTHING


@pytest.mark.behaviour("search.bounds")
async def test_of_too_many_words_those_of_the_newest_messages_are_kept(
    own: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thread_words, "MOST_WORDS", most := 3_000)
    size = list[int]()
    for start in range(2):
        await own.process().app.run(" ".join(f"w{start}x{number}" for number in range(most * 2 // 3)))
        words = await own.process().update(f"{start}")
        size.append(len(stored(own.cluster)))
    again = await own.process().index.read(ADDRESS)

    assert words is not None
    assert (again.spoken, again.titled) == (words.spoken, words.titled)
    assert has(words, f"w1x{most * 2 // 3 - 1} ")
    assert len(words.positions()) == most
    assert size[1] < 2 * size[0]


@pytest.mark.behaviour("search.words")
async def test_words_of_a_replaced_turn_are_not_found(own: Scene) -> None:
    """The thread goes on from before it, and its older words stay."""
    searching = own.process()
    app = searching.app
    await app.run("apples")
    replaced = await app.run("bananas")
    await searching.update("1")
    view = await app.threads.view(ADDRESS, app.engine)
    event = Rewinding(app.services.archiver).before(view, replaced, [replaced], 1.0)
    request = RunRequest(message="cherries")
    accepted = Accepted(at=1.0, run_id="new", agent=AGENT, thread_id=THREAD, fingerprint="f", request=request)
    continues = Continuation.of(await app.log.head(ADDRESS), event)
    decided = await app.log.execute(ADDRESS, AcceptRun(accepted, 10, continues=continues))
    assert isinstance(decided.outcome, Change)
    await app.deliver("new")
    words = await own.process().update("2")

    assert [has(words, fruit) for fruit in ("apples", "bananas", "cherries")] == [True, False, True]
    assert b"bananas" not in stored(own.cluster)
