"""What an agent remembers of an owner: over HTTP, by its tools, and over a store that loses answers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from agent_framework import AgentExecutor, Embedding, WorkflowBuilder

from hosting.app import AgentFunctionApp
from hosting.core.cells import Cells
from hosting.core.stores.contract import Append, StoredHead
from hosting.core.stores.memory import MemoryObjects, MemoryThreadStore, SharedMemory
from hosting.core.thread_log import PATIENCE_SECONDS, ThreadLog
from hosting.embeddings import Embedder
from hosting.errors import ConfigurationError, NewerVersionError
from hosting.features.memory.facts import Memories
from hosting.features.memory.provider import LONGEST_FACT, Fact, OwnerMemory, fact_id_of
from hosting.names import Address, new_id
from tests.support.meanings import Meanings
from tests.support.owned_app import THREADS, OwnedApp, signed_in, with_roles
from tests.support.rememberer import rememberer
from tests.support.thread_stores import ArmedStore

MEMORY = "/api/agents/Clerk/memory"
TEA = "Drinks tea without milk."
TERRIER = "Has a terrier called Rex."


@pytest.fixture
async def app() -> AsyncIterator[OwnedApp]:
    app = OwnedApp(with_roles, agent=rememberer(), AGENT_ADMIN_ROLE="operators")
    async with app.http:
        yield app


async def remembered(app: OwnedApp, user: str = "ann") -> list[dict[str, Any]]:
    answer = await app.ask(user, "GET", MEMORY)
    assert answer.status_code == 200, answer.text
    return list(answer.json()["facts"])


@pytest.mark.behaviour("memory.across-threads")
async def test_what_a_run_remembers_is_given_to_the_model_in_the_owner_s_other_threads(app: OwnedApp) -> None:
    """With the run that learnt it; not in another owner's threads."""
    said = await app.say("ann", f"remember {TEA}", "first")

    [fact] = await remembered(app)
    later, elsewhere = await app.say("ann", "hello", "second"), await app.say("bob", "hello", "second")

    assert said["response"] == f"told: Remembered as {fact['fact_id']}."
    assert (fact["text"], fact["thread_id"], fact["run_id"]) == (TEA, "first", said["run_id"])
    assert f"- {TEA} (id {fact['fact_id']})" in later["response"]
    assert "tools: remember forget" in later["response"]
    assert TEA not in elsewhere["response"]
    assert await remembered(app, "bob") == []


@pytest.mark.behaviour("memory.routes")
async def test_a_person_adds_replaces_forgets_and_erases(app: OwnedApp) -> None:
    added = await app.ask("ann", "POST", MEMORY, json={"text": f" {TEA} "})
    again = await app.ask("ann", "POST", MEMORY, json={"text": TEA.upper()})
    place = added.headers["location"]
    replaced = await app.ask("ann", "POST", place, json={"text": "Drinks coffee."})
    listed = await remembered(app)
    forgotten = [(await app.ask("ann", "DELETE", place)).status_code for _ in range(2)]
    unknown = await app.ask("ann", "POST", place, json={"text": "Drinks water."})
    await app.ask("ann", "POST", MEMORY, json={"text": TEA})
    erased = [(await app.ask("ann", "DELETE", MEMORY)).status_code for _ in range(2)]

    fact = added.json()
    assert (added.status_code, again.status_code, again.json()) == (201, 200, fact)
    assert place == f"http://app.example{MEMORY}/{fact['fact_id']}"
    assert (fact["text"], fact["thread_id"], fact["run_id"]) == (TEA, None, None)
    assert (replaced.status_code, listed) == (200, [replaced.json()])
    assert (replaced.json()["fact_id"], replaced.json()["text"]) == (fact["fact_id"], "Drinks coffee.")
    assert (forgotten, unknown.status_code, unknown.json()["code"]) == ([204, 204], 404, "unknown_fact")
    assert (erased, await remembered(app)) == ([204, 204], [])


WRONG_FACTS: list[tuple[Any, ...]] = [
    ("", "invalid_field"),
    (" \n", "invalid_field"),
    ("x" * (LONGEST_FACT + 1), "invalid_field"),
    (7, "invalid_field"),
]


