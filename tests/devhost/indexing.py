"""Index functions that a test declares on an app object of its own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import azure.functions as func

from devhost.forwarding import LogLevels
from devhost.index import FunctionIndex, build_index
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
