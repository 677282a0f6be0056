"""A small server that speaks the part of Azure AI Search's REST API which an index of vectors and words uses.

It is strict as the service is: it refuses fields that its index does not have, vectors of another size, keys of other
characters, batches that are too large, and filters over fields that are not filterable.
"""

from __future__ import annotations

import math
import re
import socket
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from operator import mul
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

KEY = "a-key-of-the-service"
MOST_DOCUMENTS = 1000
_DOCUMENT_KEY = re.compile(r"[A-Za-z0-9-][A-Za-z0-9_=-]{0,1023}")
_CLAUSE = re.compile(r"search\.in\((\w+), '([^']*)', ','\)|(\w+) eq '([^']*)'|(\w+) gt (-?\d+)")
_WORD = re.compile(r"\w+")
_FUSED_BEHIND = 60

Document = dict[str, Any]


class Refusal(Exception):
    """The service refuses the request."""


class VectorService:
    """One service on a free port of the loopback, which forgets everything with its end.

    Its clients see what they wrote only after `lag` further searches, as those of the service may.
    """

    def __init__(self) -> None:
        self.indexes: dict[str, dict[str, Any]] = {}
        self.documents: dict[str, dict[str, Document]] = {}
        self.lag = 0
        self.is_away = False
        self._stale: dict[str, tuple[int, dict[str, Document]]] = {}
        self._socket = socket.create_server(("127.0.0.1", 0))
        routes = [
            Route("/indexes", self._list, methods=["GET"]),
            Route("/indexes('{index}')", self._put_index, methods=["PUT"]),
            Route("/indexes('{index}')/docs/search.index", self._index, methods=["POST"]),
            Route("/indexes('{index}')/docs/search.post.search", self._search, methods=["POST"]),
        ]
        app = Starlette(routes=routes, exception_handlers={Refusal: _refused})
        self._server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="off"))
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],))
        self._thread.start()

    @property
    def address(self) -> str:
        """The value of a setting that names it, with its key."""
        return f"http://127.0.0.1:{self._socket.getsockname()[1]};key={KEY}"

    def texts(self) -> str:
        return repr(self.documents)

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    def _check(self, request: Request, index: str | None = None) -> None:
        if self.is_away or request.headers.get("api-key") != KEY:
            raise Refusal(503 if self.is_away else 403, "not now, or not with this key")
        if "api-version" not in request.query_params:
            raise Refusal(400, "api-version is missing")
        if index is not None and index not in self.indexes:
            raise Refusal(404, f"there is no index {index}")

    async def _list(self, request: Request) -> Response:
        self._check(request)
        return JSONResponse({"value": list(self.indexes.values())})

    async def _put_index(self, request: Request) -> Response:
        self._check(request)
        index = request.path_params["index"]
        definition = await request.json()
        if not re.fullmatch(r"[a-z0-9](?:-?[a-z0-9])+", index) or definition["name"] != index:
            raise Refusal(400, f"an index may not be called {index}")
        is_new = index not in self.indexes
        self.indexes[index] = definition
        self.documents.setdefault(index, {})
        return JSONResponse(definition, 201 if is_new else 200)

    async def _index(self, request: Request) -> Response:
        index = request.path_params["index"]
        self._check(request, index)
        fields = {field["name"]: field for field in self.indexes[index]["fields"]}
        actions = (await request.json())["value"]
        if len(actions) > MOST_DOCUMENTS:
            raise Refusal(413, f"{len(actions)} documents")
        documents = dict(self.documents[index])
        for action in actions:
            kind = action.pop("@search.action")
            _check_document(action, fields, is_whole=kind == "upload")
            if kind == "upload":
                documents[action["id"]] = action
            elif kind == "delete":
                documents.pop(action["id"], None)
            else:
                raise Refusal(400, f"the action {kind} is not spoken here")
        if self.lag:
            self._stale[index] = (self.lag, self.documents[index])
        self.documents[index] = documents
        statuses = [{"key": action["id"], "status": True, "statusCode": 200} for action in actions]
        return JSONResponse({"value": statuses})

    async def _search(self, request: Request) -> Response:
        index = request.path_params["index"]
        self._check(request, index)
        body = await request.json()
        fields = {field["name"]: field for field in self.indexes[index]["fields"]}
        chosen = [
            document for document in self._seen(index).values() if _filter(body.get("filter", ""), fields)(document)
        ]
        orders = [_nearest(chosen, query, fields) for query in body.get("vectorQueries", ())]
        words = body.get("search") or ""
        if words == "*" and not orders:
            orders = [[(document, 1.0) for document in chosen]]
        elif words:
            orders.append(_by_words(chosen, words, body["searchFields"].split(","), fields))
        scored = orders[0] if len(orders) == 1 else _fused(orders)
        names = body["select"].split(",")
        hidden = [name for name in names if not fields[name].get("retrievable", True)]
        if hidden:
            raise Refusal(400, f"{hidden} cannot be read")
        hits = [
            {"@search.score": score, **{name: document.get(name) for name in names}}
            for document, score in scored[: body.get("top", 50)]
        ]
        return JSONResponse({"value": hits})

    def _seen(self, index: str) -> Mapping[str, Document]:
        left, documents = self._stale.pop(index, (0, self.documents[index]))
        if left > 1:
            self._stale[index] = (left - 1, documents)
        return documents if left else self.documents[index]


