"""What was recorded, one line of JSON each: exchanges by their labels, as the drivers wrote them, and the payloads that
an app saw and answered, as it wrote them into the file named by PROBE_LOG."""

from __future__ import annotations

import http.client
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.recorded.masks import comparable, masked

HEADERS = (
    "content-type",
    "location",
    "retry-after",
    "set-cookie",
    "cache-control",
    "pragma",
    "content-encoding",
    "mcp-session-id",
    "www-authenticate",
)
RUN = "=== run: "
"""The line that parts the runs of a driver, before their names."""
_PLACE = frozenset({"t", "thread", "pid"})


@dataclass(frozen=True)
class Exchange:
    """What came back for one request, ready to be compared; `run` is the driver's special run, "main" otherwise."""

    run: str
    label: str
    status: str
    headers: tuple[tuple[str, str], ...]
    body: str


def read_exchanges(path: Path) -> list[Exchange]:
    """Return a file's exchanges in their order, without the lines that only part the runs."""
    return list(_exchanges(json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()))


def _exchanges(lines: Iterable[Mapping[str, object]]) -> Iterator[Exchange]:
    run = "main"
    for line in lines:
        label = str(line["label"])
        if label.startswith(RUN):
            run = label.removeprefix(RUN)
        else:
            yield _exchange(run, masked(label), line)


def _exchange(run: str, label: str, line: Mapping[str, object]) -> Exchange:
    if "error" in line:
        return Exchange(run, label, "error", (), masked(str(line["error"])))
    if "sent" in line:
        return _exchange(run, label, _read_response(str(line["body"])))
    return Exchange(
        run, label, str(line.get("status")), _headers(line.get("headers") or {}), comparable(str(line.get("body", "")))
    )


def _headers(given: object) -> tuple[tuple[str, str], ...]:
    pairs: Iterable[tuple[str, str]] = given.items() if isinstance(given, Mapping) else given  # type: ignore[assignment]
    found = [(name.lower(), masked(value)) for name, value in pairs]
    return tuple(sorted(pair for pair in found if pair[0] in HEADERS))


class _Connection:
    """As much of a socket as `HTTPResponse` asks for."""

    def __init__(self, text: str) -> None:
        self._bytes = text.encode("utf-8")

    def makefile(self, mode: str) -> io.BytesIO:
        return io.BytesIO(self._bytes)


def _read_response(text: str) -> Mapping[str, object]:
    """Return a response that the driver noted byte by byte, without its framing."""
    response = http.client.HTTPResponse(_Connection(text))  # type: ignore[arg-type]
    response.begin()
    return {
        "status": response.status,
        "headers": response.getheaders(),
        "body": response.read().decode("utf-8", "backslashreplace"),
    }


def paired(recorded: Iterable[Exchange], seen: Iterable[Exchange]) -> Iterator[tuple[Exchange, Exchange | None]]:
    """Iterate over the recorded exchanges that can be compared, each with what was seen under its label.

    A label that comes equally often in both is paired one by one. One that does not is a poll: its last exchange
    counts, the others only waited.
    """
    theirs, ours = _by_label(recorded), _by_label(seen)
    for key, exchanges in theirs.items():
        found = ours.get(key, [])
        if len(found) == len(exchanges):
            yield from zip(exchanges, found, strict=True)
        else:
            yield exchanges[-1], found[-1] if found else None


def _by_label(exchanges: Iterable[Exchange]) -> dict[tuple[str, str], list[Exchange]]:
    found: dict[tuple[str, str], list[Exchange]] = {}
    for exchange in exchanges:
        found.setdefault((exchange.run, exchange.label), []).append(exchange)
    return found


@dataclass(frozen=True)
class Payload:
    """One payload, ready to be compared; `label` is its kind and whom it was for."""

    label: str
    content: str


def read_payloads(path: Path) -> list[Payload]:
    """Return the payloads of the main run: the file's lines up to the first special run."""
    return list(_payloads(path.read_text(encoding="utf-8").splitlines()))


def _payloads(lines: list[str]) -> Iterator[Payload]:
    for line in lines:
        content = {key: value for key, value in json.loads(line).items() if key not in _PLACE}
        kind = content.pop("kind")
        if kind.startswith(RUN):
            if kind != f"{RUN}main":
                return
            continue
        text = comparable(json.dumps(content))
        yield Payload(f"{kind} {_target(content)}".strip(), text)


def _target(content: dict[str, object]) -> str:
    """Return whom the payload is for: an instance or an entity, nothing when it does not say."""
    try:
        body = json.loads(str(content.get("body", content.get("raw"))))
    except ValueError:
        return ""
    if not isinstance(body, dict):
        return ""
    if isinstance(body.get("self"), dict):
        return f"@{body['self']['name']}@{body['self']['key']}"
    return masked(str(body.get("instanceId", "")))


def unmatched(recorded: list[Payload], seen: list[Payload]) -> list[Payload]:
    """Return the recorded payloads that were not seen, each as often as it is missing.

    Their order is no evidence: instances run side by side.
    """
    return list((Counter(recorded) - Counter(seen)).elements())
