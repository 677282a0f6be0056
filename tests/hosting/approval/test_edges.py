"""What happens to an approval when time passes, signals are lost, runs are cancelled, or the log is away."""

from collections.abc import Awaitable, Iterator, Mapping, Sequence
from typing import Any

import pytest
from agent_framework import (
    Agent,
    AgentResponse,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    Content,
    FunctionInvocationLayer,
    Message,
)

from hosting.errors import ApprovalAnsweredError, ApprovalExpiredError
from tests.hosting.approval.counter import Counter
from tests.support.bench import ArmedStore, Bench, CountingAgent

WEEK_SECONDS = 604_800


@pytest.fixture
def counter() -> Iterator[Counter]:
    """One thread of the clerk's."""
    counter = Counter()
    yield counter
    counter.bench.loop.close()


def text_of(record: Any) -> str:
    """Return what a completed run said."""
    return str(record.terminal.response.messages[-1].contents[0].text)


async def ended(counter: Counter, run_id: str) -> Any:
    """Deliver what is held and return the run."""
    await counter.client.deliver()
    return await counter.bench.record(run_id)


@pytest.mark.behaviour("approvals.expires")
async def test_an_approval_can_be_answered_until_its_last_second(counter: Counter) -> None:
    """And a run that was approved in time goes on, however late its signal comes."""
    await counter.ask("call refund 5, refund 7")
    first, second = await counter.waiting()
    counter.bench.clock.now += WEEK_SECONDS - 1

    await counter.answer(first)
    last = await counter.answer(second)
    counter.bench.clock.now += 2
    assert last.resumed is not None

    assert text_of(await ended(counter, last.resumed.run_id)) == "told: refunded 5 | refunded 7"


@pytest.mark.behaviour("approvals.expires")
async def test_what_was_answered_in_part_expires_as_a_whole(counter: Counter) -> None:
    """The approved call is not made either: the turn that it belongs to never became complete."""
    await counter.ask("call refund 5, refund 7")
    first, second = await counter.waiting()
    await counter.answer(first)
    counter.bench.clock.now += WEEK_SECONDS

    with pytest.raises(ApprovalExpiredError):
        await counter.answer(second)
    later = await counter.ask("hello")

    assert (text_of(later), await counter.waiting(), counter.notes) == ("echo: hello", [], [])


@pytest.mark.behaviour("approvals.expires")
@pytest.mark.parametrize("approved", [True, False])
async def test_after_one_that_expired_the_next_is_asked_and_answered_as_ever(counter: Counter, approved: bool) -> None:
    """What the framework remembers of the first is no part of the second."""
    await counter.ask("call refund 5, look 1")
    counter.bench.clock.now += WEEK_SECONDS
    await counter.ask("call refund 7, look 2")

    last = await counter.answer(*await counter.waiting(), approved=approved)
    assert last.resumed is not None
    answer = text_of(await ended(counter, last.resumed.run_id))

    assert answer.endswith("| saw 2")
    assert [note.split()[:2] for note in counter.notes] == ([["refund", "7"]] if approved else []) + [["look", "2"]]


@pytest.mark.behaviour("approvals.survives-kill")
async def test_answers_without_a_run_are_gone_on_from_by_whoever_looks(counter: Counter) -> None:
    """The process died between the last answer and the run; a message meanwhile is refused, whatever the time."""
    asked = await counter.ask("call refund 5")
    (approval,) = await counter.waiting()
    recorded = await counter.answer(approval)
    assert recorded.resumed is not None
    counter.bench.store.remove(recorded.resumed.run_id)
    counter.restart()
    counter.bench.clock.now += WEEK_SECONDS

    refused = await counter.ask("hello")
    assert await counter.waiting() == []
    resumed = await ended(counter, recorded.resumed.run_id)

    assert (refused.terminal.code, asked.answers) == ("approvals_pending", ())
    assert (text_of(resumed), len(counter.notes)) == ("told: refunded 5", 1)


@pytest.mark.behaviour("approvals.failed-run")
async def test_a_run_that_was_cancelled_before_it_went_on_makes_no_call(counter: Counter) -> None:
    """Its signal may never come: the next message finds out and goes on."""
    await counter.ask("call refund 5")
    (approval,) = await counter.waiting()
    last = await counter.answer(approval)
    assert last.resumed is not None
    await counter.runs.cancel("Joker", "t", last.resumed.run_id, counter.client)
    counter.client.held.clear()

    later = await counter.ask("hello")

    assert (text_of(later), counter.notes, await counter.waiting()) == ("echo: hello", [], [])
    with pytest.raises(ApprovalAnsweredError):
        await counter.answer(approval)


