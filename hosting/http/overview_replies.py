"""Replies about many threads: lists, waiting approvals and figures by day; and about agents and the app."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import cast
from urllib.parse import quote

from hosting.amounts import cost_text
from hosting.core.figures import Day, DayFigures, Figures
from hosting.core.outcome import approval_fields
from hosting.core.overview import AgentFigures, OverviewPage
from hosting.core.thread.head import Head
from hosting.core.thread.run import Run
from hosting.http.bodies import (
    AgentList,
    HealthyAgent,
    ListedAgent,
    ListedThread,
    ListedWorkflow,
    ThreadPage,
    WaitingApproval,
    WaitingApprovals,
    WorkflowList,
)
from hosting.http.deliveries import NOT_TAKEN
from hosting.http.replies import Reply, json_reply, thread_ids
from hosting.http.route import Route
from hosting.plan import AgentPlan
from hosting.ports import EntityPage, iso

Links = Callable[[AgentPlan], Mapping[str, str | None]]
"""The members of an agent for URLs that features add: each path below the agent, None where it has none."""


def agents_reply(
    plans: Sequence[AgentPlan], base_url: str, routes: Container[Route], links: Links, *, administers: bool
) -> Reply:
    """Return the agents among these, which of the app's `routes` each has, and where the workflows are.

    `administers`: the caller may know what the agents are at.
    """
    agents = [_listed_agent(plan, base_url, routes, links) for plan in plans if plan.workflow is None]
    body: AgentList = {
        "agents": agents,
        "workflows_url": f"{base_url}/workflows" if len(agents) < len(plans) else None,
        "operations_url": f"{base_url}/operations" if administers else None,
    }
    return json_reply(200, body)


def _listed_agent(agent: AgentPlan, base_url: str, routes: Container[Route], links: Links) -> ListedAgent:
    """Return an agent, or a workflow, as a list has it."""
    url = f"{base_url}/{agent.kind}s/{quote(agent.name)}"
    added = {name: None if path is None else f"{url}/{path}" for name, path in links(agent).items()}
    fields: ListedAgent = {
        "name": agent.name,
        "description": agent.description,
        "example": agent.example,
        "run_url": f"{url}/run" if agent.http else None,
        "threads_url": f"{url}/threads" if agent.http else None,
        "webhooks_url": f"{url}/webhooks" if agent.http and NOT_TAKEN in routes else None,
        "budget_url": f"{url}/budget" if agent.http and agent.budget is not None else None,
        "mcp_tool": agent.tool.name if agent.tool else None,
    }
    return cast(ListedAgent, {**fields, **added})


def workflows_reply(plans: Sequence[AgentPlan], base_url: str, routes: Container[Route], links: Links) -> Reply:
    """Return these workflows and their inputs; see `agents_reply`."""
    workflows: list[ListedWorkflow] = [
        {
            **_listed_agent(plan, base_url, routes, links),
            "input_schema": dict(plan.workflow.input.schema),
            "graph": plan.workflow.shape,
        }
        for plan in plans
        if plan.workflow is not None
    ]
    body: WorkflowList = {"workflows": workflows}
    return json_reply(200, body)


def health_reply(agents: Iterable[AgentPlan] | None) -> Reply:
    """Return that the app runs, and its agents where they are given."""
    if agents is None:
        return json_reply(200, {"status": "healthy"})
    listed = [
        HealthyAgent(
            name=each.name,
            type=type(each.agent).__name__,
            http_endpoint_enabled=each.http,
            mcp_tool_enabled=each.tool is not None,
        )
        for each in agents
    ]
    return json_reply(200, {"status": "healthy", "agents": listed, "agent_count": len(listed)})


def threads_reply(page: EntityPage) -> Reply:
    """Return a page of threads, in the store's order."""
    threads: list[ListedThread] = [
        {"thread_id": key, "session_id": key, "updated_at": changed} for key, changed in page.keys
    ]
    body: ThreadPage = {"threads": threads, "next_cursor": page.cursor}
    return json_reply(200, body)


def newest_reply(page: OverviewPage, now: float) -> Reply:
    """Return a page of threads, the newest change first."""
    threads = [_listed(address.thread_id, head, now) for address, head in page.threads]
    body: ThreadPage = {"threads": threads, "next_cursor": page.cursor}
    return json_reply(200, body)


def _listed(thread_id: str, head: Head, now: float) -> ListedThread:
    return {
        **thread_ids(thread_id),
        "updated_at": iso(head.changed_at),
        "title": head.title,
        "status": "waiting" if head.is_waiting_for_approval(now) else "running" if head.runs else "idle",
    }


def waiting_reply(paused: Sequence[Run], plans: Mapping[str, AgentPlan], cursor: str | None) -> Reply:
    """Return the waiting approvals of these runs; `plans` has the agents by their names in lower case."""
    waiting: list[WaitingApproval] = [
        {
            "agent": plans[run.address.agent].name,
            "kind": plans[run.address.agent].kind,
            **thread_ids(run.address.thread_id),
            **approval,
        }
        for run in paused
        for approval in approval_fields(run, run.undecided)
    ]
    body: WaitingApprovals = {"approvals": waiting, "next_cursor": cursor}
    return json_reply(200, body)


def figures_reply(agent: str, figures: AgentFigures) -> Reply:
    """Return an agent's figures by day, the oldest day first."""
    days = [day_fields(date, day) for date, day in figures.days]
    body: Figures = {"agent": agent, "as_of": iso(figures.seen_until), "days": days}
    return json_reply(200, body)


def day_fields(date: str, day: Day) -> DayFigures:
    """Return the figures of the runs of one day."""
    mean = day.seconds / day.runs if day.runs else 0.0
    median, slow, longest = day.latency_of(0.5), day.latency_of(0.95), day.longest_seconds
    figures: DayFigures = {
        "day": date,
        "runs": day.runs,
        "failures": dict(day.failures),
        "latency_seconds": {
            "mean": round(mean, 3),
            "p50": round(median, 3),
            "p95": round(slow, 3),
            "max": round(longest, 3),
        },
        "usage": dict(day.tokens),  # type: ignore[typeddict-item]
    }
    if day.cost:
        figures["cost"] = cost_text(day.cost)
    return figures
