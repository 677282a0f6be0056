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
)

from hosting.names import Address, thread_key
from hosting.offline.model import OfflineChatClient
from tests.support.made_app import app_of, served
from tests.support.owned_app import THREADS, OwnedApp, signed_in

WRITE = 'Call file_memory_write with {"file_name": "a.md", "content": "of ada"}'
READ = 'Call file_memory_read with {"file_name": "a.md"}'


class Notes(ContextProvider):
    """Notes the id of each session that it meets, and of each that it is to erase."""

    def __init__(self) -> None:
        super().__init__("notes")
        self.seen: list[str] = []
        self.cleared: list[str] = []

    async def before_run(self, *, agent: Any, session: AgentSession, context: Any, state: dict[str, Any]) -> None:
        self.seen.append(session.session_id)

    async def clear(self, session_id: str | None) -> None:
        """Erase what is kept of a session."""
        self.cleared.append(str(session_id))


def agent_with(*providers: ContextProvider, name: str = "Clerk") -> Agent[Any]:
    """Return an agent that answers without a network."""
    return Agent(client=OfflineChatClient(), name=name, context_providers=list(providers))


@pytest.mark.behaviour("owners.keys")
async def test_what_a_provider_keeps_by_session_is_of_one_owner_and_goes_with_the_thread() -> None:
    """Agent-framework's own provider of files, which has no word for erasing, over a store of the author's own."""
    store = type("OwnStore", (InMemoryAgentFileStore,), {})()
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
