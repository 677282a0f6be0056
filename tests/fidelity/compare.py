"""What is not the same where one row's agent runs plain and hosted."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from typing import Any

from tests.fidelity.conversation import Told, turns_of
from tests.fidelity.features import Row, folder, new_setting
from tests.fidelity.hosted import Hosted
from tests.fidelity.plain import run_plain
from tests.fidelity.strict_model import Received, same_text

_SHOWN = 160


async def differences(row: Row, dies_at: int = 1) -> list[str]:
    """Return what differs, turn by turn: what the model was sent, how the turn ended, what it said."""
    turns = turns_of(row)
    alone, hosted = new_setting(_as_plain(row)), new_setting(row)
    plain_told = await run_plain(alone, turns)
    place = folder()
    try:
        hosted_told = await Hosted(hosted, place, dies_at).run(turns)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    differing: list[str] = []
    for number, _ in enumerate(turns):
        differing += _sent(number, alone.model.turns[number], hosted.model.turns[number])
        if any(received.problems for received in alone.model.turns[number]):
            return differing  # plain, the thread is broken from here on
        differing += _said(number, plain_told[number], hosted_told[number])
    if sorted(set(alone.done)) != sorted(set(hosted.done)):
        differing.append(f"tools: plain {alone.done}, hosted {hosted.done}")
    return differing


def _as_plain(row: Row) -> Row:
    """Return the row whose plain agent the hosted one is to equal.

    A service keeps a hosted conversation only where its author chose so: the thread keeps it. A workflow is always run
    as a stream, by which its messages have other ids; what its agents store is theirs.
    """
    if row.get("within") == "workflow":
        return {**row, "carrier": "streamed"}
    return {**row, "store": "off"} if row["client"] == "responses" and row["store"] == "unset" else row


def _sent(number: int, plain: Sequence[Received], hosted: Sequence[Received]) -> list[str]:
    """Return the first request that is not the same, up to where plain is refused; or one that only hosted is."""
    is_refused = any(received.problems for received in plain)
    refused = [received.problems[0] for received in hosted if received.problems and not is_refused]
    differing = [f"turn {number + 1}: refused: {refused[0]}"] if refused else []
    expected, sent = _requests(plain), _requests(hosted)
    taken = next((place for place, received in enumerate(plain) if received.problems), None)
    for place in range(max(len(expected), len(sent)) if taken is None else taken):
        wanted = expected[place] if place < len(expected) else None
        got = sent[place] if place < len(sent) else None
        if wanted != got:
            return [*differing, f"turn {number + 1}, request {place + 1}: {_difference(wanted, got)}"]
    return differing


def _requests(received: Sequence[Received]) -> list[dict[str, Any]]:
    """Return what was sent, each request once: a process that died before its answer was recorded sends it again."""
    return [json.loads(text) for text in dict.fromkeys(same_text(request.body) for request in received)]


def _difference(wanted: Any, got: Any, path: str = "") -> str:
    """Return the first place where two values differ."""
    if isinstance(wanted, dict) and isinstance(got, dict):
        for name in [*wanted, *(name for name in got if name not in wanted)]:
            if wanted.get(name) != got.get(name):
                return _difference(wanted.get(name), got.get(name), f"{path}.{name}" if path else name)
    if isinstance(wanted, list) and isinstance(got, list):
        for index, (one, other) in enumerate(zip(wanted, got, strict=False)):
            if one != other:
                return _difference(one, other, f"{path}[{index}]")
        return f"{path}: plain has {len(wanted)}, hosted {len(got)}"
    return f"{path or 'request'}: plain {json.dumps(wanted)[:_SHOWN]}, hosted {json.dumps(got)[:_SHOWN]}"


def _said(number: int, plain: Told, hosted: Told) -> list[str]:
    if plain.ending != hosted.ending:
        return [
            f"turn {number + 1}: plain {plain.ending} {plain.text!r:.200}, hosted {hosted.ending} {hosted.text!r:.200}"
        ]
    if plain.ending == "answered" and _letters(plain.text) != _letters(hosted.text):
        return [f"turn {number + 1}: plain says {plain.text!r:.100}, hosted {hosted.text!r:.100}"]
    return []


def _letters(text: str) -> str:
    """Return a text without its spaces: between two messages we put a blank line, and the framework nothing."""
    return "".join(text.split())
