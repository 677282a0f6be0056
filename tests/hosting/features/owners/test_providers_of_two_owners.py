"""The framework's context providers with two owners on one thread id: none is given, or leaves, what is another's."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from agent_framework import (
    Agent,
    AgentModeProvider,
    ChatContext,
    ChatMiddleware,
    CompactionProvider,
    ContextProvider,
    FileAccessProvider,
    FileHistoryProvider,
    FileMemoryProvider,
    InlineSkill,
    InMemoryAgentFileStore,
    InMemoryHistoryProvider,
    InMemoryStore,
    SkillFrontmatter,
    SkillsProvider,
    SlidingWindowStrategy,
    TodoFileStore,
    TodoProvider,
    VectorStoreHistoryProvider,
)
from agent_framework.security import SecureAgentConfig

from hosting.offline.model import OfflineChatClient
from tests.support.owned_app import OwnedApp

pytestmark = pytest.mark.filterwarnings("ignore:.*experimental")


@dataclass
class Kept:
    """Providers, what they keep outside of the app, and how an owner has them keep a word."""

    providers: list[ContextProvider]
    outside: Callable[[], Awaitable[str]] | None = None
    keep: str = "Remember {word}"
    look: str = "What do you know?"


async def nothing() -> str:
    return ""


class OwnStore(InMemoryAgentFileStore):
    """A store of files that an app's author wrote."""


WRITE, READ = (
    'Call file_memory_write with {{"file_name": "a.md", "content": "{word}"}}',
    'Call file_memory_read with {"file_name": "a.md"}',
)


UNASKED = {"disable_readonly_tool_approval": True, "disable_write_tool_approval": True}


def shared_files(provider: type[FileAccessProvider] | type[FileMemoryProvider], **options: Any) -> Kept:
    """Files of all threads, which the framework's store would give to everybody."""
    tools = "file_access" if provider is FileAccessProvider else "file_memory"
    write, read = (words.replace("file_memory", tools) for words in (WRITE, READ))
    return Kept([provider(InMemoryAgentFileStore(), **options)], keep=write, look=read)


def file_memory(folder: Path) -> Kept:
    """Files by session, in a store of the author's own."""
    store = OwnStore()

    async def files() -> str:
        folders = [entry.name for entry in await store.list_children()]
        return json.dumps([await store.read(f"{name}/a.md") for name in folders])

    return Kept([FileMemoryProvider(store)], files, WRITE, READ)


async def texts_in(folder: Path) -> str:
    return "".join(path.read_bytes().decode(errors="replace") for path in folder.rglob("*") if path.is_file())


def vector_history(folder: Path) -> Kept:
    store = InMemoryStore()
    provider = VectorStoreHistoryProvider(store, application_id="app", load_messages=False)

    async def records() -> str:
        return repr(vars(store))

    return Kept([provider], records)


def skills(folder: Path) -> Kept:
    skill = InlineSkill(frontmatter=SkillFrontmatter(name="greeting", description="Greets."), instructions="Say hello.")
    return Kept([SkillsProvider(skill)])


PROVIDERS: dict[str, Callable[[Path], Kept]] = {
    "todo": lambda _: Kept(
        [TodoProvider()],
        keep='Call todos_add with {{"todos": [{{"title": "{word}"}}]}}',
        look="Call todos_get_all with {}",
    ),
    "todo files": lambda folder: Kept(
        [TodoProvider(store=TodoFileStore(folder))],
        lambda: texts_in(folder),
        keep='Call todos_add with {{"todos": [{{"title": "{word}"}}]}}',
        look="Call todos_get_all with {}",
    ),
    "mode": lambda _: Kept([AgentModeProvider()]),
    "history": lambda _: Kept([InMemoryHistoryProvider()]),
    "compaction": lambda _: Kept(
        [InMemoryHistoryProvider(), CompactionProvider(after_strategy=SlidingWindowStrategy(keep_last_groups=1))]
    ),
    "secure": lambda _: Kept([SecureAgentConfig()]),
    "skills": skills,
    "file memory": lambda _: Kept([FileMemoryProvider(InMemoryAgentFileStore())], keep=WRITE, look=READ),
    "scoped file memory": lambda _: shared_files(FileMemoryProvider, scope="all"),
    "shared file access": lambda _: shared_files(FileAccessProvider, **UNASKED),
    "scoped file access": lambda _: shared_files(FileAccessProvider, scope="all", **UNASKED),
    "own file memory": file_memory,
    "file history": lambda folder: Kept([FileHistoryProvider(folder, load_messages=False)], lambda: texts_in(folder)),
    "packed file history": lambda folder: Kept(
        [FileHistoryProvider(folder, load_messages=False, serialization_format="msgpack")], lambda: texts_in(folder)
    ),
    "vector history": vector_history,
}


@dataclass
class Sent(ChatMiddleware):
    """What the model was sent, as text."""

    texts: list[str] = field(default_factory=list)

    async def process(self, context: ChatContext, call_next: Any) -> None:
        self.texts.append(json.dumps([message.to_dict() for message in context.messages], default=str))
        self.texts.append(str(context.options))
        await call_next()


@pytest.mark.behaviour("owners.providers")
@pytest.mark.parametrize("name", PROVIDERS)
async def test_a_provider_gives_and_leaves_nothing_of_another_owner(name: str, tmp_path: Path) -> None:
    """Ada and Bob each keep a word in a thread of one id; then Ada is erased."""
    kept, sent = PROVIDERS[name](tmp_path), Sent()
    agent = Agent(OfflineChatClient(), name="Clerk", context_providers=kept.providers, middleware=[sent])
    owned = OwnedApp(agent=agent)
    await owned.say("ada", kept.keep.format(word="word-of-ada"))
    await owned.say("ada", kept.look)
    sent.texts.clear()
    await owned.say("bob", kept.keep.format(word="word-of-bob"))
    bobs = await owned.say("bob", kept.look)
    seen = [*sent.texts, str(bobs)]
    outside = kept.outside or nothing
    before = await outside()

    erased = await owned.ask("ada", "DELETE", "/api/owners/me")
    await owned.stored()

    after = await outside()
    assert erased.status_code in (200, 204), erased.text
    assert [text for text in seen if "of-ada" in text] == []
    assert any("of-bob" in text for text in seen)
    if kept.outside is not None:
        assert ("of-ada" in before, "of-bob" in before) == (True, True)
        assert ("of-ada" in after, "of-bob" in after) == (False, True)
