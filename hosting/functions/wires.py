"""The wires that an app names: each is one function, below a path of its own."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import azure.functions as func
from azurefunctions.extensions.http.fastapi import Request, Response

from hosting.core.services import Services
from hosting.errors import ConfigurationError
from hosting.functions.answering import Served, admitted, respond
from hosting.functions.durable import DurableClient, enter_invocation
from hosting.http.replies import Reply, Streamed
from hosting.http.wire import Wire
from hosting.plan import Plan


def _responses(plan: Plan, services: Services) -> Wire:
    from hosting.http.responses.verbs import ResponsesWire

    return ResponsesWire(plan, services)


def _a2a(plan: Plan, services: Services) -> Wire:
    from hosting.http.a2a.verbs import A2AWire

    return A2AWire(plan, services)


def _ag_ui(plan: Plan, services: Services) -> Wire:
    from hosting.http.ag_ui.verbs import AgUiWire

    return AgUiWire(plan, services)


# Each is imported where an app names it: all three are a twentieth of what an app without them imports at its start.
WIRES: Mapping[str, Callable[[Plan, Services], Wire]] = {"responses": _responses, "a2a": _a2a, "ag-ui": _ag_ui}
TITLES = {"responses": "Responses", "a2a": "A2A", "ag-ui": "AG-UI"}
METHODS = ("GET", "POST", "DELETE")


def register_wires(served: Served, names: Sequence[str], services: Services) -> None:
    """Register the wires of these names.

    Raises `ConfigurationError` for a name that is no wire's, with the nearest that is one.
    """
    if isinstance(names, str):
        raise ConfigurationError(f"wires is the text {names!r:.80}. Give a list of names, such as wires=['responses'].")
    for name in names:
        if name not in WIRES:
            near = difflib.get_close_matches(str(name), WIRES, n=1)
            advice = f"Did you mean {near[0]!r}?" if near else f"Wires: {', '.join(map(repr, WIRES))}."
            raise ConfigurationError(f"There is no wire {name!r:.80}. {advice}")
    for name in dict.fromkeys(names):
        served.wires[name] = WIRES[name](served.plan, services)
        _register(served, served.wires[name])


def doors_of(served: Served) -> Mapping[str, tuple[str, str]]:
    """Return the base path of each wire's clients, by its title: the function, and the rest of the path.

    Responses names the agent in the body, the others in the path: there it is the first.
    """
    agent = next((quote(each.name) for each in served.plan.served_of("agent")), None)
    ends = {name: "v1" if name == "responses" else agent for name in served.wires}
    return {TITLES[name]: (served.wires[name].function, end) for name, end in ends.items() if end is not None}


def _register(served: Served, wire: Wire) -> None:
    async def handled(req: Request, client: DurableClient) -> Reply | Streamed:
        path = req.path_params.get("path") or ""
        served.watch()
        request = await admitted(served, req, client, wire.route_of(req.method, path))
        return await wire.reply(request, path)

    async def serve(req: Request, client: Any, context: func.Context) -> Response:
        return await respond(req, handled(req, enter_invocation(client, context)), wire.refusal)

    app = served.app
    trigger = app.route(route=f"{wire.path}/{{*path}}", methods=METHODS)
    app.function_name(wire.function)(trigger(app.durable_client_input(client_name="client")(serve)))
