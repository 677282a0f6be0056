"""The durable functions of an app as the host calls them: through the SDK's converters and the host's own invoker."""

from __future__ import annotations

from collections.abc import Callable

import azure.durable_functions as df
import azure.functions as func

from devhost.invoke import AppFunctions, Invoker
from tests.devhost.indexing import SETTINGS, index_of


def functions_of(app: func.FunctionRegister, timeout_seconds: float | None = None) -> AppFunctions:
    """Return the app's functions, each of which may run for so long."""
    return AppFunctions(index_of(app), Invoker(SETTINGS.threads, timeout_seconds, lambda: ""))


def activity(handler: Callable[..., object]) -> AppFunctions:
    """Return an app of one activity, under the handler's name."""
    app = df.DFApp()
    app.activity_trigger(input_name="value")(handler)
    return functions_of(app)
