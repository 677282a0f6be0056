"""What an agent's own code is given to keep something under: equal for no two owners, agents or lives of a thread."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from agent_framework import (
    Agent,
    AgentSession,
    ContextProvider,
    FileMemoryProvider,
    InMemoryAgentFileStore,
    tool,
)

from hosting.features.callbacks.callbacks import AgentCallbackContext
from hosting.names import Address, thread_key
from hosting.offline.model import OfflineChatClient
from hosting.tools import current
from tests.support.made_app import app_of, served
from tests.support.owned_app import THREADS, OwnedApp, owner, signed_in

WRITE = 'Call file_memory_write with {"file_name": "a.md", "content": "of ada"}'
READ = 'Call file_memory_read with {"file_name": "a.md"}'


class OwnStore(InMemoryAgentFileStore):
    """A store of files that an app's author wrote."""


class Notes(ContextProvider):
    """Notes the id of each session that it meets, and of each that it is to erase; it may fail to, so many times."""

    def __init__(self, failures: int = 0) -> None:
        super().__init__("notes")
        self.seen: list[str] = []
        self.cleared: list[str] = []
        self._failures = failures

    async def before_run(self, *, agent: Any, session: AgentSession, context: Any, state: dict[str, Any]) -> None:
        self.seen.append(session.session_id)

    async def clear(self, session_id: str | None) -> None:
        """Erase what is kept of a session."""
        self._failures -= 1
        if self._failures >= 0:
            raise ConnectionError("the store of notes is away")
        self.cleared.append(str(session_id))


def agent_with(*providers: ContextProvider, name: str = "Clerk", tools: Any = None) -> Agent[Any]:
    """Return an agent that answers without a network."""
    return Agent(client=OfflineChatClient(), name=name, context_providers=list(providers), tools=tools)


@pytest.mark.behaviour("owners.keys")
async def test_what_a_provider_keeps_by_session_is_of_one_owner_and_goes_with_the_thread() -> None:
    """Agent-framework's own provider of files, which has no word for erasing, over a store of the author's own."""
    store = OwnStore()
    owned = OwnedApp(agent=agent_with(FileMemoryProvider(store)))
    await owned.say("ada", WRITE)

    bob, ada = [str(await owned.say(user, READ)) for user in ("bob", "ada")]
    await owned.ask("ada", "DELETE", "/api/owners/me")
    await owned.stored()

    assert "of ada" in ada
    assert "of ada" not in bob
    folders = [entry.name for entry in await store.list_children()]
    assert [await store.read(f"{folder}/a.md") for folder in folders] == [None] * len(folders)


@pytest.mark.behaviour("owners.keys")
async def test_a_session_is_of_one_life_of_one_owners_thread_with_one_agent() -> None:
    """Its id is a key and a file's name wherever that is kept, and the same for each run of the thread."""
    notes = Notes()
    agents = [agent_with(notes, name=name) for name in ("Clerk", "Other")]
    async with served(app_of(*agents, principal=signed_in)) as (_, http):
        for user, name in itertools.product(("ada", "bob"), ("Clerk", "Other")):
            for _ in range(2):
                body, headers = {"message": "hi", "thread_id": "t"}, {"x-user": user}
                assert (await http.post(f"/api/agents/{name}/run", json=body, headers=headers)).status_code == 200
        first = notes.seen[0]
        assert (await http.delete(f"{THREADS}/t", headers={"x-user": "ada"})).status_code == 204
        await http.post("/api/agents/Clerk/run", json=body, headers={"x-user": "ada"})

    assert [len(set(notes.seen[place : place + 2])) for place in (0, 2, 4, 6)] == [1, 1, 1, 1]
    assert len(set(notes.seen)) == 5
    assert all(len(seen) == 64 and set(seen) <= set("0123456789abcdef") for seen in notes.seen)
    assert notes.cleared == [first]


@pytest.mark.behaviour("owners.keys")
def test_no_string_makes_one_threads_key_anothers() -> None:
    """Whatever the parts are, and whatever joins them in other names."""
    texts = ["a", "b", "a-b", "b-c", "c", "a!b", 'a", "b', "a\nb", "", "A", "å", "\ud800"]
    places = list(itertools.product(texts, texts, texts[:6], (0, 2), ("", "a")))

    keys = {thread_key(Address(agent, thread, owner), epoch, part) for agent, thread, owner, epoch, part in places}

    assert len(keys) == len(places)


@pytest.mark.behaviour("owners.keys")
async def test_tools_and_callbacks_have_the_threads_key_and_its_owner() -> None:
    """The same key in both, and as the id of the framework's session."""
    notes, tools, ends = Notes(), list[tuple[str, str]](), list[tuple[str, str]]()

    class Callback:
        def on_agent_response(self, response: Any, context: AgentCallbackContext) -> None:
            ends.append((context.owner, context.thread_key))

    @tool
    def note() -> str:
        """Note the call."""
        tools.append((current().owner, current().thread_key))
        return "noted"

    owned = OwnedApp(agent=agent_with(notes, tools=[note]), default_callback=Callback())
    for user in ("ada", "bob"):
        await owned.say(user, "Call note with {}")
    await owned.stored()

    assert tools == [(owner(user), key) for user, key in zip(("ada", "bob"), notes.seen, strict=True)]
    assert sorted(ends) == sorted(tools)
