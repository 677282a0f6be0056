"""Texts on the wire: keys, their order, and what the real host was seen to write."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from devhost.durable.answers import CreateTimer, OperationResult
from devhost.durable.episode import open_episode
from devhost.durable.events import show_event
from devhost.durable.records import Entity, EntityId
from devhost.durable.wire import entity_payload, orchestrator_payload, response_text
from tests.devhost.durable.episodes import Episodes, started
from tests.support.engine_clocks import START

pytestmark = pytest.mark.behaviour("engine.wire-shapes")


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


def test_a_response_names_an_exception_only_when_there_is_one() -> None:
    """The SDK takes the key's mere presence for an error."""
    head = '{"$type":"Microsoft.Azure.WebJobs.Extensions.DurableTask.ResponseMessage, '
    head += 'Microsoft.Azure.WebJobs.Extensions.DurableTask",'
    assert response_text(OperationResult("42", is_error=False)) == head + '"result":"42"}'
    assert (
        response_text(OperationResult('"no"', is_error=True)) == head + '"result":"\\"no\\"","exceptionType":"Error"}'
    )
