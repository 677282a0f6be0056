"""The updates that a run's events make: what comes twice gives nothing, and what replaces a text says where."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from hosting.client.connection import Event, sent_events
from hosting.client.updates import Updates

pytestmark = pytest.mark.behaviour("evaluation.remote-agent")


def texts(*deltas: tuple[int, str]) -> list[tuple[int, str]]:
    """Return the offset and the text of each update that these deltas make."""
    updates = Updates("guide")
    made = [update for offset, text in deltas for update in updates.of("delta", {"text": text, "offset": offset})]
    return [((update.additional_properties or {})["offset"], update.text) for update in made]


@pytest.mark.parametrize(
    ("deltas", "made"),
    [
        ([(0, "The"), (3, " sun")], [(0, "The"), (3, " sun")]),
        ([(0, "The"), (0, "The"), (3, " sun")], [(0, "The"), (3, " sun")]),
        ([(0, "The"), (0, "The sun")], [(0, "The"), (3, " sun")]),
        ([(0, "The sun"), (0, "A"), (1, " moon")], [(0, "The sun"), (0, "A"), (1, " moon")]),
        ([(0, "The sun"), (4, "moon")], [(0, "The sun"), (4, "moon")]),
    ],
    ids=["in order", "twice", "cut otherwise", "said anew", "replaced in the middle"],
)
def test_a_delta_gives_what_is_new_of_it(deltas: list[tuple[int, str]], made: list[tuple[int, str]]) -> None:
    """Deltas may come again after a break, cut into other pieces; a restarted run may say something else."""
    assert texts(*deltas) == made


def test_a_call_that_comes_again_and_those_of_an_inner_agent_give_nothing() -> None:
    """After a restart a repeated call keeps its id; an agent that is a tool has ids below that call's."""
    updates = Updates("guide")
    call: dict[str, Any] = {"id": "1.a", "tool": "look", "arguments": {}}
    events = [("tool_call", call), ("tool_call", {**call, "id": "1.a/2"}), ("tool_call", call)]
    events.append(("tool_result", {"id": "1.a", "tool": "look", "error": "It failed."}))
    made = [content for event, fields in events for update in updates.of(event, fields) for content in update.contents]

    assert [(content.type, content.call_id) for content in made] == [
        ("function_call", "1.a"),
        ("function_result", "1.a"),
    ]
    assert made[1].exception == "It failed."


async def test_events_are_read_from_pieces_that_are_cut_anywhere() -> None:
    """Also within a character; a last one without its end is left out, and comments are none."""
    stream = ': still running\n\nid: 3\nevent: delta\ndata: {"text": "°C"}\n\nevent: completed\ndata: {}'.encode()

    async def pieces(size: int) -> AsyncIterator[bytes]:
        for start in range(0, len(stream), size):
            yield stream[start : start + size]

    for size in (1, 2, 7, len(stream)):
        assert [event async for event in sent_events(pieces(size))] == [Event("3", "delta", '{"text": "°C"}')]
