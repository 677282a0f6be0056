"""The routes of workflows: threads and runs as an agent's, and a list of workflows."""

from __future__ import annotations

from dataclasses import replace

from hosting import errors
from hosting.http import bodies
from hosting.http.route import Route, ok
from hosting.http.routes import FORK, ROUTES, RUN
from hosting.names import http_function
from hosting.request.run_call import DECISION, WORKFLOW_ANSWER

WORKFLOWS = Route("http_workflows", "GET", "workflows", "List the workflows", ok(bodies.WorkflowList))
_OF_AGENT = "agents/{name}/"
_OF_WORKFLOW = "workflows/{name}/"


def of_workflow(route: Route) -> Route | None:
    """Return the same route of a workflow; None if workflows do not have it."""
    if not (route.path.startswith(_OF_AGENT) and route.is_for_workflows):
        return None
    path = route.path.replace(_OF_AGENT, _OF_WORKFLOW, 1)
    body = WORKFLOW_ANSWER if route.body is DECISION else route.body
    same = replace(route, function=route.function.replace("http_", "http_workflow_"), path=path, body=body)
    if route is FORK:
        return replace(same, description="Refuses: it has no forks", answers=(), refusals=(errors.ForkRefusedError,))
    return same


def workflow_run_route(workflow: str) -> Route:
    """Return the route that runs this workflow."""
    path = WORKFLOW_RUN.path.format(name=workflow)
    return replace(WORKFLOW_RUN, function=http_function(workflow), path=path)


WORKFLOW_RUN = replace(RUN, path=f"{_OF_WORKFLOW}run", description="Run the workflow", body="run")
WORKFLOW_ROUTES = (
    WORKFLOWS,
    WORKFLOW_RUN,
    *(same for route in ROUTES if route is not RUN and (same := of_workflow(route)) is not None),
)
"""The routes of an app with workflows: a workflow's threads and runs have the routes of an agent's."""
