"""The routes of workflows: threads and runs as an agent's, and a list of workflows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import GenericAlias

from hosting.http import bodies
from hosting.http.body_document import RUN_BODY
from hosting.http.mounts import Mount
from hosting.http.route import Route, ok
from hosting.http.routes import RUN
from hosting.names import http_function

_WORKFLOWS = Mount("agents/{name}", "workflows/{name}", "workflow", lambda route: route.is_for_workflows)


def workflows_route(links: Iterable[str]) -> Route:
    """Return the list of workflows, each with these members for URLs besides the core's own."""
    workflow = bodies.with_members(bodies.ListedWorkflow, dict.fromkeys(links, str | None))
    body = bodies.with_members(bodies.WorkflowList, {"workflows": GenericAlias(list, (workflow,))})
    return Route("http_workflows", "GET", "workflows", "List the workflows", ok(body))


def of_workflow(route: Route) -> Route | None:
    """Return the same route of a workflow; None if workflows do not have it."""
    same = _WORKFLOWS.of(route)
    if same is None:
        return None
    return same if route.of_workflows is None else route.of_workflows(same)


def of_only_workflow(route: Route, workflow: str) -> Route | None:
    """Return the same route without a name, for the only workflow of an app; None if it is not one of `instances`."""
    return Mount("workflow/{name}", "workflow", "single", agent=workflow).of(route)


def workflow_run_route(workflow: str) -> Route:
    """Return the route that runs this workflow."""
    path = WORKFLOW_RUN.path.format(name=workflow)
    return replace(WORKFLOW_RUN, function=http_function(workflow), path=path, agent=workflow)


WORKFLOW_RUN = replace(RUN, path=f"{_WORKFLOWS.path}/run", description="Run the workflow", body=RUN_BODY)