async def _refused(request: Request, error: Exception) -> Response:
    status, text = error.args
    return JSONResponse({"error": {"code": "", "message": text}}, status)


def _check_document(document: Document, fields: Mapping[str, Any], *, is_whole: bool) -> None:
    if not _DOCUMENT_KEY.fullmatch(document.get("id", "")):
        raise Refusal(400, f"no key: {document.get('id')!r}")
    if not document.keys() <= fields.keys():
        raise Refusal(400, f"no such field: {document.keys() - fields.keys()}")
    types = {"Edm.String": str, "Edm.Int32": int}
    for name, value in document.items():
        expected = types.get(fields[name]["type"])
        if expected is not None and value is not None and type(value) is not expected:
            raise Refusal(400, f"{name} is {value!r}")
    if is_whole and len(document["vector"]) != fields["vector"]["dimensions"]:
        raise Refusal(400, f"a vector of {len(document['vector'])} numbers")


def _filter(text: str, fields: Mapping[str, Any]) -> Callable[[Document], bool]:
    tests = list[Callable[[Document], bool]]()
    for clause in text.split(" and ") if text else ():
        match = _CLAUSE.fullmatch(clause)
        if match is None:
            raise Refusal(400, f"no filter: {clause}")
        among, values, equal, value, greater, number = match.groups()
        name = among or equal or greater
        if not fields[name].get("filterable"):
            raise Refusal(400, f"{name} is not filterable")
        if greater:
            tests.append(lambda document, name=name, number=int(number): document[name] > number)  # type: ignore[misc]
        else:
            taken = values.split(",") if among else [value]
            tests.append(lambda document, name=name, taken=taken: document[name] in taken)  # type: ignore[misc]
    return lambda document: all(test(document) for test in tests)


def _nearest(
    documents: list[Document], query: Mapping[str, Any], fields: Mapping[str, Any]
) -> list[tuple[Document, float]]:
    field = query["fields"]
    if query["kind"] != "vector" or len(query["vector"]) != fields[field]["dimensions"]:
        raise Refusal(400, "no vector of this index")

    def score(document: Document) -> float:
        lengths = math.hypot(*document[field]) * math.hypot(*query["vector"])
        return 1 / (2 - sum(map(mul, document[field], query["vector"])) / lengths)

    scored = [(document, score(document)) for document in documents]
    return sorted(scored, key=lambda hit: (-hit[1], hit[0]["id"]))[: query["k"]]


def _by_words(
    documents: list[Document], text: str, names: list[str], fields: Mapping[str, Any]
) -> list[tuple[Document, float]]:
    if not all(fields[name].get("searchable") for name in names):
        raise Refusal(400, f"{names} are not searchable")
    words = set(_WORD.findall(text.lower()))
    texts = [Counter(_WORD.findall(" ".join(document[name] for name in names).lower())) for document in documents]
    having = Counter(word for counted in texts for word in words & counted.keys())
    scores = [
        sum(
            math.log(1 + len(texts) / having[word]) * counted[word] / (counted[word] + 1)
            for word in words & counted.keys()
        )
        for counted in texts
    ]
    scored = [(document, score) for document, score in zip(documents, scores, strict=True) if score]
    return sorted(scored, key=lambda hit: (-hit[1], hit[0]["id"]))


def _fused(orders: list[list[tuple[Document, float]]]) -> list[tuple[Document, float]]:
    scores, documents = Counter[str](), dict[str, Document]()
    for order in orders:
        for rank, (document, _) in enumerate(order):
            scores[document["id"]] += 1 / (_FUSED_BEHIND + rank)  # type: ignore[assignment]
            documents[document["id"]] = document
    return [(documents[id_], score) for id_, score in sorted(scores.items(), key=lambda hit: (-hit[1], hit[0]))]
