"""A model that calls a tool as often as it is told, for an agent whose steps are recorded and for one whose are not."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    Message,
    ResponseStream,
)


class SteppingModel(BaseChatClient[Any]):
    """Answers `step COUNT` by so many calls of `step`, one after another, and then by how many there were."""

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        if stream:
            raise ValueError("The stepping model does not stream.")
        return answer(messages)


class SteppingClient(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], SteppingModel):
    """The stepping model as every client of agent-framework is: with middleware, by which steps are recorded."""


class UnrecordedAgent:
    """The same agent as a class of one's own: nothing of a run is recorded but its beginning and its end."""

    def __init__(self, agent: Agent[Any]) -> None:
        self.id, self.name, self.description = agent.id, agent.name, agent.description
        self.run = agent.run


async def answer(messages: Sequence[Message]) -> ChatResponse[Any]:
    taken = sum(message.role == "tool" for message in messages)
    if taken == int(messages[0].text.removeprefix("step ")):
        return ChatResponse(messages=Message("assistant", [f"Took {taken}."]))
    call = Content.from_function_call(call_id=f"call-{taken}", name="step", arguments={})
    return ChatResponse(messages=Message("assistant", [call]))


async def step() -> str:
    """Do nothing."""
    return "Done."


def stepping_agents() -> list[Any]:
    """Return two agents that do the same; what they do is recorded of one of them."""
    unrecorded = Agent(SteppingClient(), name="unrecorded", tools=[step])
    return [Agent(SteppingClient(), name="recorded", tools=[step]), UnrecordedAgent(unrecorded)]
