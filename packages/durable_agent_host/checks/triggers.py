"""What an app's triggers and bindings name: connections that nothing sets, and queues that storage refuses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from packages.durable_agent_host.checks.app import SETTINGS, AppFolder, Found

_BINDING = re.compile(
    r"(queue|blob|service_bus_queue|service_bus_topic|event_hub_message|event_hub|cosmos_db)_(trigger|input|output)\Z"
)
_QUEUES = ("queue_trigger", "queue_output")
_BATCHES = ("event_hub_message_trigger", "cosmos_db_trigger")
_QUEUE = re.compile(r"(?=.{3,63}\Z)[a-z0-9]+(-[a-z0-9]+)*\Z")
_SETTING = re.compile(r"%([^%]+)%")


def trigger_connection(app: AppFolder) -> Iterator[Found]:
    """`trigger-connection`."""
    local, infra = app.values(SETTINGS), "\n".join(app.bicep.values())
    for name, call in _bindings(app):
        for setting in _settings(call):
            names = (setting, f"AzureWebJobs{setting}")  # where the host looks
            if local is not None and not any(_is_of(key, names) and value for key, value in local.items()):
                place = f"{name}:{call.lineno}"
                yield place, f"{setting} is not set in {SETTINGS}, so the function does not start. Set it there."
            if infra and not any(each in infra for each in names):
                place = f"{name}:{call.lineno}"
                yield place, f"no file of infra/ sets {setting}, so the function does not start. Set it there."


def queue_name(app: AppFolder) -> Iterator[Found]:
    """`queue-name`."""
    for name, call in _bindings(app):
        queue = _text(call, "queue_name")
        if _called(call) in _QUEUES and queue is not None and not _SETTING.search(queue) and not _QUEUE.match(queue):
            yield (
                f"{name}:{call.lineno}",
                f"storage has no queue {queue!r}. Name it with 3 to 63 lower case letters, digits and single '-'.",
            )


def batch_not_retried(app: AppFolder) -> Iterator[Found]:
    """`batch-not-retried`."""
    for name, node in app.nodes():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            decorators = {_called(each): each for each in node.decorator_list if isinstance(each, ast.Call)}
            batch = next((each for each in _BATCHES if each in decorators), None)
            if "agent_trigger" in decorators and batch is not None and "retry" not in decorators:
                yield (
                    f"{name}:{decorators[batch].lineno}",
                    "the host does not repeat a batch that failed, so its runs are lost. Add @app.retry(...) "
                    "(docs/guides/triggers.md).",
                )


def _bindings(app: AppFolder) -> Iterator[tuple[str, ast.Call]]:
    for name, node in app.nodes():
        if isinstance(node, ast.Call) and _BINDING.match(_called(node)):
            yield name, node


def _called(call: ast.Call) -> str:
    return ast.unparse(call.func).rpartition(".")[2]


def _text(call: ast.Call, option: str) -> str | None:
    """Return an option of a decorator, if it is a text as it stands."""
    values = (each.value for each in call.keywords if each.arg == option)
    return next(
        (str(one.value) for one in values if isinstance(one, ast.Constant) and isinstance(one.value, str)), None
    )


def _settings(call: ast.Call) -> Iterator[str]:
    """Iterate over the settings that a decorator names: of its connection, and in its other texts."""
    connection = _text(call, "connection")
    if connection is not None:
        yield connection.strip("%")
    for keyword in call.keywords:
        text = None if keyword.arg in (None, "connection") else _text(call, str(keyword.arg))
        yield from _SETTING.findall(text or "")


def _is_of(key: str, names: tuple[str, ...]) -> bool:
    """Return whether a setting is one of these, or a part of one that names an identity."""
    return any(key == name or key.startswith((f"{name}__", f"{name}:")) for name in names)
