"""A thread for tests: commands with the members that nobody looks at filled in, and what came of them."""

from __future__ import annotations

from typing import Any

from agent_framework import AgentResponse, Message

from hosting.core.agent.held_run import HeldRun
from hosting.core.thread.commands import AcceptRun, Change, ClaimTerms, Command, EndRun, Outcome, Refused
from hosting.core.thread.decide import decide
from hosting.core.thread.events import Accepted, Completed, Event, Holder, ModelResult, ToolStarted
from hosting.core.thread.head import NEW, Head
from hosting.core.thread.run import fold_run
from hosting.core.thread.run_request import Decision, PendingApproval, RunRequest
from hosting.core.thread_log import ThreadLog
from hosting.errors import HostingError
from hosting.names import Address
from state.convert import stored_response

NOW = 1_800_000_000.0
LEASE_SECONDS = 20.0
DEADLINE = NOW + 300


class Thread:
    """A thread's head and all of its events; each command is decided and what comes of it is appended."""

    def __init__(self, head: Head = NEW) -> None:
        self.head = head
        self.events: list[Event] = []

    def do(self, command: Command) -> Outcome:
        """Decide, and append what is decided; each append has an id of its own."""
        outcome = decide(self.head, command)
        if isinstance(outcome, Change):
            self.events += outcome.events
            self.head = outcome.head.model_copy(update={"append_id": f"append-{len(self.events)}"})
        return outcome

    def kinds(self) -> list[str]:
        """Return the kinds of the events, in order."""
        return [event.kind for event in self.events]

    def last(self, count: int) -> list[tuple[str, str]]:
        """Return the kinds of the last events with their runs."""
        return [(event.kind, getattr(event, "run_id", "")) for event in self.events[-count:]]


def refusal(outcome: Outcome) -> type[HostingError] | None:
    """Return as what a command was refused, None where it was not."""
    return type(outcome.error) if isinstance(outcome, Refused) else None


def accepted(run_id: str = "r1", *, at: float = NOW, decisions: tuple[Decision, ...] = (), **members: Any) -> Accepted:
    """Return the event that begins a run."""
    request = RunRequest(message="" if decisions else f"Hello from {run_id}", decisions=decisions)
    fingerprint = members.pop("fingerprint", "f")
    return Accepted(
        at=at, run_id=run_id, agent="Helper", thread_id="t1", request=request, fingerprint=fingerprint, **members
    )


def accept(run_id: str = "r1", *, claimed: bool = False, queue_limit: int = 32, **members: Any) -> AcceptRun:
    """Return the command that begins a run, as one whose caller waits if it is to be claimed."""
    row = {name: members.pop(name) for name in ("key_row", "known") if name in members}
    return AcceptRun(
        accepted(run_id, **members),
        queue_limit,
        terms(f"token-{run_id}") if claimed else None,
        row.get("key_row"),
        row.get("known"),
    )


def terms(token: str, holder: Holder = "caller", deadline: float = DEADLINE) -> ClaimTerms:
    return ClaimTerms(token, holder, LEASE_SECONDS, deadline)


def completed(run_id: str = "r1", *approvals: str, at: float = NOW, **members: Any) -> Completed:
    """Return the event of a run that answered, or asked for these approvals."""
    entry = {"$type": "response", "correlationId": run_id, "createdAt": "2027-01-15T08:00:00Z", "messages": []}
    pending = tuple(PendingApproval(id=name, tool="pay", arguments={}) for name in approvals)
    return Completed(at=at, run_id=run_id, entry=entry, message_count=2, approvals=pending, **members)


def end(run_id: str = "r1", *approvals: str, token: str | None = None, **members: Any) -> EndRun:
    """Return the command that ends a claimed run with an answer."""
    callers = members.pop("callers", {})
    return EndRun(token or f"token-{run_id}", completed(run_id, *approvals, **members), callers=callers)


def answered(run_id: str, text: str, **members: Any) -> EndRun:
    """Return the command that ends a claimed run with this text."""
    response = AgentResponse(messages=[Message("assistant", [text])])
    entry = stored_response(run_id=run_id, created_at="2027-01-15T08:00:00Z", response=response)
    terminal = completed(run_id).model_copy(update={"entry": entry})
    return EndRun(members.pop("token", f"token-{run_id}"), terminal, **members)


def model_result(run_id: str = "r1", number: int = 1) -> ModelResult:
    """Return the event of a model that asks for tool calls."""
    return ModelResult(at=NOW, run_id=run_id, number=number, digest="d", response={})


def tool_started(run_id: str = "r1", key: str = "1.call") -> ToolStarted:
    """Return the event of a tool that is about to be called."""
    return ToolStarted(at=NOW, run_id=run_id, key=key, name="pay", digest="d")


async def held_run(log: ThreadLog, address: Address, run_id: str = "r1") -> HeldRun:
    """Return the run that the log says is claimed, as the holder of its newest claim has it, from this moment on."""
    run = fold_run(address, run_id, await log.events(address, 0))
    assert run is not None
    assert run.claim is not None
    return HeldRun(log, run, run.claim, began_at=log.clocks.awake(), on_append=lambda decided: None)
