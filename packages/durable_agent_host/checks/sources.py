"""What an app's code says of who may call it, and whether the host can load it."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator

from packages.durable_agent_host.checks.app import AppFolder, Found

_OF_OTHERS = ("agent_framework", "azure", "azurefunctions", "durable_agent_host", "functions_local_host", "openai")


def app_missing(app: AppFolder) -> Iterator[Found]:
    """`app-missing`."""
    if "function_app.py" not in app.sources:
        yield "function_app.py", "it is missing. The host loads the app from it: app = AgentFunctionApp(agents=[...])."
    for name, tree in app.sources.items():
        if isinstance(tree, SyntaxError):
            yield f"{name}:{tree.lineno}", f"it is not valid Python: {tree.msg}. Correct it."


def shadowed_module(app: AppFolder) -> Iterator[Found]:
    """`shadowed-module`."""
    tops = {name.partition("/")[0].removesuffix(".py") for name in app.sources}
    for name in sorted(tops & {*sys.stdlib_module_names, *_OF_OTHERS}):
        yield (
            name,
            f"the app's folder is first on Python's path, so it takes the place of the module {name}. Rename it.",
        )


def anonymous_http(app: AppFolder) -> Iterator[Found]:
    """`anonymous-http`."""
    for name, call in _calls(app, "AgentFunctionApp"):
        if _is_anonymous(call, "http_auth_level") and not any(one.arg == "principal" for one in call.keywords):
            yield (
                f"{name}:{call.lineno}",
                "http_auth_level is ANONYMOUS, and in production the app does not start so. Leave it out, or give "
                "principal=... (docs/guides/security.md).",
            )


def anonymous_route(app: AppFolder) -> Iterator[Found]:
    """`anonymous-route`."""
    for name, call in _calls(app, "route"):
        if _is_anonymous(call, "auth_level"):
            yield f"{name}:{call.lineno}", "anyone may call this route. Leave auth_level out: callers then send a key."


def _calls(app: AppFolder, called: str) -> Iterator[tuple[str, ast.Call]]:
    for name, node in app.nodes():
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == called:
            yield name, node


def _is_anonymous(call: ast.Call, option: str) -> bool:
    return any(
        one.arg == option and ast.unparse(one.value).strip("'\"").rpartition(".")[2].upper() == "ANONYMOUS"
        for one in call.keywords
    )
