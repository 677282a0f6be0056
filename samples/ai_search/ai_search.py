"""Azure AI Search as the search engine of an app: a document for each text of a thread."""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence

from azure.core.credentials import AzureKeyCredential
from azure.identity.aio import DefaultAzureCredential
from azure.search.documents.aio import SearchClient
from azure.search.documents.indexes.aio import SearchIndexClient
from azure.search.documents.indexes.models import SearchableField, SearchIndex, SimpleField

from hosting.app import SearchHit, SearchQuery, ThreadPlace, ThreadText

MOST_DOCUMENTS = 1000
"""The service takes so many documents in one request."""
FIELDS = [
    SimpleField(name="id", type="Edm.String", key=True),
    SimpleField(name="owner", type="Edm.String", filterable=True),
    SimpleField(name="agent", type="Edm.String", filterable=True),
    SimpleField(name="thread_id", type="Edm.String"),
    SimpleField(name="position", type="Edm.Int32"),
    SearchableField(name="text", type="Edm.String"),
]


class AiSearch:
    """A search engine for `AgentFunctionApp(search=...)`, over one index of the service, which it makes."""

    def __init__(self, endpoint: str, index: str = "threads", key: str | None = None) -> None:
        """Without a `key` the app signs in by its managed identity."""
        credential = AzureKeyCredential(key) if key else DefaultAzureCredential()
        self._indexes = SearchIndexClient(endpoint, credential, retry_total=2)
        self._documents = SearchClient(endpoint, index, credential, retry_total=2)
        self._index = index
        self._making: asyncio.Task[None] | None = None

    async def put(self, texts: Sequence[ThreadText]) -> None:
        """Keep these texts in place of those at their positions."""
        await self._made()
        await self._send([{**_key(text.thread, text.position), **_fields(text)} for text in texts], "upload_documents")

    async def remove(self, thread: ThreadPlace, through: int) -> None:
        """Remove the texts at positions 0 to `through`: by their keys, for a search may not find the newest yet."""
        await self._made()
        await self._send([_key(thread, position) for position in range(through + 1)], "delete_documents")

    async def find(self, query: SearchQuery) -> Sequence[SearchHit]:
        """Return the texts with all words and phrases, those of the highest score first."""
        await self._made()
        results = await self._documents.search(
            " ".join(_written(term.text, is_phrase=term.is_phrase, begins=term.begins) for term in query.terms),
            filter=f"owner eq '{query.owner}' and search.in(agent, '{'|'.join(query.agents)}', '|')",
            search_mode="all",
            query_type="simple",
            select=["owner", "agent", "thread_id", "position"],
            top=query.most,
        )
        return [
            SearchHit(ThreadPlace(found["owner"], found["agent"], found["thread_id"]), found["position"])
            async for found in results
        ]

    async def close(self) -> None:
        """Let go of connections."""
        await self._documents.close()
        await self._indexes.close()

    async def _send(self, documents: Sequence[Mapping[str, object]], action: str) -> None:
        for first in range(0, len(documents), MOST_DOCUMENTS):
            send = getattr(self._documents, action)
            results = await send(documents=documents[first : first + MOST_DOCUMENTS])
            if not all(result.succeeded for result in results):
                raise ConnectionError("The service has not taken all documents.")

    async def _made(self) -> None:
        """Make the index, once for each process."""
        if self._making is None or (self._making.done() and self._making.exception() is not None):
            self._making = asyncio.create_task(self._make())
        await asyncio.shield(self._making)

    async def _make(self) -> None:
        await self._indexes.create_or_update_index(SearchIndex(name=self._index, fields=FIELDS))


def _key(thread: ThreadPlace, position: int) -> dict[str, object]:
    name = f"{thread.owner}/{thread.agent}/{thread.thread_id}"
    return {"id": f"{hashlib.sha256(name.encode()).hexdigest()}-{position}"}


def _fields(text: ThreadText) -> dict[str, object]:
    place = text.thread
    return {
        "owner": place.owner,
        "agent": place.agent,
        "thread_id": place.thread_id,
        "position": text.position,
        "text": text.text,
    }


def _written(term: str, *, is_phrase: bool, begins: bool) -> str:
    """Return a word or a phrase in the service's simple syntax, which has no phrases that end in half a word."""
    if not is_phrase:
        return f"{term}*" if begins else term
    whole, _, last = term.rpartition(" ") if begins else (term, "", "")
    return " ".join([*([f'"{whole}"'] if whole else []), *([f"{last}*"] if last else [])])
