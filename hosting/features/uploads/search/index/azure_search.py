"""An index of chunks in Azure AI Search: a document for each chunk, in an index of the service for each model.

Theory. A document's key is made of the scope, the file and the chunk's number. So what is added again stands in the
same documents, by whichever process, and a killed addition is finished by the next one. The service has no transaction
over documents: a search while a file is added finds a part of it, and the file's own state says when all of it is
there. What is removed is asked for until the service names nothing more.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any, TypeVar

from azure.core.credentials import AzureKeyCredential
from azure.core.exceptions import AzureError, ResourceNotFoundError
from azure.identity.aio import DefaultAzureCredential
from azure.search.documents.aio import SearchClient
from azure.search.documents.indexes.aio import SearchIndexClient
from azure.search.documents.indexes.models import (
    HnswAlgorithmConfiguration,
    HnswParameters,
    SearchableField,
    SearchField,
    SearchFieldDataType,
    SearchIndex,
    SimpleField,
    VectorSearch,
    VectorSearchProfile,
)
from azure.search.documents.models import VectorizedQuery

from hosting.core.stores.connection import BoundedConnection
from hosting.errors import ConfigurationError
from hosting.features.uploads.refusals import ChunkIndexUnavailableError
from hosting.features.uploads.search.chunk import Chunk, TextPlace
from hosting.features.uploads.search.index.catalog import model_key
from hosting.features.uploads.search.index.contract import (
    ChunkQuery,
    FoundChunk,
    IndexedChunk,
    IndexSpace,
    checked_vector,
    one_model,
)
from hosting.features.uploads.search.index.postings import query_words

PREFIX = "agent-files"
"""What the names of the service's indexes begin with."""
PATIENCE_SECONDS = 30.0
_CLIENT_ID = "AZURE_CLIENT_ID"
_VALUE = re.compile(r"(https?://[^\s;/]+)/?(?:;key=(\S+))?")
_BATCH = 200
"""Documents of one call: a vector of 3,072 numbers takes about 60 kB there, and a call may have 16 MB."""
_PAGE = 1000
_LEFT_SECONDS = 0.2
_MOST_LOOKS = 100
_NEAR = "near"
_VECTOR = "Collection(Edm.Single)"
_MOST_FUSED = 2 / 60
"""The score of the service for a chunk that is first by its vector and by its words."""
_FUSED = 50
"""So many of the nearest vectors, at least, are fused with the chunks that have the words."""

T = TypeVar("T")


class SearchService:
    """The clients of one service."""

    def __init__(self, address: str, credential: Any) -> None:
        self._address, self._credential = address, credential
        self._documents: dict[str, SearchClient] = {}
        self.indexes = SearchIndexClient(address, credential)

    def documents(self, index: str) -> SearchClient:
        """Return the client of an index's documents."""
        if index not in self._documents:
            self._documents[index] = SearchClient(self._address, index, self._credential)
        return self._documents[index]

    async def close(self) -> None:
        """Close all connections."""
        for client in self._documents.values():
            await client.close()
        await self.indexes.close()


ConnectService = Callable[[], AbstractAsyncContextManager[SearchService]]


def search_service(setting: str, value: str, environ: Mapping[str, str]) -> ConnectService:
    """Return how to connect to the service that the `value` of a setting names.

    It is an address, for the app's identity (that of `AZURE_CLIENT_ID`, where it is set), or an address with a key:
    `https://NAME.search.windows.net;key=KEY`. Raises `ConfigurationError` for any other value.
    """
    parts = _VALUE.fullmatch(value.strip())
    if parts is None or (parts[1].startswith("http://") and not parts[2]):
        raise ConfigurationError(
            f"{setting} is not an address of Azure AI Search. Set it to https://NAME.search.windows.net."
        )

    @asynccontextmanager
    async def connect() -> AsyncIterator[SearchService]:
        async with AsyncExitStack() as opened:
            if parts[2]:
                credential: Any = AzureKeyCredential(parts[2])
            else:
                credential = DefaultAzureCredential(managed_identity_client_id=environ.get(_CLIENT_ID))
                await opened.enter_async_context(credential)
            service = SearchService(parts[1], credential)
            opened.push_async_callback(service.close)
            yield service

    return connect


