"""A server over HTTP that speaks the part of Azure AI Search's REST API that `samples/ai_search` uses.

It refuses what it does not know, as the service does. Words are as the service's standard analyzer makes them, as far
as the tests go: runs of letters and digits in lower case. What is uploaded or deleted while it `lags` is there, and is
found or not found as before: the service's searches are some seconds behind, too.
"""

from __future__ import annotations

import json
import re
import threading
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:  # tests that need no engine run without its package
    from samples.ai_search.ai_search import AiSearch

KEY = "the-key"
_INDEX = re.compile(r"/indexes\('(?P<index>[a-z0-9-]+)'\)(?P<verb>(/docs/search\.(index|post\.search))?)")
_FILTER = re.compile(r"owner eq '(?P<owner>[^']*)' and search\.in\(agent, '(?P<agents>[^']*)', '\|'\)")
_DOCUMENT_KEY = re.compile(r"[A-Za-z0-9_\-=]{1,1024}")
_TERM = re.compile(r'"(?P<phrase>[^"]+)"|(?P<word>[^\s"+|()~\\*-]+)(?P<begins>\*?)')
_WORD = re.compile(r"[^\W_]+")

Document = dict[str, Any]


class RefusedError(Exception):
    """The service refuses a request with this status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: Any) -> None:
        """Say nothing of a client that was killed."""


class AiSearchServer:
    """The service, with its indexes in memory."""

    def __init__(self) -> None:
        self.fields = dict[str, dict[str, Any]]()
        self.documents = dict[str, dict[str, Document]]()
        self.requests = list[str]()
        self.is_away = False
        self._found: dict[str, dict[str, Document]] | None = None
        self._lock = threading.Lock()
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                service._answer(self)

            do_PUT = do_POST

            def log_message(self, *_: Any) -> None:
                pass

        self._server = _Server(("127.0.0.1", 0), Handler)
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def engine(self) -> AiSearch:
        """Return the sample's engine over this service."""
        from samples.ai_search.ai_search import AiSearch

        return AiSearch(self.endpoint, key=KEY)

    def lag(self, *, lags: bool) -> None:
        """Have searches find what there is now, or what there is at any time."""
        with self._lock:
            self._found = {name: dict(of) for name, of in self.documents.items()} if lags else None

    @property
    def texts(self) -> list[str]:
        with self._lock:
            return [document["text"] for of in self.documents.values() for document in of.values()]

    def _answer(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers["content-length"] or 0))
        try:
            status, answer = self._served(handler.command, handler.path, handler.headers, json.loads(body))
        except RefusedError as error:
            status, answer = error.status, {"error": {"code": "", "message": error.message}}
        content = json.dumps(answer).encode()
        handler.send_response(status)
        handler.send_header("content-type", "application/json; odata.metadata=minimal")
        handler.send_header("content-length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    def _served(self, method: str, target: str, headers: Message, body: Any) -> tuple[int, Any]:
        if self.is_away:
            raise RefusedError(503, "The service is away.")
        if headers.get("api-key") != KEY:
            raise RefusedError(403, "The key is wrong.")
        place = urlsplit(target)
        match = _INDEX.fullmatch(place.path)
        if match is None or not parse_qs(place.query).get("api-version"):
            raise RefusedError(404, f"There is no {method} {target}.")
        index, verb = match["index"], match["verb"]
        with self._lock:
            self.requests.append(f"{method} {verb or 'index'}")
            if (method, verb) == ("PUT", ""):
                return self._make(index, body)
            if index not in self.fields:
                raise RefusedError(404, f"There is no index {index!r}.")
            if (method, verb) == ("POST", "/docs/search.index"):
                return 200, {"value": [self._change(index, action) for action in body["value"]]}
            return 200, {"value": self._search(index, body)}

    def _make(self, index: str, body: Any) -> tuple[int, Any]:
        fields = {field["name"]: field for field in body["fields"]}
        if sum(bool(field.get("key")) for field in fields.values()) != 1:
            raise RefusedError(400, "An index has one key.")
        is_new = index not in self.fields
        self.fields[index] = fields
        self.documents.setdefault(index, {})
        return (201 if is_new else 200), body

    def _change(self, index: str, action: Document) -> Any:
        verb, document = action.pop("@search.action"), action
        [key] = [name for name, field in self.fields[index].items() if field.get("key")]
        if unknown := document.keys() - self.fields[index].keys():
            raise RefusedError(400, f"There is no field {unknown}.")
        if not _DOCUMENT_KEY.fullmatch(document[key]):
            raise RefusedError(400, f"Invalid document key: {document[key]!r}.")
        if verb == "delete":
            self.documents[index].pop(document[key], None)
        elif verb == "upload":
            self.documents[index][document[key]] = document
        else:
            raise RefusedError(400, f"There is no action {verb!r}.")
        return {"key": document[key], "status": True, "errorMessage": None, "statusCode": 200}

    def _search(self, index: str, body: Any) -> list[Document]:
        if unknown := body.keys() - {"search", "filter", "searchMode", "queryType", "select", "top"}:
            raise RefusedError(400, f"There is no parameter {unknown}.")
        if (body["searchMode"], body["queryType"]) != ("all", "simple") or body["top"] > 1000:
            raise RefusedError(400, "Only simple searches for all words are known.")
        passing = _FILTER.fullmatch(body["filter"])
        if passing is None or not all(self.fields[index][name].get("filterable") for name in ("owner", "agent")):
            raise RefusedError(400, f"Invalid filter: {body['filter']!r}.")
        documents = (self.documents if self._found is None else self._found)[index].values()
        agents, select = passing["agents"].split("|"), body["select"].split(",")
        found = [
            document
            for document in documents
            if document["owner"] == passing["owner"] and document["agent"] in agents and _has(document, body["search"])
        ]
        return [{"@search.score": 1.0, **{name: each[name] for name in select}} for each in found[: body["top"]]]


def _has(document: Document, search: str) -> bool:
    words = _WORD.findall(document["text"].lower())
    for term in _TERM.finditer(search):
        if (phrase := term["phrase"]) is not None:
            line = f" {' '.join(_WORD.findall(phrase.lower()))} "
            if line not in f" {' '.join(words)} ":
                return False
        elif not any(word.startswith(term["word"]) if term["begins"] else word == term["word"] for word in words):
            return False
    return True
