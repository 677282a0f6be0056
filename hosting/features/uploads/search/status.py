"""How far a search is with a file, as readers of the file get it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NotRequired

from typing_extensions import TypedDict

if TYPE_CHECKING:
    from hosting.features.uploads.records import FileIndex, UploadedFile


class ShownIndex(TypedDict):
    """How far the search is with a file: of `chunks` so many are `embedded`.

    Of one that `failed` a `code` and an `error`, a sentence.
    """

    status: Literal["queued", "reading", "embedding", "ready", "failed"]
    chunks: int
    embedded: int
    code: NotRequired[str]
    error: NotRequired[str]


REPLACED = "replaced"
"""The code of a recipe that nothing searches by any more: what it made is about to go."""
AGENT_MISSING = "agent_missing"
"""The code of a job for which no agent of the app searches any more."""
_FAR = ("queued", "reading", "embedding", "failed", "ready")


def shown_index(file: UploadedFile) -> ShownIndex | None:
    """Return how far the search is that has most to do; None where no agent searches the file.

    What agents of an earlier version searched by counts only where nothing else does.
    """
    known = [index for index in file.indexes.values() if index.code != REPLACED]
    indexes = [index for index in known if index.code != AGENT_MISSING] or known
    if not indexes:
        return None
    index: FileIndex = min(indexes, key=lambda index: _FAR.index(index.state))
    shown: ShownIndex = {"status": index.state, "chunks": index.chunks, "embedded": index.embedded}
    if index.state == "failed":
        shown |= {"code": index.code, "error": index.error}
    return shown


def is_replaced(file: UploadedFile, recipe: str) -> bool:
    """Return whether nothing is to be there of a file by that recipe."""
    index = file.indexes.get(recipe)
    return index is None or index.code == REPLACED
