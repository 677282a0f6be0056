"""A model service that asks for the user's consent, in agent-framework's own content: hosted as it is plain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from agent_framework import Agent, ChatResponse, Content, Message

from hosting.app import AgentFunctionApp
from tests.support.answering import AnsweringClient, says
from tests.support.made_app import served

LINK = "https://consent.example/login?data=1"
Seen = list[list[tuple[str, str]]]


class Consenting(AnsweringClient):
    """Asks for a consent, and answers the next message. `seen` are the messages of each call: roles and contents."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: Seen = []

    async def answer(self, messages: Sequence[Message], options: Mapping[str, Any]) -> ChatResponse[Any]:
        self.seen.append([(str(message.role), ", ".join(one.type for one in message.contents)) for message in messages])
        return says(Content.from_oauth_consent_request(LINK) if len(self.seen) == 1 else "Two issues.")


async def plain() -> Seen:
    """Return what the model is given without us."""
    client = Consenting()
    agent = Agent(client, name="Clerk")
    session = agent.create_session()
    for message in ("Which issues?", "I have signed in."):
        await agent.run(message, session=session)
    return client.seen


@pytest.mark.behaviour("authorizations.of-a-model")
async def test_the_consent_that_a_model_asks_for_is_an_answer_and_the_next_message_goes_on() -> None:
    """No pause: there is no call to make again. The link is in the conversation's contents."""
    client = Consenting()
    app = AgentFunctionApp(agents=[Agent(client, name="Clerk")], environ={"AGENT_LOG": "memory"})
    async with served(app) as (_, http):
        run = "/api/agents/Clerk/run"
        first = (await http.post(run, json={"message": "Which issues?", "thread_id": "t"})).json()
        second = (await http.post(run, json={"message": "I have signed in.", "thread_id": "t"})).json()
        messages = (await http.get("/api/agents/Clerk/threads/t/messages")).json()

    assert (first["status"], "pending_approvals" in first) == ("success", False)
    assert second["response"] == "Two issues."
    assert LINK in str(messages)
    assert client.seen == await plain()
