"""What cannot be stored, or read again, ends its run by name and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from agent_framework import Agent, Content
from msgspec.structs import replace

from hosting.core.stores.memory import MemoryObjects, SharedMemory
from hosting.core.thread.events import Failed
from hosting.core.thread.run_request import RunRequest
from tests.support.planned import planned_client
from tests.support.process import AGENT, Engine, Process, call


@pytest.mark.behaviour("service.unstorable")
async def test_a_tool_whose_result_nests_too_deep_ends_its_run_by_that_name() -> None:
    def look(n: int) -> list[Content]:
        deep: Any = "down"
        for _ in range(200):
            deep = [deep]
        return [Content.from_text("so deep", additional_properties={"deep": deep})]

    agent = Agent(planned_client(lambda text: None, (("look",), "done")), name=AGENT, tools=[look])
    process = Process(SharedMemory(), MemoryObjects(), Engine(), run=agent)
    run = await process.start(call())
    ended = (await process.runs.wait(run, process.engine, 5.0)).end

    assert isinstance(ended, Failed)
    assert (ended.code, run.run_id in ended.detail) == ("unstorable_answer", True)
    process.loop.close()


@pytest.mark.behaviour("service.unstorable")
async def test_a_request_that_this_version_does_not_take_ends_its_run_and_spoils_no_conversation(
    process: Process,
) -> None:
    request = RunRequest(contents=({"$type": "of-another-version"},))
    run = await process.start(replace(call(), request=request))
    ended = (await process.runs.wait(run, process.engine, 5.0)).end
    after = await process.start(call("after"))
    await process.runs.wait(after, process.engine, 5.0)

    assert isinstance(ended, Failed)
    assert ended.code == "unreadable_state"
    assert process.agent.turns == [["after"]]
