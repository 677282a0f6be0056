"""The app, loaded and indexed: everything that can be wrong with it is refused here, before anything runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from azure.functions.decorators.function_app import Function as DeclaredFunction

from devhost.errors import FunctionLoadError
from devhost.groups import Group, find_group
from devhost.http.routes import RouteTable, build_routes
from devhost.index import FunctionIndex, build_index
from devhost.loader import load_declared_functions
from devhost.mcp.catalog import Catalog, find_catalog
from devhost.settings import HostSettings
from devhost.signature import place_of
from devhost.timers.runner import Timer, find_timers


@dataclass(frozen=True)
class HostedApp:
    """One Functions app, ready to be served; routes and timers are those that this host's group listens for."""

    settings: HostSettings
    group: Group
    index: FunctionIndex
    routes: RouteTable
    mcp: Catalog
    timers: tuple[Timer, ...]


def load_hosted_app(settings: HostSettings, environ: Mapping[str, str]) -> HostedApp:
    """Import the app of the settings' folder and return it; raise `HostError` with what to mend."""
    declared = load_declared_functions(settings.folder, settings.script)
    try:
        return _indexed(declared, settings, environ)
    except FunctionLoadError as error:
        handlers = {str(function.get_function_name()): function.get_user_function() for function in declared}
        place = place_of(handlers[error.function_name])
        raise FunctionLoadError(error.function_name, error.reason, place) from error


def _indexed(declared: Sequence[DeclaredFunction], settings: HostSettings, environ: Mapping[str, str]) -> HostedApp:
    index = build_index(declared, settings, environ)
    group = find_group(settings.group, index)
    # All of it is read, whatever the group: what is wrong with an app must not depend on who hosts it.
    routes, timers = build_routes(index, settings.route_prefix), find_timers(index)
    return HostedApp(
        settings,
        group,
        index,
        RouteTable(route for route in routes.routes if group.listens_for(route.function)),
        find_catalog(index),
        tuple(timer for timer in timers if group.listens_for(timer.function)),
    )
