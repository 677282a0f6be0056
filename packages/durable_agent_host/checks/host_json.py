"""What of host.json an app needs: what the host or the app refuses, and what is slow or unsafe without it."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

from hosting.errors import ConfigurationError
from hosting.host_settings import host_value, task_hub
from packages.durable_agent_host.checks.app import AppFolder, Found

FILE = "host.json"
BUNDLE = "Microsoft.Azure.Functions.ExtensionBundle"
RANGE = "[4.29.0, 5.0.0)"
_NEEDED = (4, 29)
"""The bundle that has the MCP extension's release, as docs/reference/deployment.md says."""
_LEAST_SECONDS, _SPARE_SECONDS = 5, 25
"""What an attempt of a run takes at least, and what its function has besides."""
_DURABLE = ("extensions", "durableTask")
_WANTED = (
    ("maxEntityOperationBatchSize", "1", "a finished run becomes visible only after the runs queued behind it"),
    ("maxConcurrentEntityFunctions", "500", "an instance runs ten agents for each core at once"),
)
_WANTED_OF_STORAGE = (
    (
        "controlQueueVisibilityTimeout",
        '"00:01:00"',
        "other hosts take over the runs of a crashed host only after 5 minutes",
    ),
    (
        "workItemQueueVisibilityTimeout",
        '"00:01:00"',
        "an activity of a crashed host, such as a schedule's tick, starts again only after 5 minutes",
    ),
    ("maxQueuePollingInterval", '"00:00:01"', "the first run after a pause waits up to 30 seconds"),
)


def host_json(app: AppFolder) -> Iterator[Found]:
    """`host-json`."""
    if app.host is None:
        is_there = app.text(FILE) is not None
        said = "it is not a JSON object" if is_there else "it is missing"
        yield FILE, f"{said}. Take the template's, which `durable-agent-host new` writes."
    elif (app.folder / FILE).read_bytes().startswith(codecs.BOM_UTF8):
        yield (
            FILE,
            "it begins with a byte order mark, and the Durable Functions SDK fails. Save it as UTF-8 without one.",
        )
    elif app.host.get("version") != "2.0":
        yield FILE, 'version is not "2.0", the only one that hosts take. Set it.'


def bundle(app: AppFolder) -> Iterator[Found]:
    """`bundle`."""
    if app.host is None:
        return
    given = app.host.get("extensionBundle")
    name, span = (given.get("id"), str(given.get("version", ""))) if isinstance(given, dict) else (None, "")
    ends = [tuple(int(number) for number in re.findall(r"\d+", end)) for end in span.split(",")]
    if name != BUNDLE:
        yield FILE, f'extensionBundle.id is not {BUNDLE}. Set it, with the version "{RANGE}".'
    elif not any(ends) or ends[-1] <= _NEEDED or ends[0] >= (5,):
        yield FILE, f'extensionBundle.version is "{span}", which has no bundle from 4.29 on. Set "{RANGE}".'


def older_document(app: AppFolder) -> Iterator[Found]:
    """`older-document`."""
    if app.host is not None and _is_storage(app) and _provided(app, "useInstanceTableEtag") != "true":
        yield (
            FILE,
            "extensions.durableTask.storageProvider.useInstanceTableEtag is not true, and in production the app does "
            "not start without it. Set it to true.",
        )


def function_timeout(app: AppFolder) -> Iterator[Found]:
    """`function-timeout`."""
    given = host_value(app.folder, app.settings, "functionTimeout") if app.host is not None else None
    found = re.fullmatch(r"(?:(\d+)\.)?(\d+):(\d+):(\d+)", str(given))
    if found is None:
        return
    days, hours, minutes, seconds = (int(number or 0) for number in found.groups())
    attempt = app.settings.get("AGENT_ATTEMPT_SECONDS", "").strip()
    chosen = float(attempt) if re.fullmatch(r"\d+(\.\d+)?", attempt) else 0.0
    needed = max(chosen, _LEAST_SECONDS) + _SPARE_SECONDS
    if ((days * 24 + hours) * 60 + minutes) * 60 + seconds < needed:
        yield (
            FILE,
            f"functionTimeout is {given}, and an attempt of a run with its spare time takes {needed:g} s. Raise it.",
        )


def host_values(app: AppFolder) -> Iterator[Found]:
    """`host-values`."""
    if app.host is None:
        return
    for name, value, without in _WANTED:
        if host_value(app.folder, app.settings, *_DURABLE, name) is None:
            yield FILE, f"extensions.durableTask.{name} is missing: {without}. Set it to {value}."
    for name, value, without in _WANTED_OF_STORAGE if _is_storage(app) else ():
        if host_value(app.folder, app.settings, *_DURABLE, "storageProvider", name) is None:
            yield FILE, f"extensions.durableTask.storageProvider.{name} is missing: {without}. Set it to {value}."


def hub_name(app: AppFolder) -> Iterator[Found]:
    """`hub-name`."""
    if app.host is None:
        return
    try:
        task_hub(app.folder, app.settings)
    except ConfigurationError as error:
        yield FILE, str(error)


def anonymous_mcp(app: AppFolder) -> Iterator[Found]:
    """`anonymous-mcp`."""
    path = ("extensions", "mcp", "system", "webhookAuthorizationLevel")
    if app.host is not None and str(host_value(app.folder, app.settings, *path)).lower() == "anonymous":
        yield (
            FILE,
            f"{'.'.join(path)} is Anonymous, so anyone may use the agents. Leave it out: clients then send a key.",
        )


def _is_storage(app: AppFolder) -> bool:
    return _provided(app, "type") in ("none", "azurestorage")


def _provided(app: AppFolder, name: str) -> str:
    return str(host_value(app.folder, app.settings, *_DURABLE, "storageProvider", name)).lower()
