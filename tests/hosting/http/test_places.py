"""Where a route is: its path, its parameters and its function are joined of its place and itself."""

from __future__ import annotations

import pytest

from hosting.errors import UnknownThreadError
from hosting.features.instances.http import INSTANCE_RUN, of_only
from hosting.features.owners.http import SHARED, SHARED_RUN
from hosting.http import routes
from hosting.http.parameters import in_path
from hosting.http.places import AGENT, APP, OF_WORKFLOWS, RUN, THREAD, THREAD_ID, Mount
from hosting.http.route import Place, Route


def shown(route: Route | None) -> tuple[str, str, list[str]] | None:
    """Return a route's function, its path, and the names of its parameters in the path."""
    return route and (route.function, route.path, [each.name for each in route.place.parameters])


@pytest.mark.behaviour("hosting.registers")
def test_a_route_and_a_place_give_function_path_and_parameters() -> None:
    """Those of an agent's thread, of a workflow's, and of one that is shared."""
    ids, of_run = ["thread_id", "run_id"], "threads/{thread_id}/runs/{run_id}/cancel"

    assert [shown(routes.CANCEL), shown(OF_WORKFLOWS.of(routes.CANCEL)), shown(SHARED.of(routes.CANCEL))] == [
        ("http_run_cancel", f"agents/{{name}}/{of_run}", ids),
        ("http_workflow_run_cancel", f"workflows/{{name}}/{of_run}", ids),
        ("http_shared_run_cancel", "shared/{grant}/runs/{run_id}/cancel", ["grant", "run_id"]),
    ]


@pytest.mark.behaviour("hosting.registers")
def test_the_run_of_one_agent_has_its_own_function_on_its_own_path() -> None:
    """A blank of its name is `_` in the function. That of a shared thread names no agent."""
    assert [
        shown(route)
        for route in (
            routes.run_route("Sad Poet"),
            routes.run_route("Flow", "workflow"),
            SHARED_RUN,
            of_only("Flow").of(INSTANCE_RUN),
        )
    ] == [
        ("http-Sad_Poet", "agents/Sad Poet/run", []),
        ("http-Flow", "workflows/Flow/run", []),
        ("http_shared_run", "shared/{grant}/run", ["grant"]),
        ("http_single_instance_run", "workflow/run", []),
    ]
    assert routes.run_route("Flow", "workflow").description == "Run the workflow"


@pytest.mark.parametrize("route", [routes.OPENAPI, routes.RUN, INSTANCE_RUN])
def test_a_route_that_is_not_below_the_home_of_a_mount_is_not_there(route: Route) -> None:
    """A path that only begins with the same letters is none below it."""
    letters = Route("thread", "GET", APP.below("agents/{name}/threads/{thread_id}s", THREAD_ID), "Read", ())

    assert (SHARED.of(route), SHARED.of(letters)) == (None, None)


def test_a_route_may_answer_at_another_place_with_the_refusals_of_that() -> None:
    """In place of those of the parameters that it has no more."""
    note, refusal = in_path("note_id", "The note."), UnknownThreadError
    other = Mount(THREAD, Place("http_other", refusals=(refusal,)).below("other/{note_id}", note))
    moved = other.of(routes.RESET)

    assert moved is not None
    assert moved.all_refusals == (refusal, *routes.RESET.refusals)
    assert (RUN.moved(THREAD, other.place), THREAD.moved(RUN, other.place), AGENT.moved(AGENT, APP)) == (
        other.place.below("runs/{run_id}", *RUN.parameters[1:]),
        None,
        APP,
    )