class AzureSearchChunkIndex:
    """A `ChunkIndex` in Azure AI Search, of one app with the task hub `hub`, for one event loop.

    Raises `ChunkIndexUnavailableError`.
    """

    def __init__(
        self, connect: ConnectService, hub: str, prefix: str = PREFIX, patience_seconds: float = PATIENCE_SECONDS
    ) -> None:
        self._service = BoundedConnection(
            "Azure AI Search", connect, ChunkIndexUnavailableError, patience_seconds, AzureError
        )
        self._hub, self._prefix = hub, prefix

    async def add(self, space: IndexSpace, file_id: str, chunks: Sequence[IndexedChunk]) -> None:
        """Write a document for each chunk, and remove those of a longer text that was there before."""
        documents = await asyncio.to_thread(lambda: [self._document(space, file_id, indexed) for indexed in chunks])
        for first in range(0, len(documents), _BATCH):
            await self._call(partial(self._upload, space, documents[first : first + _BATCH]))
        most = max((indexed.chunk.number for indexed in chunks), default=-1)
        await self._delete(self._index(space), f"{self._of_file(space, file_id)} and number gt {most}")

    async def remove(self, space: IndexSpace, file_id: str) -> int:
        """Remove the documents of a file."""
        return sum([await self._delete(index, self._of_file(space, file_id)) for index in await self._indexes(space)])

    async def search(self, spaces: Sequence[IndexSpace], query: ChunkQuery) -> Sequence[FoundChunk]:
        """Return the chunks that fit best, by the service's own fusion of both orders."""
        if not spaces:
            return []
        size = one_model(spaces)[1]
        vector = VectorizedQuery(
            vector=[float(number) for number in checked_vector(query.vector, size)],
            k_nearest_neighbors=max(query.most, _FUSED),
            fields="vector",
        )
        words = " ".join(query_words(query.text))
        chosen = f"search.in(scope, '{','.join(map(self._scope, spaces))}', ',')"
        if query.file_ids is not None:
            chosen += f" and search.in(file, '{','.join(map(_digest, sorted(query.file_ids)))}', ',')"

        async def found(service: SearchService) -> list[dict[str, Any]]:
            pages = await service.documents(self._index(spaces[0])).search(
                words or None,
                vector_queries=[vector],
                filter=chosen,
                vector_filter_mode="preFilter",
                search_fields=["text"],
                select=["file_id", "number", "text", "page", "label", "start", "end"],
                top=query.most,
            )
            return [document async for document in pages]

        try:
            documents = await self._call(found)
        except _NoIndexError:
            return []
        return [_found(document, is_fused=bool(words)) for document in documents]

    async def erase(self, space: IndexSpace) -> int:
        """Remove all documents of the scope."""
        chosen = f"scope eq '{self._scope(space)}'"
        return sum([await self._delete(index, chosen) for index in await self._indexes(space)])

    async def close(self) -> None:
        """Close the connections."""
        await self._service.close()

    async def _upload(self, space: IndexSpace, documents: list[dict[str, Any]], service: SearchService) -> None:
        client = service.documents(self._index(space))
        try:
            results = await client.upload_documents(documents)
        except ResourceNotFoundError:
            await service.indexes.create_or_update_index(_definition(self._index(space), space.size))
            results = await client.upload_documents(documents)
        _check(results)

    async def _delete(self, index: str, chosen: str) -> int:
        """Remove the chosen documents, and return how many there were: a search may still name removed ones."""

        async def listed(service: SearchService) -> list[dict[str, Any]]:
            pages = await service.documents(index).search("*", filter=chosen, select=["id"], top=_PAGE)
            return [document async for document in pages]

        async def deleted(service: SearchService, ids: set[str]) -> None:
            _check(await service.documents(index).delete_documents([{"id": id_} for id_ in sorted(ids)]))

        removed = set[str]()
        for _ in range(_MOST_LOOKS):
            try:
                ids = {str(document["id"]) for document in await self._call(listed)}
            except _NoIndexError:
                return 0
            if not ids:
                return len(removed)
            if ids <= removed:
                await asyncio.sleep(_LEFT_SECONDS)
            else:
                await self._call(partial(deleted, ids=ids - removed))
                removed |= ids
        raise ChunkIndexUnavailableError

    async def _indexes(self, space: IndexSpace) -> list[str]:
        """Return the indexes of the space's model, or of all models."""
        if space.model:
            return [self._index(space)]

        async def listed(service: SearchService) -> list[str]:
            return [str(name) async for name in service.indexes.list_index_names()]

        return [name for name in await self._call(listed) if name.startswith(f"{self._prefix}-")]

    async def _call(self, call: Callable[[SearchService], Awaitable[T]]) -> T:
        async def looked(service: SearchService) -> T:
            try:
                return await call(service)
            except ResourceNotFoundError as error:
                raise _NoIndexError from error

        return await self._service.call(looked)

    def _index(self, space: IndexSpace) -> str:
        return f"{self._prefix}-{model_key(space)}"

    def _scope(self, space: IndexSpace) -> str:
        return _digest(json.dumps([self._hub, space.agent, space.owner, space.thread_id, space.epoch]))

    def _of_file(self, space: IndexSpace, file_id: str) -> str:
        return f"scope eq '{self._scope(space)}' and file eq '{_digest(file_id)}'"

    def _document(self, space: IndexSpace, file_id: str, indexed: IndexedChunk) -> dict[str, Any]:
        chunk, scope, file = indexed.chunk, self._scope(space), _digest(file_id)
        return {
            "id": f"{scope}-{file}-{chunk.number}",
            "scope": scope,
            "file": file,
            "file_id": file_id,
            "number": chunk.number,
            "text": chunk.text,
            "page": chunk.place.page,
            "label": chunk.place.label,
            "start": chunk.place.start,
            "end": chunk.place.end,
            "vector": [float(number) for number in checked_vector(indexed.vector, space.size)],
        }


