"""The ready-made workflows of agent-framework: in a row, side by side, hand-over, group chat, a manager."""

import os

from agent_framework import Agent, Message, Workflow
from agent_framework.orchestrations import (
    ConcurrentBuilder,
    GroupChatBuilder,
    GroupChatState,
    HandoffBuilder,
    MagenticBuilder,
    MagenticContext,
    MagenticManagerBase,
    MagenticProgressLedger,
    MagenticProgressLedgerItem,
    SequentialBuilder,
)

from agents.assistant import get_weather
from agents.models import create_chat_client
from hosting.app import AgentFunctionApp

client = create_chat_client(os.environ)


def writer_and_critic() -> list[Agent]:
    """Return two agents; each run of a workflow makes its own."""
    writer = Agent(client=client, name="writer", description="Writes.")
    return [writer, Agent(client=client, name="critic", description="Says what is good and what is not.")]


def sequential() -> Workflow:
    """One after another; each sees what was said before."""
    return SequentialBuilder(name="Sequential", participants=writer_and_critic()).build()


def concurrent() -> Workflow:
    """At the same time; every answer is one of the output."""
    return ConcurrentBuilder(name="Concurrent", participants=writer_and_critic()).build()


def handoff() -> Workflow:
    """The first agent hands the conversation over by a tool call; it ends when the guide has answered."""
    desk = Agent(client=client, name="desk", require_per_service_call_history_persistence=True)
    guide = Agent(client=client, name="guide", tools=[get_weather], require_per_service_call_history_persistence=True)

    def answered(conversation: list[Message]) -> bool:
        return conversation[-1].author_name == "guide" and bool(conversation[-1].text)

    builder = HandoffBuilder(name="Handoff", participants=[desk, guide], termination_condition=answered)
    return builder.with_start_agent(desk).add_handoff(desk, [guide]).add_handoff(guide, [desk]).build()


def group_chat() -> Workflow:
    """In one room; a function says who speaks next."""

    def next_speaker(state: GroupChatState) -> str:
        return list(state.participants)[state.current_round % len(state.participants)]

    people = writer_and_critic()
    return GroupChatBuilder(
        name="GroupChat", participants=people, selection_func=next_speaker, max_rounds=2, output_from="all"
    ).build()


class EveryoneOnce(MagenticManagerBase):
    """A manager of rules, which needs no large model: everybody speaks once. `manager_agent=` takes an agent."""

    async def plan(self, magentic_context: MagenticContext) -> Message:
        """Say who is asked."""
        return Message("assistant", [f"Ask {', '.join(magentic_context.participant_descriptions)}."])

    async def replan(self, magentic_context: MagenticContext) -> Message:
        """Keep the plan."""
        return await self.plan(magentic_context)

    async def create_progress_ledger(self, magentic_context: MagenticContext) -> MagenticProgressLedger:
        """Choose the first who has not spoken."""
        spoke = {message.author_name for message in magentic_context.chat_history}
        left = [name for name in magentic_context.participant_descriptions if name not in spoke]

        def item(answer: bool | str) -> MagenticProgressLedgerItem:
            return MagenticProgressLedgerItem(reason="", answer=answer)

        return MagenticProgressLedger(
            is_request_satisfied=item(not left),
            is_in_loop=item(False),
            is_progress_being_made=item(True),
            next_speaker=item(left[0] if left else ""),
            instruction_or_question=item(magentic_context.task),
        )

    async def prepare_final_answer(self, magentic_context: MagenticContext) -> Message:
        """Repeat what was said last."""
        return Message("assistant", [magentic_context.chat_history[-1].text])


def magentic() -> Workflow:
    """A manager plans, asks one after another, and says when it is done."""
    return MagenticBuilder(name="Magentic", participants=writer_and_critic(), manager=EveryoneOnce()).build()


app = AgentFunctionApp(workflows=[sequential, concurrent, handoff, group_chat, magentic])
