"""Registers what features declare: the one place that makes triggers of it."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import azure.durable_functions as df
import azure.functions as func

from hosting.feature import Activity, Orchestration
from hosting.functions.answering import Served, register_bound
from hosting.functions.durable import enter_invocation


def register_features(served: Served) -> None:
    """Register what the app's features add; called again, what those add that came with an agent since."""
    for feature in served.features:
        if not feature.is_on:
            continue
        register_bound(served, (bound for bound in feature.routes() if bound.route not in served.routes))
        for function in feature.durable():
            if function.name not in served.functions:
                served.functions.append(function.name)
                _register(served.app, function)


def _register(app: df.DFApp, function: Orchestration | Activity) -> None:
    match function:
        case Orchestration(name, run):

            def orchestrate(context: df.DurableOrchestrationContext) -> Generator[Any, Any, None]:
                return (yield from run(context))

            app.function_name(name)(app.orchestration_trigger(context_name="context")(orchestrate))
        case Activity(name, act):

            async def activity(value: str, client: Any, context: func.Context) -> str:
                return await act(value, enter_invocation(client, context))

            trigger = app.activity_trigger(input_name="value")
            app.function_name(name)(trigger(app.durable_client_input(client_name="client")(activity)))
