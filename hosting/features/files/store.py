"""`SessionFiles`: agent-framework's store of files, in the session of one run.

Theory. The session's state has the files by their paths: a short content itself, and of a longer one the reference to
an attachment of the thread, which is written before the state names it. The state is what a run's steps record, so a
file is there exactly if the tool call that wrote it is. A killed process, a failed run or a late attempt leaves at most
an attachment that nothing refers to, and the sweep over uploads removes that. An attachment's name is its hash, so to
write it twice is as good as once.

All changes of the state happen on the agents' loop between two awaits. So of two parallel tool calls each sees all of
the other's change or nothing of it.
"""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from agent_framework import AgentFileStore, FileStoreEntry
from msgspec import Struct

from hosting.core.agent.held_run import HeldRun
from hosting.core.stores.stores import Stores
from hosting.core.thread_log import epoch_store_key
from hosting.errors import AttachmentsUnavailableError, LogUnavailableError
from hosting.names import StoreKey
from state.contents import ATTACHMENT

FILES = "files"
"""The member of a provider's state. It is stored."""
TEXT = "text"
"""The member of a file with its content, where that is short. It is stored."""

MOST_FILES = 200
MOST_FILE_BYTES = 1024 * 1024
MOST_BYTES = 16 * 1024 * 1024
MOST_PATH_CHARACTERS = 255
"""The limits of one provider's files in one thread."""
MOST_STATE_BYTES = 128 * 1024
"""The most bytes of all files where they are in the state themselves: it is written with every step."""
AWAY = "the files cannot be reached now. Try again"
INLINE_BYTES = 512
"""A content above this is an attachment: the state is read and written with every turn."""

File = Mapping[str, Any]


class RunContents(Struct, frozen=True):
    """The attachments of one run's thread, from the loop that the agent runs on.

    Both methods raise `AttachmentsUnavailableError`.
    """

    stores: Stores
    held: HeldRun

    @property
    def _store_key(self) -> StoreKey:
        return epoch_store_key(self.stores.hub, self.held.address, self.held.run.epoch)

    async def put(self, name: str, content: bytes) -> None:
        """Keep a content under its hash. It counts as put now, so no sweep takes it before a step refers to it."""
        await self.held.on_loop(self.stores.attachments.put(self._store_key, {name: content}))

    async def read(self, name: str) -> bytes | None:
        """Return the content, None where it is gone."""
        return (await self.held.on_loop(self.stores.attachments.read(self._store_key, [name]))).get(name)


class SessionFiles(AgentFileStore):
    """The files of one provider in the `state` that it has in the session of a run; without `contents` all of them.

    Until the run `has_begun`, a store of attachments that is away ends the attempt, and another goes on later: one that
    began with less than the thread has would differ from every other attempt. After that the model reads of it.
    """

    def __init__(self, state: dict[str, Any], contents: RunContents | None) -> None:
        self.has_begun = False
        self._state = state
        self._contents = contents
        self._known: dict[str, str] = {}

    async def write(self, path: str, content: str, *, overwrite: bool = True) -> None:
        """Write a file. Raises `ValueError` with a sentence for the model where a limit is reached."""
        path, body = checked_path(path), content.encode()
        self._refuse(path, len(body), overwrite=overwrite)
        file: File = {TEXT: content}
        if self._contents is not None and len(body) > INLINE_BYTES:
            name = hashlib.sha256(body).hexdigest()
            try:
                await self._contents.put(name, body)
            except AttachmentsUnavailableError as error:
                raise self._unavailable() from error
            self._refuse(path, len(body), overwrite=overwrite)  # another call may have written meanwhile
            self._known[name] = content
            file = {ATTACHMENT: {"sha256": name, "bytes": len(body), "mediaType": "text/plain"}}
        self._state[FILES] = {**self._files, path: file}

    async def read(self, path: str) -> str | None:
        """Return the content of a file, None where there is none."""
        file = self._files.get(checked_path(path))
        if file is None or TEXT in file or self._contents is None:
            return None if file is None else str(file[TEXT])
        name = str(file[ATTACHMENT]["sha256"])
        if name not in self._known:
            try:
                body = await self._contents.read(name)
            except AttachmentsUnavailableError as error:
                raise self._unavailable() from error
            if body is None:
                raise FileNotFoundError(errno.ENOENT, "its content is no longer kept")
            self._known[name] = body.decode()
        return self._known[name]

    async def delete(self, path: str) -> bool:
        """Remove a file, and return whether there was one."""
        files = self._files
        if (path := checked_path(path)) not in files:
            return False
        self._state[FILES] = {name: file for name, file in files.items() if name != path}
        return True

    async def list_children(self, directory: str = "") -> list[FileStoreEntry]:
        """Return the folders and the files of a directory, each by name; a directory is there while it has a file."""
        return children(self._files, directory)

    async def file_exists(self, path: str) -> bool:
        """Return whether there is a file at the path."""
        return checked_path(path) in self._files

    async def create_directory(self, path: str) -> None:
        """Do nothing: a directory is there with its first file."""

    @property
    def _files(self) -> Mapping[str, File]:
        """The files by path. They are replaced and never changed: the state may be put back from a record."""
        files: Mapping[str, File] = self._state.get(FILES, {})
        return files

    def _refuse(self, path: str, size: int, *, overwrite: bool) -> None:
        sizes = {name: _bytes_of(file) for name, file in self._files.items()}
        most_bytes = MOST_STATE_BYTES if self._contents is None else MOST_BYTES
        refuse(sizes, path, size, overwrite=overwrite, most_bytes=most_bytes)

    def _unavailable(self) -> Exception:
        if not self.has_begun:
            return LogUnavailableError()
        return OSError(errno.EIO, AWAY)


