"""`OwnerFiles`: agent-framework's store of files, over those that were deployed with the app.

Theory. A provider whose files are meant for many threads names a folder of the machine, or memory of the process. What
stands there when the app starts is the same in every process, and everybody reads it. What an agent writes there would
be one machine's, and everybody's. So an owner's changes lie over it, and nothing is written there.

The framework edits a file by reading and writing it. What a call of a tool has read must be there when it writes:
another run, in whichever process, may have changed the file meanwhile.
"""

from __future__ import annotations

import copy
import errno
import hashlib
from collections.abc import Coroutine
from typing import Any, TypeVar

from agent_framework import AgentFileStore, FileSearchResult, FileStoreEntry

from hosting.core.agent.held_run import HeldRun
from hosting.errors import HostingError, LogUnavailableError
from hosting.features.files.owned import Files, OwnedFiles, Seen, Shelf
from hosting.features.files.store import AWAY, checked_path, children
from hosting.names import new_id
from hosting.tools import current

_ID_LENGTH = 16

T = TypeVar("T")


class OwnerFiles(AgentFileStore):
    """The files of one owner for one run, by the loop of the agents.

    `deployed` is the store that the app's author gave. Until the run `has_begun`, a store that is away ends the
    attempt; after that the model reads of it.
    """

    def __init__(self, owned: OwnedFiles, held: HeldRun, name: str, deployed: AgentFileStore) -> None:
        self.has_begun = False
        self._owned, self._held, self._deployed = owned, held, deployed
        self._shelf = Shelf(held.address.agent, held.address.owner, name)
        self._seen: dict[tuple[str, str], Seen] = {}
        self._listed: Files | None = None

    async def write(self, path: str, content: str, *, overwrite: bool = True) -> None:
        """Write a file. Raises `ValueError` or `OSError` with a sentence for the model."""
        path, files = checked_path(path), await self._files()
        folders = ["/".join(path.split("/")[:count]) for count in range(1, path.count("/") + 1)]
        for folder in folders:
            if folder not in files and await self._deployed.file_exists(folder):
                raise NotADirectoryError(errno.ENOTDIR, "A part of the path is a file.", path)
        is_deployed = await self._deployed.file_exists(path)
        if not is_deployed and await self._deployed.list_children(path):
            raise IsADirectoryError(errno.EISDIR, "The path is a directory.", path)
        call = _call_key()
        await self._done(
            self._owned.write(
                self._shelf,
                path,
                content.encode(),
                _id_of(call, path),
                overwrite=overwrite,
                is_deployed=is_deployed,
                seen=self._seen.pop((call, path), None),
            )
        )

    async def read(self, path: str) -> str | None:
        """Return the content of a file, None where there is none."""
        path = checked_path(path)
        file = (await self._files()).get(path)
        if call := _call_key():
            self._seen[call, path] = Seen(file)
        if file is None:
            return await self._deployed.read(path)
        return None if file.deleted else await self._done(self._owned.read(self._shelf, path, file))

    async def delete(self, path: str) -> bool:
        """Remove a file for the owner, and return whether there was one."""
        path = checked_path(path)
        is_deployed = await self._deployed.file_exists(path)
        call = _id_of(_call_key(), path)
        return await self._done(self._owned.delete(self._shelf, path, call, is_deployed=is_deployed))

    async def list_children(self, directory: str = "") -> list[FileStoreEntry]:
        """Return the folders and the files of a directory, each by name."""
        files = await self._files()
        folder = f"{checked_path(directory)}/" if directory.strip("/") else ""
        own = {entry.name: entry for entry in children([path for path in files if not files[path].deleted], directory)}
        deployed = [
            entry for entry in await self._deployed.list_children(folder) if f"{folder}{entry.name}" not in files
        ]
        entries = {entry.name: entry for entry in deployed} | own
        return sorted(entries.values(), key=lambda entry: (entry.type != FileStoreEntry.DIRECTORY, entry.name))

    async def file_exists(self, path: str) -> bool:
        """Return whether there is a file at the path."""
        path = checked_path(path)
        file = (await self._files()).get(path)
        return await self._deployed.file_exists(path) if file is None else not file.deleted

    async def search(
        self, directory: str, regex_pattern: str, glob_pattern: str | None = None, *, recursive: bool = False
    ) -> list[FileSearchResult]:
        """Search the files as they are now, which are listed once."""
        now = copy.copy(self)
        now._listed, now._seen = await self._files(), {}
        return await super(OwnerFiles, now).search(directory, regex_pattern, glob_pattern, recursive=recursive)

    async def create_directory(self, path: str) -> None:
        """Do nothing: a directory is there with its first file."""

    async def _files(self) -> Files:
        return await self._done(self._owned.files(self._shelf)) if self._listed is None else self._listed

    async def _done(self, work: Coroutine[Any, Any, T]) -> T:
        """Return the result of the work on the log's loop."""
        try:
            return await self._held.on_loop(work)
        except HostingError as error:
            if not self.has_begun:
                raise LogUnavailableError from error
            raise OSError(errno.EIO, AWAY) from error


def _call_key() -> str:
    """Return the key of the tool's call that is under way; nothing outside of one."""
    try:
        return current().call_key
    except LookupError:
        return ""


def _id_of(call_key: str, path: str) -> str:
    """Return the id by which a change is known when its call is made again."""
    if not call_key:
        return new_id()
    return hashlib.sha256(f"{call_key}\n{path}".encode(errors="surrogatepass")).hexdigest()[:_ID_LENGTH]
