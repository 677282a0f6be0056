"""The app behind those tests of the page in which people are asked, sign in, or look at workflows; it knows its users.

Who sends the header `x-user` is that user, and everybody else is Ada, whose name is a hostile one.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any, Literal, Never

from agent_framework import (
    Agent,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    Executor,
    FunctionInvocationLayer,
    FunctionTool,
    Message,
    ResponseStream,
    ToolApprovalMiddleware,
    Workflow,
    WorkflowBuilder,
    WorkflowContext,
    handler,
    response_handler,
    tool,
)
from pydantic import BaseModel, Field, field_validator

from hosting.app import AgentFunctionApp, Principal, PrincipalRequest
from hosting.tools import current
from tests.support.app.scripted import scripted_agent
from tests.support.clerk import clerk
from tests.support.delegating import planner
from tests.support.flows import asking_flow, fan_flow, order_flow, text_flow
from tests.support.signer import signer
from tests.support.steered import FileGate, Working
from tests.support.thinker import thinker


def signed_in(request: PrincipalRequest) -> Principal:
    """Return whom the header names, or Ada."""
    user = request.headers.get("x-user", "ada")
    return Principal("https://login.example", user, name="Ada <b>" if user == "ada" else None)


@tool
async def read(n: str) -> str:
    """Read it, as far as the gate lets it."""
    await current().progress(0.4, "reading <b>page</b> 2")
    gate = FileGate(Path(os.environ["GATES"]) / n)
    while not gate.wait(0.02):
        pass
    return f"{n} read"


@tool(approval_mode="always_require")
def pay(order: str) -> str:
    """Pay for an order."""
    return "paid"


class PayerModel(BaseChatClient[Any]):
    """Says what it is asked, and then asks for a payment."""

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **kwargs: Any
    ) -> Awaitable[ChatResponse[Any]] | ResponseStream[ChatResponseUpdate, ChatResponse[Any]]:
        told = self._build_response_stream(self._told(messages[-1]))
        return told if stream else told.get_final_response()

    async def _told(self, last: Message) -> AsyncIterator[ChatResponseUpdate]:
        call = Content.from_function_call(f"call-{len(last.text)}", "pay", arguments={"order": "A-17"})
        yield ChatResponseUpdate(role="assistant", contents=[Content.from_text(f"I looked: {last.text}"), call])


class PayerClient(FunctionInvocationLayer[Any], ChatMiddlewareLayer[Any], PayerModel):
    """The model with what agents need of a client."""


class Seat(BaseModel):
    """A part of a booking."""

    row: int = Field(ge=1, le=30)
    window: bool = False


class Booking(BaseModel):
    """A value of all kinds of fields."""

    name: str = Field(description="<img src=x onerror=hacked()>", min_length=2)
    day: date
    travel: Literal["first", "second"] = Field(alias="class")
    seats: list[Seat] = Field(min_length=1, title="Seats")
    discount: float = 0.5
    note: str | None = None
    guide: str | None

    @field_validator("discount")
    @classmethod
    def in_quarters(cls, value: float) -> float:
        """Refuse what only this type knows to be wrong."""
        if value * 4 % 1:
            raise ValueError("Give it in quarters")
        return value


class Desk(Executor):
    """Asks for a booking."""

    @handler
    async def book(self, text: str, ctx: WorkflowContext[Never, str]) -> None:
        """Ask."""
        await ctx.request_info({"trip": text}, Booking)

    @response_handler
    async def booked(self, trip: dict, booking: Booking, ctx: WorkflowContext[Never, str]) -> None:  # type: ignore[type-arg]
        """Say what was given."""
        await ctx.yield_output(booking.model_dump_json(by_alias=True, exclude_unset=True))


def desk_flow() -> Workflow:
    """Return a workflow that asks for a booking."""
    return WorkflowBuilder(name="Desk", start_executor=Desk("desk")).build()


clerks = clerk(lambda _: None, ToolApprovalMiddleware())
clerks.default_options["tools"] += [FunctionTool(name="where", func=None, description="Where?"), read]
plain = clerk(lambda _: None)
plain.name = "Plain"
planning = planner()
planning.name = "Planner"
payer = Agent(PayerClient(), name="payer", tools=[pay])
app = AgentFunctionApp(
    agents=[scripted_agent("Joker"), clerks, plain, planning, signer(lambda _: None, "Signer"), payer],
    workflows=[asking_flow, desk_flow, text_flow, fan_flow, order_flow],
    principal=signed_in,
)
app.add_agent(thinker(name="shows"), reasoning="show")
for name, busy in {"steers": "steer", "rejects": "reject"}.items():
    working = Working(name)
    working.gate = FileGate(Path(os.environ["GATES"]) / name)
    app.add_agent(working.agent, busy=busy)  # type: ignore[arg-type]