def _bytes_of(file: File) -> int:
    return int(file[ATTACHMENT]["bytes"]) if ATTACHMENT in file else len(str(file[TEXT]).encode())


def refuse(sizes: Mapping[str, int], path: str, size: int, *, overwrite: bool, most_bytes: int) -> None:
    """Raise for a path that cannot be written, and where a limit is reached; `sizes` are those of the files by path."""
    if path in sizes and not overwrite:
        raise FileExistsError(errno.EEXIST, "The file exists already.", path)
    if any(name.startswith(f"{path}/") for name in sizes):
        raise IsADirectoryError(errno.EISDIR, "The path is a directory.", path)
    if any(path.startswith(f"{name}/") for name in sizes):
        raise NotADirectoryError(errno.ENOTDIR, "A part of the path is a file.", path)
    if size > MOST_FILE_BYTES:
        raise ValueError(f"it has {size} bytes, and a file has at most {MOST_FILE_BYTES}. Write a part of it.")
    if path not in sizes and len(sizes) >= MOST_FILES:
        raise ValueError(f"there are {len(sizes)} files, which is the most. Delete some that are not needed.")
    if size + sum(sizes.values()) - sizes.get(path, 0) > most_bytes:
        raise ValueError(f"all files together have at most {most_bytes} bytes. Delete some that are not needed.")


def children(paths: Iterable[str], directory: str) -> list[FileStoreEntry]:
    """Return the folders and the files of a directory, each by name, as `AgentFileStore.list_children` does."""
    folder = f"{checked_path(directory)}/" if directory.strip("/") else ""
    below = [path[len(folder) :].split("/", 1) for path in paths if path.startswith(folder)]
    folders = sorted({parts[0] for parts in below if len(parts) > 1})
    files = sorted(parts[0] for parts in below if len(parts) == 1)
    return [
        *(FileStoreEntry(name, FileStoreEntry.DIRECTORY) for name in folders),
        *(FileStoreEntry(name, FileStoreEntry.FILE) for name in files),
    ]


def checked_path(path: str) -> str:
    """Return the path with single slashes; raise `ValueError` for one that leaves the files, or is too long."""
    slashed = path.strip().replace("\\", "/")
    parts = [part for part in slashed.split("/") if part]
    if not parts or slashed.startswith("/") or not {".", ".."}.isdisjoint(parts):
        raise ValueError(f"{path!r:.80} is no path of a file. Send one such as 'notes/plan.md'.")
    joined = "/".join(parts)
    if len(joined) > MOST_PATH_CHARACTERS:
        raise ValueError(f"the path has {len(joined)} characters, and at most {MOST_PATH_CHARACTERS} are allowed.")
    joined.encode()  # half a character is refused, as every file system does
    return joined
