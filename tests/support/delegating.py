"""A planner with background agents, whose model calls the tools that its message names; and the agents it delegates to.

A message is a list of steps, one a line: `TOOL JSON`. Steps joined by ` & ` are calls of one answer. After the last
step the answer is what the model was told of tasks, and what the tools said, a line for each.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    BackgroundAgentsProvider,
    ChatResponse,
    Content,
    Message,
)
from agent_framework.orchestrations import SequentialBuilder

from tests.support.answering import AnsweringClient

PREFIX = "background_agents_"
_TOLD = "### Current background tasks"
SHORT = {
    "start": "start_task",
    "wait": "wait_for_first_completion",
    "result": "get_task_results",
    "list": "get_all_tasks",
    "continue": "continue_task",
    "clear": "clear_completed_task",
}


def look() -> str:
    return "It rains."


def start(text: str, agent: str = "Researcher") -> str:
    """Return the step that starts a task."""
    return f"start {json.dumps({'agent_name': agent, 'input': text, 'description': f'About {text}'})}"


def wait(*ids: int) -> str:
    """Return the step that waits for the first of these tasks."""
    return f"wait {json.dumps({'task_ids': list(ids)})}"


def result(task_id: int) -> str:
    """Return the step that asks for a task's result."""
    return f"result {json.dumps({'task_id': task_id})}"


def go_on(task_id: int, text: str) -> str:
    """Return the step that continues a task."""
    return f"continue {json.dumps({'task_id': task_id, 'text': text})}"


class DelegatingClient(AnsweringClient):
    """A model that answers by a function of its messages."""

    answers: Callable[[Sequence[Message]], Awaitable[Message]]

    async def answer(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ChatResponse[Any]:
        usage: Any = {"input_token_count": 6, "output_token_count": 4, "total_token_count": 10}
        return ChatResponse(messages=await self.answers(messages), usage_details=usage)


def asking(answer: Callable[[Sequence[Message]], Awaitable[Message]]) -> DelegatingClient:
    client = DelegatingClient()
    client.answers = answer
    return client


async def follow_steps(messages: Sequence[Message]) -> Message:
    """Return the next calls of the newest message of a user that has steps, or what its tools said."""
    told = [message.text for message in messages if message.text.startswith(_TOLD)]
    asked = max(
        number
        for number, message in enumerate(messages)
        if message.role == "user" and not message.text.startswith(_TOLD)
    )
    rounds = messages[asked].text.splitlines()
    answered = [message for message in messages[asked + 1 :] if message.role == "tool"]
    results = [content for message in answered for content in message.contents]
    done = 0
    for number, line in enumerate(rounds):
        steps = line.split(" & ")
        if done + len(steps) > len(results):
            return Message("assistant", [_call(number, at, step) for at, step in enumerate(steps)])
        done += len(steps)
    return Message("assistant", ["\n".join([*told, *(str(content.result) for content in results)])])


def _call(number: int, at: int, step: str) -> Content:
    word, _, arguments = step.partition(" ")
    name = PREFIX + SHORT[word] if word in SHORT else word
    return Content.from_function_call(f"call-{number}-{at}", name, arguments=arguments or "{}")


async def found_out(messages: Sequence[Message]) -> Message:
    """Return what the agent finds out, and how many messages it has had; raise where it is told to."""
    text = messages[-1].text
    if text == "fail":
        raise RuntimeError("No such thing.")
    return Message("assistant", [f"Found {text} ({len(messages)})."])


def planner(
    find: Callable[[Sequence[Message]], Awaitable[Message]] = found_out,
    *,
    wait_seconds: int = 30,
    is_workflow: bool = False,
) -> Agent[Any]:
    """Return the agent "Clerk", whose background agent "Researcher" answers by `find`, maybe in a workflow."""
    researcher: Any = Agent(asking(find), name="Researcher", description="Finds things out.")
    if is_workflow:
        researcher = SequentialBuilder(participants=[researcher]).build().as_agent("Researcher")
    tasks = BackgroundAgentsProvider([researcher], wait_timeout_seconds=wait_seconds)
    return Agent(asking(follow_steps), name="Clerk", tools=[look], context_providers=[tasks])


def delegating(agent: Any, *, name: str = "Planner") -> Agent[Any]:
    return Agent(asking(follow_steps), name=name, context_providers=[BackgroundAgentsProvider([agent])])
