"""The records of uploaded files, and the places where they stand.

A file has one cell for all its life (`hosting.core.cells`): while it is uploaded, while it is stored, and while it is
removed. Whoever moves it from one to the next does so by a change of this cell, so of two who try, one does.

Contents belong to an account: the owner's, for all files of that owner, or the agent's own. A content has a cell too,
under its hash, with the ids of the files that have it. It goes with the last of them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

from msgspec import Struct
from pydantic import BaseModel, ConfigDict

from hosting.core.cells import Cell, CellKind
from hosting.errors import NewerVersionError
from hosting.names import APP, Address, StoreKey, new_id, store_space, thread_key

VERSION = 1
RECORD = "upload-"
"""How the names of the records begin that stand among the attachments of a thread with files."""

State = Literal["uploading", "stored", "removing"]
IndexState = Literal["queued", "reading", "embedding", "ready", "failed"]

_EVERYBODY, _NOBODY = "everybody", "nobody"
"""The owners in addresses for an agent's own files, and for those of an app where nobody signs in: no person is named
so, and `ThreadStore.heads` lists them."""

_OF_OWNER, _OF_AGENT, _OF_THREAD = "o", "a", "t"
_DIGEST_LENGTH = 24
_MILLISECONDS_LENGTH = 11


class Account(Struct, frozen=True):
    """The files whose contents and quota are one: an owner's with every agent, or an agent's own."""

    agent: str
    owner: str

    def cell(self, kind: CellKind[Any], key: str = "") -> Cell[Any]:
        """Return a cell of the account."""
        return Cell(kind, self.agent, self.owner, key)

    def contents(self, hub: str) -> StoreKey:
        """Return where the contents are, in an app of that task hub."""
        return StoreKey(store_space(hub, "uploads"), self.cell(LEDGER).address.key)

    def due(self, hub: str) -> StoreKey:
        """Return where the names of files are that have something left to do."""
        return StoreKey(store_space(hub, "uploads-due"), self.cell(LEDGER).address.key)


class Scope(Struct, frozen=True):
    """Where files are: an owner's (`agent` is ""), an agent's own (`owner` is ""), or one life of a thread.

    `agent` is in lower case. Where nobody signs in the owner is `app`.
    """

    agent: str = ""
    owner: str = ""
    thread_id: str = ""
    epoch: int = 0

    @classmethod
    def of_thread(cls, address: Address, epoch: int) -> Scope:
        """Return that of a thread in that life."""
        return cls(address.agent, address.owner, address.thread_id, epoch)

    @property
    def address(self) -> Address:
        """The thread."""
        return Address.of(self.agent, self.thread_id, self.owner)

    @property
    def account(self) -> Account:
        """The account of the files."""
        return Account(APP, _in_address(self.owner)) if self.owner else Account(self.agent, _EVERYBODY)

    @property
    def prefix(self) -> str:
        """How the keys of the files' cells begin."""
        if self.thread_id:
            return f"{_OF_THREAD}{thread_key(self.address, self.epoch)[:_DIGEST_LENGTH]}-"
        return f"{_OF_OWNER if self.owner else _OF_AGENT}-"

    def cell(self, file_id: str) -> Cell[UploadedFile | None]:
        """Return the cell of a file."""
        return Cell(FILES, self.agent or APP, _in_address(self.owner), f"{self.prefix}{file_id}")

    @property
    def text(self) -> bytes:
        """The scope as it is stored."""
        return json.dumps([self.agent, self.owner, self.thread_id, self.epoch]).encode()

    @classmethod
    def of_text(cls, text: bytes) -> Scope:
        """Return the scope that was stored."""
        return cls(*json.loads(text))


class _Record(BaseModel):
    """A stored value. What a newer version added to it stays."""

    model_config = ConfigDict(frozen=True, extra="allow")

    v: int = 1


class Part(BaseModel):
    """A part of a content: its pieces are named by the content's id, the part's, and their numbers."""

    model_config = ConfigDict(frozen=True, extra="allow")

    id: str
    bytes: int


