"""The payloads that an app saw and answered, as it wrote them into the file named by PROBE_LOG."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.recorded.exchanges import RUN
from tests.recorded.masks import comparable, masked

_PLACE = frozenset({"t", "thread", "pid"})


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
