"""`OwnedFiles`: the files that an owner has with an agent, whichever of their threads wrote them.

Theory. A cell (`hosting.core.cells`) for each agent and owner has the files' paths, and where their contents are. A
content is an object of its own, put under a new name before the cell names it. So a killed process leaves at most an
object that nothing names, and to remove one takes nothing from another writer: no two have one name.

A change is the answer to one call of a tool, and the cell keeps the ids of the newest ones. So a call that is made
again after a crash finds that it was made, also where another run has changed the file since.

A file that was deployed with the app is not the owner's to change: the cell says that it is `deleted` for them.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping

from msgspec import Struct
from pydantic import BaseModel, ConfigDict

from hosting.core.cells import Cell, CellKind, Cells
from hosting.core.deletion import UNUSED_SECONDS
from hosting.core.stores.contract import MOST_HEAD_BYTES
from hosting.core.stores.stores import Stores
from hosting.errors import NewerVersionError
from hosting.features.files.store import refuse
from hosting.names import StoreKey, new_id, store_space
from hosting.ports import Clocks

VERSION = 1
MOST_BYTES = 8 * 1024 * 1024
"""The most bytes of all files that an owner has with an agent: an export holds them at once."""
MOST_INDEX_BYTES = MOST_HEAD_BYTES - 4096
_NEWEST = 64
"""So many of the newest calls are known by their ids."""


class OwnedFile(BaseModel):
    """A file: the name of the object with its content; none for a deployed file that is deleted for the owner."""

    model_config = ConfigDict(frozen=True, extra="allow")

    content: str = ""
    bytes: int = 0
    at: float

    @property
    def deleted(self) -> bool:
        """Whether it only says that the deployed file of its path is not to be seen."""
        return not self.content


Files = Mapping[str, OwnedFile]


class _Index(BaseModel):
    """The stored form: the files of each shelf by path, and the newest calls. Additions of another version stay."""

    model_config = ConfigDict(frozen=True, extra="allow")

    v: int = VERSION
    shelves: Mapping[str, Files] = {}
    done: tuple[str, ...] = ()

    @property
    def contents(self) -> set[str]:
        """The names of the objects that it has."""
        return {file.content for files in self.shelves.values() for file in files.values() if file.content}

    def with_files(self, shelf: str, files: Files, call: str) -> _Index:
        """Return it with other files, by this call. Raises `ValueError` where it is too large."""
        shelves = {**self.shelves, shelf: files}
        newer = self.model_copy(update={"shelves": shelves, "done": (*self.done, call)[-_NEWEST:]})
        if len(_encode(newer)) > MOST_INDEX_BYTES:
            raise ValueError("the list of all files is full. Delete some that are not needed, or use shorter names.")
        return newer


class Shelf(Struct, frozen=True):
    """The files of one provider of an agent, of one owner; `name` says which provider's."""

    agent: str
    owner: str
    name: str


class Seen(Struct, frozen=True):
    """A file as a call of a tool has read it; None for one that the owner had not changed."""

    file: OwnedFile | None


