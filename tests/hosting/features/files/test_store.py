"""The store of files in a session: its limits, parallel calls of tools, and a store of attachments that is away."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from agent_framework import AgentFileStore, AgentSession, FileMemoryProvider, InMemoryAgentFileStore, SessionContext

from hosting.errors import AttachmentsUnavailableError, LogUnavailableError
from hosting.features.files.provider import HostedFiles
from hosting.features.files.store import MOST_BYTES, MOST_FILE_BYTES, MOST_FILES, SessionFiles

LONG = "Kilometre by kilometre. " * 40


class Contents:
    """The attachments of a thread, which may be away, and take their time."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}
        self.is_away = False

    async def put(self, name: str, content: bytes) -> None:
        await self._reach()
        self.kept[name] = content

    async def read(self, name: str) -> bytes | None:
        await self._reach()
        return self.kept.get(name)

    async def _reach(self) -> None:
        await asyncio.sleep(0)  # another call comes between
        if self.is_away:
            raise AttachmentsUnavailableError("the store is away")


class OfRun:
    """A run whose session has its files."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents

    def files(self, shelf: str | None, state: dict[str, Any], own: AgentFileStore) -> SessionFiles:
        """Return those of the session, as before the run has begun."""
        return SessionFiles(state, self._contents)  # type: ignore[arg-type]  # the part that it reaches


def files_in(state: dict[str, Any], contents: Contents) -> SessionFiles:
    files = SessionFiles(state, contents)  # type: ignore[arg-type]  # the part that it reaches
    files.has_begun = True
    return files


@pytest.mark.behaviour("files.bounded")
async def test_a_file_too_many_or_too_large_is_refused_with_what_to_do() -> None:
    files, fitting = files_in({}, Contents()), MOST_BYTES // MOST_FILE_BYTES
    with pytest.raises(ValueError, match=f"a file has at most {MOST_FILE_BYTES}. Write a part of it."):
        await files.write("a", "x" * (MOST_FILE_BYTES + 1))
    with pytest.raises(ValueError, match="at most 255 are allowed"):
        await files.write("a" * 256, "x")
    for number in range(fitting):
        await files.write(f"{number}", "x" * MOST_FILE_BYTES)
    with pytest.raises(ValueError, match="Delete some"):
        await files.write("more", "x")
    await files.write("0", "small again")
    for number in range(fitting, MOST_FILES):
        await files.write(f"{number}", "x")
    with pytest.raises(ValueError, match=f"there are {MOST_FILES} files, which is the most. Delete some"):
        await files.write("more", "x")
    await files.write("0", "another text")

    assert [len(await files.list_children()), await files.read("0"), await files.read("more")] == [
        MOST_FILES,
        "another text",
        None,
    ]


@pytest.mark.behaviour("files.with-the-thread")
async def test_parallel_calls_lose_nothing_of_each_other() -> None:
    """Each writes a file of its own; of two that create one file, one does."""
    files = files_in({}, Contents())
    names = [f"{number}.md" for number in range(9)]

    await asyncio.gather(*(files.write(name, f"{name} {LONG}") for name in names))
    created = await asyncio.gather(
        *(files.write("one.md", f"{number} {LONG}", overwrite=False) for number in range(3)), return_exceptions=True
    )

    assert [await files.read(name) for name in names] == [f"{name} {LONG}" for name in names]
    assert [type(outcome) for outcome in created] == [type(None), FileExistsError, FileExistsError]
    assert await files.read("one.md") == f"0 {LONG}"


@pytest.mark.behaviour("files.with-the-thread")
async def test_a_store_that_is_away_is_a_sentence_for_the_model_and_changes_no_file() -> None:
    contents, state = Contents(), dict[str, Any]()
    await files_in(state, contents).write("long.md", LONG)
    contents.is_away = True
    files = files_in(state, contents)

    with pytest.raises(OSError, match="cannot be reached now"):
        await files.write("long.md", f"other {LONG}")
    with pytest.raises(OSError, match="cannot be reached now"):
        await files.read("long.md")
    await files.write("short.md", "short")
    contents.is_away = False

    assert [await files.read("long.md"), await files.read("short.md")] == [LONG, "short"]


@pytest.mark.behaviour("files.through-a-kill")
async def test_an_attempt_does_not_begin_without_the_list_of_files_that_every_other_has() -> None:
    """It ends, and the run goes on in a later attempt: its model is to be given the same messages."""
    contents, session, state = Contents(), AgentSession(), dict[str, Any]()
    files = files_in(state, contents)
    await files.write("session/memories.md", LONG)
    contents.is_away = True
    provider = HostedFiles(FileMemoryProvider(InMemoryAgentFileStore()), lambda: OfRun(contents))  # type: ignore[arg-type, return-value]

    with pytest.raises(LogUnavailableError):
        await provider.before_run(agent=None, session=session, context=SessionContext(input_messages=[]), state=state)
    contents.is_away = False
    context = SessionContext(input_messages=[])
    await provider.before_run(agent=None, session=session, context=context, state=state)

    assert LONG in context.context_messages["file_memory"][0].text


@pytest.mark.behaviour("files.with-the-thread")
@pytest.mark.parametrize("path", ["", "/", "/etc/passwd", "a/../b", "..", "\\a"])
async def test_a_path_that_leaves_the_files_is_none(path: str) -> None:
    with pytest.raises(ValueError, match="is no path of a file"):
        await files_in({}, Contents()).write(path, "x")