class FileIndex(BaseModel):
    """How far the job of that number is that makes a file ready for search, since `at` (seconds since 1970).

    Of `chunks` so many are `embedded`. `model` and `size` are those of the vectors in the index, of an earlier job
    until it is `ready`. A job that `failed` has a `code` and an `error`, a sentence for people.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    state: IndexState
    job: int = 1
    at: float
    chunks: int = 0
    embedded: int = 0
    model: str = ""
    size: int = 0
    code: str = ""
    error: str = ""


class Origin(BaseModel):
    """The file of another thread that an upload is to be, once its own thread has begun with that `source`."""

    model_config = ConfigDict(frozen=True, extra="allow")

    source: str
    scope: tuple[str, str, str, int]
    file_id: str


class UploadedFile(_Record):
    """A file. `content` is the id of its content, which files with the same bytes share, and `parts` are in its order.

    While it is `uploading`, `bytes` are those that it may have, `parts` those that have come, and it lasts until
    `expires_at`. While it is `removing` its cell lasts so long, where another process may not know yet that it is gone.
    `due`: the follower may not know it yet. `in_parts`: its parts come in requests of their own. `counted`: it was
    stored, and counts in the sums. Times are seconds since 1970.

    `indexes` say by recipe how far a search is with it: empty where nothing searches it. With an `origin` it is to
    go along with a conversation.
    """

    id: str
    state: State = "uploading"
    name: str
    media_type: str
    purpose: str = ""
    bytes: int
    created_at: float
    sha256: str = ""
    content: str = ""
    parts: tuple[Part, ...] = ()
    expires_at: float | None = None
    in_parts: bool = False
    due: bool = False
    counted: bool = False
    thread_id: str = ""
    epoch: int = 0
    indexes: Mapping[str, FileIndex] = {}
    origin: Origin | None = None

    def scope(self, cell_agent: str, owner: str) -> Scope:
        """Return where it is, among the cells of an agent and an owner (`app` where nobody signs in)."""
        return Scope(cell_agent if self.thread_id else "", owner, self.thread_id, self.epoch)


class SharedContent(_Record):
    """A content of an account, and the ids of the files that have it; without files there is none.

    Uploads that are `barred` are removed: a process that does not know it yet does not get this content any more.
    """

    id: str = ""
    parts: tuple[Part, ...] = ()
    files: tuple[str, ...] = ()
    barred: tuple[str, ...] = ()

    def joined(self, file: UploadedFile) -> SharedContent:
        """Return it with a file, whose content it is if there was none."""
        content = self if self.files else self.model_copy(update={"id": file.id, "parts": file.parts})
        return content.model_copy(update={"files": (*self.files, file.id)})

    def barring(self, file_id: str) -> SharedContent:
        """Return it with a file that does not join any more; one that has joined leaves by itself."""
        return self if file_id in self.barred else self.model_copy(update={"barred": (*self.barred, file_id)})

    def left(self, file_id: str, *, barred: bool) -> SharedContent | None:
        """Return it without a file, which is `barred` from now on or no more; None where nothing is left."""
        files = tuple(id_ for id_ in self.files if id_ != file_id)
        others = tuple(id_ for id_ in self.barred if id_ != file_id)
        newer: dict[str, object] = {"files": files, "barred": (*others, file_id) if barred else others}
        if not files:
            newer |= {"id": "", "parts": ()}
        content = self.model_copy(update=newer)
        return content if content.files or content.barred else None


class Ledger(_Record):
    """What an account has stored, and what it has open: the bytes that each upload may have.

    Files are `closing` that were taken out of the sums and whose cells may be there; the newest of those that are gone
    are `closed`: each is taken out once. `id` is another one each time that the account has files again.
    """

    id: str = ""
    bytes: int = 0
    files: int = 0
    open: Mapping[str, int] = {}
    closing: tuple[str, ...] = ()
    closed: tuple[str, ...] = ()


RecordT = TypeVar("RecordT", bound=_Record)


def _reader(model: type[RecordT]) -> Callable[[bytes | None], RecordT | None]:
    def read(payload: bytes | None) -> RecordT | None:
        record = None if payload is None else model.model_validate_json(payload)
        if record is not None and record.v > VERSION:
            raise NewerVersionError("A newer version of this app wrote these files. Try again; the newer one answers.")
        return record

    return read


def _write(record: BaseModel | None) -> bytes | None:
    return None if record is None else record.model_dump_json(exclude_defaults=True).encode()


FILES: CellKind[UploadedFile | None] = CellKind("uploads", "file", _reader(UploadedFile), _write)
CONTENTS: CellKind[SharedContent | None] = CellKind("uploads.contents", "hash", _reader(SharedContent), _write)
LEDGER: CellKind[Ledger | None] = CellKind("uploads.ledger", "sums", _reader(Ledger), _write)


def new_file_id(now: float) -> str:
    """Return a fresh id of 32 hexadecimal digits: ids sort by the time."""
    return f"{int(now * 1000):0{_MILLISECONDS_LENGTH}x}"[:_MILLISECONDS_LENGTH] + new_id()[_MILLISECONDS_LENGTH:]


def owner_cells(agent: str, owner: str) -> Cell[UploadedFile | None]:
    """Return a cell whose siblings are all files that an owner has with an agent; "" for those with every agent."""
    return Cell(FILES, agent or APP, _in_address(owner))


def _in_address(owner: str) -> str:
    return {"": _EVERYBODY, APP: _NOBODY}.get(owner, owner)