@pytest.mark.behaviour("memory.routes")
async def test_what_is_no_fact_is_refused(app: OwnedApp) -> None:
    """Over HTTP with the field; the model is told the same by its tool."""
    for text, code in WRONG_FACTS:
        answer = await app.ask("ann", "POST", MEMORY, json={"text": text})

        assert (answer.status_code, answer.json()["code"]) == (400, code)
        if isinstance(text, str) and text.strip():
            told = await app.say("ann", f"remember {text}")
            assert str(LONGEST_FACT) in answer.json()["detail"]
            assert f"{LONGEST_FACT} are the most" in told["response"]
        assert await remembered(app) == []


@pytest.mark.slow
@pytest.mark.behaviour("memory.full")
async def test_a_memory_that_is_full_takes_nothing_more_until_something_is_forgotten(app: OwnedApp) -> None:
    texts = [f"{number} {'x' * (LONGEST_FACT - 10)}" for number in range(200)]
    answers = [await app.ask("ann", "POST", MEMORY, json={"text": text}) for text in texts]
    taken = [answer for answer in answers if answer.status_code == 201]
    refused = next(answer for answer in answers if answer.status_code != 201)
    told = await app.say("ann", f"remember {texts[-2]}")

    for fact in taken[:2]:
        await app.ask("ann", "DELETE", fact.headers["location"])
    after = await app.ask("ann", "POST", MEMORY, json={"text": texts[-1]})

    assert 50 < len(taken) < len(texts)
    assert (refused.status_code, refused.json()["code"]) == (409, "memory_full")
    assert told["response"].startswith(f"told: Not remembered: The memory has {len(taken)} facts")
    assert (after.status_code, len(await remembered(app))) == (201, len(taken) - 1)


@pytest.mark.behaviour("memory.given")
async def test_of_a_memory_that_is_too_large_the_model_is_given_what_the_message_is_about() -> None:
    app = OwnedApp(signed_in, agent=rememberer(max_tokens=60))
    async with app.http:
        for text in ("Has a dog called Rex.", *(f"Visited city {number}." for number in range(20))):
            await app.ask("ann", "POST", MEMORY, json={"text": text})

        about, other = await app.say("ann", "What does my dog eat?"), await app.say("ann", "hello")

    assert "Has a dog called Rex." in about["response"]
    assert "Visited city 19." in about["response"]
    assert "Has a dog called Rex." not in other["response"]
    assert other["response"].count("Visited city") < 20


@asynccontextmanager
async def with_cities(embeddings: Meanings) -> AsyncIterator[OwnedApp]:
    """Serve an app that knows of a terrier and twenty cities, more than its model is given."""
    app = OwnedApp(signed_in, agent=rememberer(max_tokens=60, embeddings=embeddings))
    async with app.http:
        for text in (TERRIER, *(f"Visited city {number}." for number in range(20))):
            assert (await app.ask("ann", "POST", MEMORY, json={"text": text})).status_code == 201
        yield app


@pytest.mark.behaviour("memory.meaning")
@pytest.mark.parametrize("times", [1, 100], ids=["short vectors", "long vectors"])
async def test_a_client_of_embeddings_finds_what_means_the_same_in_other_words(times: int) -> None:
    async with with_cities(Meanings(times)) as app:
        about, other = await app.say("ann", "What does my puppy eat?"), await app.say("ann", "Which town?")

    assert TERRIER in about["response"]
    assert TERRIER not in other["response"]
    assert "Visited city 19." in other["response"]


