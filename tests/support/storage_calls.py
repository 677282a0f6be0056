"""What was asked of a storage account, by the access log that Azurite prints: calls by service, container and kind."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

MARK = "log-mark-"
"""Begins the name of a container that is asked for only to see how far the log is."""

_LINE = re.compile(r'"([A-Z]+) (/[^/?" ]+\S*) HTTP/1\.\d" (\d{3}|-) ')
_KINDS = {"GET": "read", "HEAD": "read", "DELETE": "delete"}
_TABLES = re.compile(r"Tables(\(|$)|[A-Za-z][A-Za-z0-9]*\(")


@dataclass(frozen=True)
class StorageCall:
    """One request: `kind` is read, write, list or delete, as the account's prices have it.

    A batch of table operations is one write, and its container is `$batch`: the line does not name the table.
    """

    service: str
    container: str
    kind: str
    method: str
    status: str


@dataclass(frozen=True)
class NotCounted:
    """Why there is no number."""

    why: str


def parse_call(method: str, target: str, status: str = "-") -> StorageCall:
    """Return what a request line asks for.

    Azurite prints the three services into one log and does not say which, so the address must tell: a blob that is
    called `messages` at the root of its container would be taken for a queue's, and a blob of the container `$root`
    for a queue.
    """
    url = urlsplit(target)
    query = parse_qs(url.query, keep_blank_values=True)
    container, _, rest = unquote(url.path).removeprefix("/").partition("/")[2].partition("/")
    service = _service_of(method, container, rest, query)
    name = container if container == "$batch" or service != "table" else container.partition("(")[0]
    listed = query.get("comp") == ["list"] or (service == "table" and method == "GET" and _is_query(container))
    return StorageCall(service, name, "list" if listed else _KINDS.get(method, "write"), method, status)


def calls_in(text: str) -> list[StorageCall]:
    """Return the calls that the log's lines tell of, in their order; what else it says is none."""
    found = (parse_call(*line.groups()) for line in _LINE.finditer(text))
    return [call for call in found if not call.container.startswith(MARK)]


def by_kind(calls: Iterable[StorageCall], container: str | None = None) -> Counter[str]:
    return Counter(call.kind for call in calls if container in (None, call.container))


@dataclass(frozen=True)
class LogPosition:
    """How far a log was when somebody began to count."""

    path: Path
    size: int

    @classmethod
    def now(cls, path: Path) -> LogPosition:
        """Return the end of the log; one that is not there yet is empty."""
        return cls(path, path.stat().st_size if path.is_file() else 0)

    def text_since(self) -> str:
        with self.path.open("rb") as log:
            log.seek(self.size)
            return log.read().decode("utf-8", "replace")

    def calls_since(self) -> list[StorageCall] | NotCounted:
        """Return the calls since then, or why nobody can say: that there are none is not believed."""
        if not self.path.is_file():
            return NotCounted(f"there is no file {self.path}")
        grown = self.path.stat().st_size - self.size
        if grown <= 0:
            became = "did not grow" if grown == 0 else "became shorter"
            return NotCounted(f"{self.path} {became} meanwhile: is it what the Azurite of this host prints?")
        calls = calls_in(self.text_since())
        return calls or NotCounted(f"{self.path} has no line of a request: start Azurite without --silent")


def _service_of(method: str, container: str, rest: str, query: dict[str, list[str]]) -> str:
    if query.get("restype", ["service"]) != ["service"]:
        return "blob"
    if _TABLES.match(container) or (method == "POST" and container and not rest and "comp" not in query):
        return "table"
    if rest == "messages" or rest.startswith("messages/") or (container and not rest):
        return "queue"
    return "blob"


def _is_query(container: str) -> bool:
    """A table's name with empty brackets, or the list of tables; with keys in them it is one entity."""
    return container == "Tables" or container.endswith("()")