class _NoIndexError(Exception):
    """The service has no index of that name: nothing was added yet."""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _check(results: Sequence[Any]) -> None:
    if not all(result.succeeded for result in results):
        raise ChunkIndexUnavailableError


def _found(document: Mapping[str, Any], *, is_fused: bool) -> FoundChunk:
    """Return a chunk. Without words the service scores one over two less the cosine, with words by both ranks."""
    score = float(document["@search.score"])
    place = TextPlace(document["page"], document["label"], document["start"], document["end"])
    chunk = Chunk(document["number"], document["text"], place)
    return FoundChunk(document["file_id"], chunk, min(1.0, score / _MOST_FUSED if is_fused else score))


def _definition(name: str, size: int) -> SearchIndex:
    text, number = SearchFieldDataType.STRING, SearchFieldDataType.INT32
    return SearchIndex(
        name=name,
        fields=[
            SimpleField(name="id", type=text, key=True),
            SimpleField(name="scope", type=text, filterable=True),
            SimpleField(name="file", type=text, filterable=True),
            SimpleField(name="file_id", type=text),
            SimpleField(name="number", type=number, filterable=True),
            SearchableField(name="text", type=text),
            SimpleField(name="page", type=number),
            SimpleField(name="label", type=text),
            SimpleField(name="start", type=number),
            SimpleField(name="end", type=number),
            SearchField(
                name="vector",
                type=_VECTOR,
                searchable=True,
                hidden=True,
                stored=False,
                vector_search_dimensions=size,
                vector_search_profile_name=_NEAR,
            ),
        ],
        vector_search=VectorSearch(
            algorithms=[HnswAlgorithmConfiguration(name=_NEAR, parameters=HnswParameters(metric="cosine"))],
            profiles=[VectorSearchProfile(name=_NEAR, algorithm_configuration_name=_NEAR)],
        ),
    )
