"""The options of an agent's model, through each door by which a run begins: one rule for all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.a2a import HEADERS, message
from tests.support.option_doors import DOORS, Door, doors_of

pytestmark = pytest.mark.slow

DECLARED: Mapping[str, Any] = {"temperature": (0, 1), "max_tokens": 200, "instructions": 20}
of_each_door = pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)


@of_each_door
@pytest.mark.behaviour("options.doors")
async def test_each_door_has_the_one_rule(door: Door) -> None:
    """Within the bounds, not left to callers, out of bounds, a choice of tools, unknown, and no object."""
    place = DOORS[door]
    async with doors_of(DECLARED) as doors:
        allowed = await door(doors, {"temperature": 1, "max_tokens": 20.0})
        ignored = await door(doors, {"seed": 3, "temperature": 0.5, "verbosity": None})
        refused = [
            (await door(doors, options)).refusal
            for options in ({"temperature": 1.5}, {"tool_choice": "required"}, {"temprature": 1}, [1])
        ]
        recorded = await doors.recorded()

    assert (allowed.said, allowed.ignored) == ({"temperature": 1.0, "max_tokens": 20}, [])
    assert (ignored.said, ignored.ignored) == ({"temperature": 0.5}, [f"{place}.seed"])
    assert f"The field '{place}.temperature' is '1.5' and must be a number from 0 to 1." in refused[0]
    assert f"The field '{place}.tool_choice' is 'required', and the agent's author lets nobody choose." in refused[1]
    assert "temprature" in refused[2]
    assert refused[3]
    assert sorted(recorded, key=len) == [{"temperature": 0.5}, {"temperature": 1.0, "max_tokens": 20}]


@pytest.mark.behaviour("options.doors")
async def test_options_in_two_places_of_one_request_are_refused() -> None:
    sent = {"options": {"temperature": 1}}
    params = {"message": message("hello", metadata=sent), "metadata": sent}
    async with doors_of(DECLARED) as doors:
        call = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params}
        answer = (await doors.post("a2a/Joker/", call, **HEADERS)).json()
        recorded = await doors.recorded()

    named = "The fields 'metadata.options' and 'message.metadata.options' are both there. Send one."
    assert (answer["error"]["message"], recorded) == (named, [])
