"""Functions that a test declares on an app object of its own: indexed, and called as the host calls them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import azure.durable_functions as df
import azure.functions as func

from devhost.forwarding import LogLevels
from devhost.index import FunctionIndex, build_index
from devhost.invoke import AppFunctions, Invoker
from devhost.settings import HostSettings, McpServerSettings

SETTINGS = HostSettings(
    folder=Path("app"),
    script="function_app.py",
    route_prefix="api",
    function_timeout_seconds=None,
    threads=2,
    body_limit_bytes=1000,
    custom_headers=(),
    only_functions=None,
    extension_bundle=None,
    log_levels=LogLevels.of({}),
    durable_task={},
    mcp=McpServerSettings(),
    shows_home_page=True,
)


def index_of(
    app: func.FunctionRegister, environ: Mapping[str, str] | None = None, settings: HostSettings = SETTINGS
) -> FunctionIndex:
    """Return the index of the app's functions."""
    return build_index(app.get_functions(), settings, environ or {})


def functions_of(app: func.FunctionRegister, timeout_seconds: float | None = None) -> AppFunctions:
    """Return the app's functions, each of which may run for so long."""
    return AppFunctions(index_of(app), Invoker(SETTINGS.threads, timeout_seconds, lambda: ""))


def activity(handler: Callable[..., object]) -> AppFunctions:
    """Return an app of one activity, under the handler's name."""
    app = df.DFApp()
    app.activity_trigger(input_name="value")(handler)
    return functions_of(app)