class OwnedFiles:
    """The files of one app's owners, on the loop of its log.

    Each method raises `LogUnavailableError`, `AttachmentsUnavailableError` and `NewerVersionError`.
    """

    def __init__(self, cells: Cells, stores: Stores, clocks: Clocks) -> None:
        self._cells = cells
        self._objects, self._hub = stores.attachments, stores.hub
        self._clocks = clocks

    async def files(self, shelf: Shelf) -> Files:
        """Return the files by path."""
        return (await self._cells.read(_cell(shelf.agent, shelf.owner))).shelves.get(shelf.name, {})

    async def read(self, shelf: Shelf, path: str, file: OwnedFile) -> str:
        """Return the content of a file that was listed, or of the one that has its path since.

        Raises `FileNotFoundError`.
        """
        while True:
            objects = await self._objects.read(self._store_key(shelf.agent, shelf.owner), [file.content])
            if file.content in objects:
                return objects[file.content].decode()
            newer = (await self.files(shelf)).get(path)
            if newer is None or newer.deleted or newer.content == file.content:
                raise FileNotFoundError(errno.ENOENT, "its content is no longer kept")
            file = newer

    async def write(
        self, shelf: Shelf, path: str, body: bytes, call: str, *, overwrite: bool, is_deployed: bool, seen: Seen | None
    ) -> None:
        """Write a file, once for each call. With `seen`, it must be there as it was read.

        Raises `ValueError` and `OSError` with a sentence for the model.
        """
        file = OwnedFile(content=new_id(), bytes=len(body), at=self._clocks.wall())

        def written(files: Files) -> Files:
            known = files.get(path)
            if seen is not None and known != seen.file:
                raise BlockingIOError(errno.EAGAIN, "it was changed meanwhile. Read it again, and then change it")
            if not overwrite and known is None and is_deployed:
                raise FileExistsError(errno.EEXIST, "The file exists already.", path)
            sizes = {name: file.bytes for name, file in files.items() if not file.deleted}
            refuse(sizes, path, len(body), overwrite=overwrite, most_bytes=MOST_BYTES)
            return {**files, path: file}

        index = await self._cells.read(_cell(shelf.agent, shelf.owner))
        if call not in index.done:
            written(index.shelves.get(shelf.name, {}))  # what is refused puts no object
            await self._objects.put(self._store_key(shelf.agent, shelf.owner), {file.content: body})
            await self._change(shelf, call, written, file.content)

    async def delete(self, shelf: Shelf, path: str, call: str, *, is_deployed: bool) -> bool:
        """Remove a file, once for each call, and return whether there was one."""
        was_there = True

        def without(files: Files) -> Files:
            nonlocal was_there
            known = files.get(path)
            was_there = is_deployed if known is None else not known.deleted
            if not was_there:
                return files
            rest = {name: file for name, file in files.items() if name != path}
            return {**rest, path: OwnedFile(at=self._clocks.wall())} if is_deployed else rest

        await self._change(shelf, call, without)
        await self._cells.store.scrub()  # also where nothing was removed: the call before may have been broken off
        return was_there

    async def _change(self, shelf: Shelf, call: str, change: Callable[[Files], Files], put: str = "") -> None:
        """Change the files, unless the call has; `put` is the object that was put for it."""
        unused = set[str]()

        def changed(index: _Index) -> _Index:
            if call in index.done:
                return index
            files = index.shelves.get(shelf.name, {})
            if (newer := change(files)) == files:
                return index
            following = index.with_files(shelf.name, newer, call)
            unused.update(index.contents - following.contents)
            return following

        try:
            index = await self._cells.change(_cell(shelf.agent, shelf.owner), changed)
        except (ValueError, OSError):
            if put:
                await self._objects.erase(self._store_key(shelf.agent, shelf.owner), [put])
            raise
        await self._erase_unused(shelf, index, unused | ({put} - {""}))

    async def _erase_unused(self, shelf: Shelf, index: _Index, unused: set[str]) -> None:
        """Remove these objects, and what a killed process left long ago, but none that the index has."""
        store_key, long_ago = self._store_key(shelf.agent, shelf.owner), self._clocks.wall() - UNUSED_SECONDS
        if names := unused - index.contents:
            await self._objects.erase(store_key, names)
        left = await self._objects.names(store_key)
        if names := {name for name, at in left.items() if at < long_ago} - index.contents:
            await self._objects.erase(store_key, names, before=long_ago)

    async def export(self, agent: str, owner: str) -> dict[str, dict[str, str | None]]:
        """Return the contents by provider and path; None for a deployed file that is deleted for the owner."""
        index = await self._cells.read(_cell(agent, owner))
        objects = await self._objects.read(self._store_key(agent, owner), index.contents)
        texts = {name: body.decode() for name, body in objects.items()}
        return {
            shelf: {path: texts.get(file.content) for path, file in files.items()}
            for shelf, files in index.shelves.items()
            if files
        }

    async def erase(self, agent: str, owner: str) -> int:
        """Remove all files that the owner has with the agent, and return how many contents there were."""
        store_key = self._store_key(agent, owner)
        await self._cells.remove(_cell(agent, owner))
        contents = await self._objects.names(store_key)
        await self._objects.erase(store_key)
        return len(contents)

    def _store_key(self, agent: str, owner: str) -> StoreKey:
        return StoreKey(store_space(self._hub, "files"), _cell(agent, owner).address.key)


def _decode(payload: bytes | None) -> _Index:
    index = _Index() if payload is None else _Index.model_validate_json(payload)
    if index.v > VERSION:
        raise NewerVersionError("A newer version of this app wrote these files. Try again; the newer one answers.")
    return index


def _encode(index: _Index) -> bytes:
    return index.model_dump_json().encode()


_FILES = CellKind("files", "index", _decode, _encode)


def _cell(agent: str, owner: str) -> Cell[_Index]:
    return Cell(_FILES, agent, owner)