class _Broken(Meanings):
    """Answers with something that is no embedding, or raises it."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self._answer = answer

    async def get_embeddings(self, values: Any, *, options: Any = None) -> Any:
        if isinstance(self._answer, Exception):
            raise self._answer
        return [Embedding(self._answer) for _ in values[1:] or values] if self._answer else []


@pytest.mark.behaviour("memory.meaning")
@pytest.mark.parametrize(
    "answer",
    [RuntimeError("my terrier is secret"), [], [0.0, 0.0], [float("nan"), 1.0], ["a"], [1.0, 2.0]],
    ids=["raises", "none", "no direction", "not a number", "a text", "too few"],
)
async def test_a_client_of_embeddings_that_fails_fails_no_run(answer: Any, caplog: pytest.LogCaptureFixture) -> None:
    async with with_cities(_Broken(answer)) as app:
        said = await app.say("ann", "What does my terrier eat?")

    assert TERRIER in said["response"]
    assert "The embedding client failed" in caplog.text
    assert "my terrier" not in caplog.text


@pytest.mark.behaviour("memory.meaning")
async def test_a_client_of_embeddings_that_does_not_answer_is_not_waited_for() -> None:
    """Its run goes on; and what is no client is refused as the app starts."""

    class Silent(Meanings):
        async def get_embeddings(self, values: Any, *, options: Any = None) -> Any:
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await Embedder(Silent(), "embeddings", seconds=0.01).embedded(["hello"])
    with pytest.raises(ConfigurationError, match="embeddings of OwnerMemory is 'ada-002', which has no get_embeddings"):
        OwnerMemory(embeddings="ada-002")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="embeddings of OwnerMemory is the class 'Meanings'"):
        OwnerMemory(embeddings=Meanings)  # type: ignore[arg-type]


@pytest.mark.behaviour("memory.owners")
async def test_those_with_whom_a_thread_is_shared_are_told_nothing_of_its_owner(app: OwnedApp) -> None:
    await app.say("ann", f"remember {TEA}")
    bob = {"issuer": "https://login.example", "id": "bob", "access": "run"}
    granted = await app.ask("ann", "POST", f"{THREADS}/t/grants", json=bob)

    answer = await app.ask("bob", "POST", f"/api/shared/{granted.json()['grant']}/run", json={"message": "hello"})

    assert answer.status_code == 200, answer.text
    assert (TEA in answer.json()["response"], "remember" in answer.json()["response"]) == (False, False)


def brief(agent: Any) -> Callable[[], Any]:
    return lambda: WorkflowBuilder(name="Brief", start_executor=AgentExecutor(agent), output_from="all").build()


async def told(app: OwnedApp, user: str, message: str) -> str:
    """Send a message to the workflow as that user and return what it says."""
    answer = await app.ask(user, "POST", "/api/workflows/Brief/run", json={"message": message, "thread_id": "w"})
    assert answer.status_code == 200, answer.text
    return str(answer.json()["response"])


@pytest.mark.behaviour("memory.workflows")
async def test_an_agent_that_a_workflow_has_too_remembers_the_same_there() -> None:
    agent = rememberer()
    app = OwnedApp(signed_in, agent=agent, workflows=[brief(agent)])
    async with app.http:
        await app.say("ann", f"remember {TEA}")
        known, others = await told(app, "ann", "hello"), await told(app, "bob", "hello")
        await told(app, "ann", f"remember {TERRIER}")
        listed = await remembered(app)
        exported = (await app.ask("ann", "GET", "/api/owners/me/export")).json()["memories"]
        erased = await app.ask("ann", "DELETE", "/api/owners/me")
        after = await told(app, "ann", "hello")

    assert (TEA in known, TEA in others) == (True, False)
    assert [(one["text"], one["thread_id"]) for one in listed] == [(TEA, "t"), (TERRIER, "w")]
    assert exported == {"Clerk": listed}
    assert (erased.status_code, TEA in after, TERRIER in after) == (200, False, False)


@pytest.mark.behaviour("memory.shared")
async def test_an_app_without_owners_has_a_memory_only_where_that_is_meant() -> None:
    """Or what one caller says would be told to the next."""
    with pytest.raises(ConfigurationError, match=r"Agent 'Clerk' has an OwnerMemory.*OwnerMemory\(shared=True\)"):
        AgentFunctionApp(agents=[rememberer()], environ={"AGENT_LOG": "memory"})
    with pytest.raises(ConfigurationError, match="max_tokens of OwnerMemory is 0"):
        OwnerMemory(max_tokens=0)
    with pytest.raises(ConfigurationError, match="source_id of OwnerMemory is 500"):
        OwnerMemory(500)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="shared of OwnerMemory is 'no'"):
        OwnerMemory(shared="no")  # type: ignore[arg-type]

    app = AgentFunctionApp(agents=[rememberer(shared=True)], environ={"AGENT_LOG": "memory"})

    assert {"http_memory", "http_memory_add"} <= {one.get_function_name() for one in app.get_functions()}


@pytest.mark.behaviour("memory.cost")
async def test_an_app_without_a_memory_has_no_routes_of_one() -> None:
    app = OwnedApp()
    async with app.http:
        answer = await app.ask("ann", "GET", MEMORY)
        [listed] = (await app.ask("ann", "GET", "/api/agents")).json()["agents"]

    assert (answer.status_code, answer.json()["code"], listed["memory_url"]) == (404, "unknown_route", None)


AGENT, OWNER = "Clerk", "a" * 16
ADDRESS = Address("clerk.memory", "facts", OWNER)


def fact(text: str, fact_id: str | None = None) -> Fact:
    return Fact(id=fact_id or new_id(), text=text, at=1.0)


def texts(facts: tuple[Fact, ...]) -> list[str]:
    return [one.text for one in facts]


def memories_of(store: ArmedStore, patience_seconds: float = 0.1) -> Memories:
    """Return the memories of one process, which waits so long for a store that is away."""
    log = ThreadLog(store, MemoryObjects(), "hub", patience_seconds=patience_seconds)
    return Memories(Cells(store, log), log.clocks)


@pytest.fixture
def store() -> ArmedStore:
    return ArmedStore(MemoryThreadStore(SharedMemory()))


@pytest.mark.behaviour("memory.once")
async def test_two_processes_that_remember_at_once_lose_nothing_of_each_other(store: ArmedStore) -> None:
    one, two = memories_of(store), memories_of(store)
    await one.remember(AGENT, OWNER, fact("first"))
    store.before_append = lambda: two.remember(AGENT, OWNER, fact("second"))

    await one.remember(AGENT, OWNER, fact("third"))

    assert texts(await two.facts(AGENT, OWNER)) == ["first", "second", "third"]


@pytest.mark.behaviour("memory.once")
async def test_a_call_that_is_made_again_after_a_lost_answer_remembers_once(store: ArmedStore) -> None:
    memories, call = memories_of(store, PATIENCE_SECONDS), fact_id_of("run-1.call-1")
    store.fails = ["answer lost", "answer lost"]

    known = [
        await memories.remember(AGENT, OWNER, fact(text, call)) for text in ("Likes tea", "Likes it", "likes  TEA")
    ]

    assert {one.text for one in known} == {"Likes tea"}
    assert texts(await memories.facts(AGENT, OWNER)) == ["Likes tea"]


@pytest.mark.behaviour("memory.versions")
async def test_a_memory_of_a_newer_version_is_left_as_it_is(store: ArmedStore) -> None:
    await _stored(store, {"v": 2, "facts": []})
    memories = memories_of(store)

    with pytest.raises(NewerVersionError):
        await memories.facts(AGENT, OWNER)
    with pytest.raises(NewerVersionError):
        await memories.remember(AGENT, OWNER, fact("first"))

    assert (await _read(store))["v"] == 2


@pytest.mark.behaviour("memory.versions")
async def test_what_another_version_added_stays(store: ArmedStore) -> None:
    await _stored(store, {"v": 1, "facts": [{"id": "f1", "text": "first", "at": 1.0, "mood": "glad"}], "locale": "de"})

    await memories_of(store).remember(AGENT, OWNER, fact("second"))

    stored = await _read(store)
    assert (stored["locale"], stored["facts"][0]["mood"], len(stored["facts"])) == ("de", "glad", 2)


async def _stored(store: ArmedStore, memory: dict[str, object]) -> None:
    await store.append(ADDRESS, None, Append(StoredHead(0, new_id(), json.dumps(memory).encode())))


async def _read(store: ArmedStore) -> dict[str, object]:
    head = await store.head(ADDRESS)
    assert head is not None
    return dict(json.loads(head.payload))
