"""Texts on the wire: keys, their order, and what the real host was seen to write."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from devhost.durable.answers import CreateTimer, OperationResult
from devhost.durable.episode import open_episode
from devhost.durable.events import SHAPES, read_event, show_event, write_event
from devhost.durable.intake import new_orchestration
from devhost.durable.management.addresses import client_binding
from devhost.durable.records import Entity, EntityId, Operation
from devhost.durable.texts import compact
from devhost.durable.wire import entity_payload, orchestrator_payload, response_text
from tests.devhost.durable.episodes import Episodes, started
from tests.support.engine_clocks import START

pytestmark = pytest.mark.behaviour("engine.wire-shapes")
RECORDINGS = Path(__file__).parents[4] / "shared" / "recordings"
_OLDER = ("payloads.jsonl", "probe2_payloads.jsonl")
_KNOWN = {shape.number for shape in SHAPES.values()}


def _recorded(kind: str) -> Iterator[str]:
    for name in ("durable-3.19/payloads.jsonl", "durable-3.19/probe2_payloads.jsonl", *_OLDER):
        for line in (RECORDINGS / name).read_text().splitlines():
            entry = json.loads(line)
            if entry.get("kind") == kind:
                yield entry["body"]


def _cut(wire: dict[str, Any]) -> str:
    """Return the event as text, times cut to microseconds and what only Azure knows left out."""
    text = compact(wire)
    text = re.sub(r"(\.\d{6})\d+Z", r"\1Z", text)
    text = re.sub(r"(\.\d*?)0+Z", lambda match: (match[1] if match[1] != "." else "") + "Z", text)
    return re.sub(r'"IsPlayed":(true|false)', "", text)


@pytest.mark.skipif(not RECORDINGS.exists(), reason="the recordings of the real host are not beside this repository")
def test_every_recorded_event_is_written_back_as_it_was() -> None:
    """Key for key, over every history that the real host was seen to send."""
    count = 0
    for body in _recorded("orchestration.in"):
        for wire in json.loads(body)["history"]:
            if wire["EventType"] in _KNOWN:
                count += 1
                assert _cut(write_event(read_event(wire))) == _cut(wire)
    assert count > 1000


@pytest.mark.skipif(not RECORDINGS.exists(), reason="the recordings of the real host are not beside this repository")
def test_triggers_have_the_recorded_keys_in_the_recorded_order() -> None:
    """Orchestrations and entities, whole and per operation."""
    recorded = json.loads(next(_recorded("orchestration.in")))
    start = started()
    episode = open_episode(new_orchestration(start), (), [start], START)
    ours = json.loads(orchestrator_payload(episode.orchestration, episode.past, episode.new))
    assert list(ours) == list(recorded)
    assert [list(event) for event in ours["history"]] == [list(event) for event in recorded["history"]]
    entity = json.loads(next(_recorded("entity.in")))
    ours = json.loads(entity_payload(EntityId("counter", "k"), None, [Operation("id", "add", '"5"')]))
    assert [list(part) for part in (ours, ours["self"], ours["batch"][0])] == [
        list(part) for part in (entity, entity["self"], entity["batch"][0])
    ]


@pytest.mark.skipif(not RECORDINGS.exists(), reason="the recordings of the real host are not beside this repository")
def test_the_client_binding_is_the_recorded_text_without_the_key() -> None:
    """One compact line; the local host asks for no key."""
    recorded = next(_recorded("client.binding"))
    recorded = re.sub(r"[?&]code=<key>", "", recorded).replace('"code=<key>"', '""')
    rpc = json.loads(recorded)["rpcBaseUrl"]
    # Without its key, the creating address that has a query lost nothing but the last of its parameters.
    assert client_binding("http://localhost:7071", rpc, "probehub", None) == recorded


def test_only_received_events_of_the_past_are_marked_as_played() -> None:
    """The new part is never played."""
    start = started()
    assert show_event(start, is_past=True)["IsPlayed"] is True
    assert show_event(start)["IsPlayed"] is False


def test_the_extra_end_of_a_continued_execution_is_played_and_no_other_is() -> None:
    """The event that continue-as-new left between the start and the first requests."""
    episodes = Episodes()
    episodes.orchestration = replace(episodes.orchestration, is_continued=True)
    episodes.start(CreateTimer(START, False))
    episode = open_episode(episodes.orchestration, episodes.history, [], START)
    received = json.loads(orchestrator_payload(episode.orchestration, episode.past, episode.new))["history"]
    assert [event["IsPlayed"] for event in received if event["EventType"] == 13] == [True, False]


def test_a_state_travels_as_the_text_it_is() -> None:
    """The engine reads no state: spaces, letters and numbers come back as they were written."""
    state = '{"n":  1.0, "é": "\\u00e9"}'
    entity = Entity(EntityId("counter", "k"), True, state, START)
    payload = json.loads(entity_payload(entity.id, entity, []))
    assert (payload["exists"], payload["state"]) == (True, state)


def test_a_deleted_entity_is_given_as_not_existing_with_the_text_null() -> None:
    """As on the real host: `exists` false, state `"null"`."""
    entity = Entity(EntityId("counter", "k"), False, "null", START)
    payload = json.loads(entity_payload(entity.id, entity, []))
    assert (payload["exists"], payload["state"]) == (False, "null")


def test_a_response_names_an_exception_only_when_there_is_one() -> None:
    """The SDK takes the key's mere presence for an error."""
    head = '{"$type":"Microsoft.Azure.WebJobs.Extensions.DurableTask.ResponseMessage, '
    head += 'Microsoft.Azure.WebJobs.Extensions.DurableTask",'
    assert response_text(OperationResult("42", is_error=False)) == head + '"result":"42"}'
    assert (
        response_text(OperationResult('"no"', is_error=True)) == head + '"result":"\\"no\\"","exceptionType":"Error"}'
    )