@pytest.mark.behaviour("approvals.forgotten")
async def test_a_run_that_goes_on_after_a_reset_makes_no_call(counter: Counter) -> None:
    """The reset was queued before it."""
    await counter.ask("call refund 5")
    (approval,) = await counter.waiting()
    last = await counter.answer(approval)
    assert last.resumed is not None
    await counter.bench.deliver({"id": "reset-1"}, name="reset")

    resumed = await ended(counter, last.resumed.run_id)

    assert (resumed.terminal.code, counter.notes) == ("approvals_void", [])
    assert counter.bench.entries() == []


@pytest.mark.behaviour("approvals.once")
async def test_an_approval_outlives_many_refused_messages(counter: Counter) -> None:
    """However many runs there are behind the one that asked."""
    await counter.ask("call refund 5")
    (approval,) = await counter.waiting()
    for _ in range(120):
        await counter.ask("hello?")

    assert (await counter.answer(approval)).resumed is not None


class AskingAgent(CountingAgent):
    """An agent of no framework class, which asks for an approval and says what it was told."""

    store: ArmedStore | None = None  # taken away while the agent asks

    async def run(self, messages: list[Message], *, session: Any, **options: Any) -> AgentResponse[Any]:
        """Ask for what the newest message says, or tell the answers."""
        newest = messages[-1]
        if newest.text:
            if self.store is not None:
                self.store.is_down = True
            call = Content.from_function_call("c-1", "pay", arguments={"n": 1}, id="f-1")
            request = Content.from_function_approval_request("f-1", call)
            return AgentResponse(messages=[Message("assistant", [call, request])])
        told = [(content.approved, content.additional_properties.get("reason")) for content in newest.contents]
        return AgentResponse(messages=[Message("assistant", [str(told)])])


@pytest.mark.behaviour("approvals.goes-on")
async def test_an_agent_of_no_framework_class_may_ask_too() -> None:
    """It is handed the framework's responses, the reason among their properties."""
    bench = Bench(AskingAgent())
    run_id = await bench.run("pay")
    (approval,) = (await bench.terminal(run_id)).approvals  # type: ignore[union-attr]
    decisions = [{"id": approval.id, "approved": False, "reason": "no"}]

    answered = await bench.deliver({"decisions": decisions, "correlationId": "r-2"}, signal=False)

    assert (approval.tool, approval.arguments, answered["response"]) == ("pay", {"n": 1}, "[(False, 'no')]")


@pytest.mark.behaviour("approvals.listed")
async def test_an_approval_that_was_asked_while_the_log_was_away_is_in_it_later() -> None:
    """The conversation has it; the log is repaired from there, with the time until which it waits."""
    agent = AskingAgent()
    bench = Bench(agent)
    agent.store = bench.store
    run_id = await bench.run("pay")
    bench.store.is_down = False
    bench.restart()
    assert (await bench.record(run_id)).terminal is None

    await bench.signal(run_id)

    repaired: Any = await bench.terminal(run_id)
    assert [approval.tool for approval in repaired.approvals] == ["pay"]
    assert repaired.expires_at == bench.clock.now + WEEK_SECONDS


class ProvidersModel(BaseChatClient[Any]):
    """A model whose provider calls the tools, and asks for their approval; it tells what it is shown."""

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]]:
        return self._answer(messages)

    async def _answer(self, messages: Sequence[Message]) -> ChatResponse[Any]:
        kinds = [content.type for message in messages for content in message.contents]
        if "function_approval_response" in kinds:
            return ChatResponse(messages=Message("assistant", [" ".join(kinds)]))
        call = Content.from_function_call("c-1", "search", arguments={}, id="f-1", hosted=True)
        return ChatResponse(messages=Message("assistant", [Content.from_function_approval_request("f-1", call)]))


class ProvidersClient(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], ProvidersModel):
    """That model with function invocation and middleware, as every client of the framework has them."""


@pytest.mark.behaviour("approvals.goes-on")
async def test_a_tool_that_the_models_provider_calls_is_approved_there() -> None:
    """The provider gets its own question again, and the answer to it."""
    bench = Bench(Agent(ProvidersClient(), name="Joker"))
    run_id = await bench.run("search")
    (approval,) = (await bench.terminal(run_id)).approvals  # type: ignore[union-attr]

    order = {"decisions": [{"id": approval.id, "approved": True}], "correlationId": "r-2"}
    answered = await bench.deliver(order, signal=False)

    assert answered["response"] == "text function_approval_request function_approval_response"
