"""The standing approvals of a thread: listed, and withdrawn, with the routes for that (docs/guides/approvals.md).

Theory. A standing approval is state of the thread's session, so the thread's log alone changes it: a withdrawal is an
event, and the run that is claimed next begins without the rule. A run under way keeps the rules that it began with,
because a later attempt of it is to decide as the first one did. So a withdrawal is refused until that run has ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typing_extensions import TypedDict

from hosting import errors
from hosting.core.held_runs import HeldRuns
from hosting.core.outcome import ThreadIds
from hosting.core.signals import Signals
from hosting.core.thread.commands import Change, Refused, WithdrawStanding
from hosting.core.thread_log import ThreadLog
from hosting.core.threads import Threads
from hosting.http import places
from hosting.http.parameters import in_path
from hosting.http.replies import Reply, json_reply, thread_headers, thread_ids
from hosting.http.request import Bound, HttpRequest
from hosting.http.route import ResponseSpec, Route, ok
from hosting.http.routes import CONVERSATION
from hosting.http.thread_replies import done_reply
from hosting.http.timeline_steps import StepAuthor
from hosting.names import Address
from hosting.ports import EntityClient
from state.standing import StandingApproval, standing_approvals


class ShownStandingApproval(TypedDict):
    """A tool that is called without a question: with these `arguments` alone, or with any if they are null.

    `server` is the label of the tool's server where the model's provider calls it. `given_by` is null where nobody
    signed in, and `given_at` (RFC 3339) where the agent's own code made the rule.
    """

    id: str
    tool: str
    arguments: dict[str, Any] | None
    server: str | None
    given_by: StepAuthor | None
    given_at: str | None


class StandingApprovalList(ThreadIds):
    """The standing approvals of a thread, the first one given first.

    `takes_more`: whoever approves a tool's call may approve later ones too, as the agent's rules say.
    """

    takes_more: bool
    standing_approvals: list[ShownStandingApproval]


_STANDING = places.THREAD.below("approvals/standing")
STANDING_APPROVALS = Route(
    "standing_approvals",
    "GET",
    _STANDING,
    "List the tools that are called without a question",
    ok(StandingApprovalList),
    CONVERSATION,
    is_for_workflows=False,
)
WITHDRAW_STANDING = Route(
    "standing_approval_withdraw",
    "DELETE",
    _STANDING.below("{standing_id}", in_path("standing_id", "The standing approval.", pattern=None)),
    "Withdraw a standing approval",
    (ResponseSpec(204, "Withdrawn, or not found. The tool asks again from the next run on."),),
    (errors.ThreadBusyError, *CONVERSATION),
    needs="run",
    is_for_workflows=False,
)


class StandingApprovals:
    """Lists and withdraws the standing approvals of one app's threads, over HTTP."""

    def __init__(self, log: ThreadLog, threads: Threads, holders: HeldRuns) -> None:
        self._log = log
        self._threads = threads
        self._holders = holders
        self._signals = Signals(log)

    def bound(self) -> Sequence[Bound]:
        """Return the routes with their handlers."""
        return Bound(STANDING_APPROVALS, self._list), Bound(WITHDRAW_STANDING, self._withdraw)

    async def withdraw(self, address: Address, standing_id: str, client: EntityClient) -> None:
        """Withdraw a standing approval; again changes nothing.

        Raises `ThreadBusyError` while a run is under way, and as `Threads.view` does.
        """
        view = await self._threads.view(address, client)
        if all(standing.id != standing_id for standing in standing_approvals(view.conversation)):
            return
        decided = await self._holders.execute(address, WithdrawStanding(self._log.clocks.wall(), standing_id))
        if isinstance(decided.outcome, Refused):
            raise decided.outcome.error
        if isinstance(decided.outcome, Change):
            await self._signals.store(address, decided.head.position, client)

    async def _list(self, request: HttpRequest) -> Reply:
        view = await self._threads.view(request.address, request.caller.client)
        thread_id = view.address.thread_id
        shown = [_shown(standing) for standing in standing_approvals(view.conversation)]
        body: StandingApprovalList = {
            **thread_ids(thread_id),
            "takes_more": takes_standing(request.agent.agent),
            "standing_approvals": shown,
        }
        return json_reply(200, body, thread_headers(thread_id))

    async def _withdraw(self, request: HttpRequest) -> Reply:
        address = request.address
        await self.withdraw(address, request.received.path_params["standing_id"], request.caller.client)
        return done_reply(address.thread_id)


def takes_standing(agent: object) -> bool:
    """Return whether a person may approve later calls of an agent's tools too."""
    from agent_framework import ToolApprovalMiddleware

    return any(isinstance(item, ToolApprovalMiddleware) for item in getattr(agent, "middleware", None) or ())


def _shown(standing: StandingApproval) -> ShownStandingApproval:
    by = standing.by
    return {
        "id": standing.id,
        "tool": standing.tool,
        "arguments": standing.arguments,
        "server": standing.server,
        "given_by": None if by is None else {"issuer": by["issuer"], "id": by["id"], "name": by.get("name")},
        "given_at": standing.at,
    }
