"""What start-up prints: the address, each function with its route, and the first request to try."""

from __future__ import annotations

import re
from collections.abc import Iterable

from devhost.bindings import AuthLevel, HttpTrigger, SentTrigger
from devhost.http.app import WEBHOOKS
from devhost.http.keys import Keys
from devhost.http.routes import displayed_route
from devhost.index import Function
from devhost.loader import HostedApp
from devhost.mcp.catalog import Catalog

_FOLLOWING = re.compile(r"\{\*[^{}]*\}$")
_PARAMETER = re.compile(r"\{\*{0,2}([^=?{}]+)(?:=[^{}?]*)?\??\}")


def describe_functions(app: HostedApp, origin: str, *, is_whole: bool = True) -> Iterable[str]:
    """Return the lines of the function list, in Core Tools' shape, which tools parse.

    Unless `is_whole`, what the app calls details is counted only. A function that does not run is listed all the same.
    """
    details = frozenset() if is_whole else app.introduction.details
    left_out = [function for function in app.index.functions if function.name in details and not function.not_run]
    yield "Functions:"
    yield ""
    for function in app.index.functions:
        if function in left_out:
            continue
        not_run = function.not_run or app.group.reason_not_to_run(function) or _how_sent(function)
        reason = f" ({not_run})" if not_run else ""
        yield f"\t{function.name}: {_describe(app, function, origin)}{reason}"
    if not app.index.functions:
        yield f"\tnone: {app.settings.script} declares no functions"
    if left_out:
        yield f"\t{len(left_out)} more with --verbose"


def _how_sent(function: Function) -> str | None:
    """Return how a message comes to a function of a service that no laptop has."""
    if isinstance(function.trigger, SentTrigger):
        return f"listens to nothing here: the command `send {function.name} --body TEXT` delivers a message"
    return None


def _describe(app: HostedApp, function: Function, origin: str) -> str:
    if not isinstance(function.trigger, HttpTrigger):
        return function.trigger_type
    methods = f"[{','.join(sorted(function.trigger.methods))}] " if function.trigger.methods else ""
    return f"{methods}{origin}/{displayed_route(function.trigger, app.settings.route_prefix)}"


def path_of(app: HostedApp, name: str | None) -> str | None:
    """Return the path of that HTTP function, where this process serves it; what its catch-all takes is empty."""
    for function in app.index.running():
        if function.name == name and isinstance(function.trigger, HttpTrigger) and app.group.listens_for(function):
            return f"/{_FOLLOWING.sub('', displayed_route(function.trigger, app.settings.route_prefix))}"
    return None


def describe_doors(app: HostedApp, origin: str, keys: Keys | None = None) -> Iterable[str]:
    """Return the lines that name the MCP endpoint, the page and the first request to try, where the app has any.

    With `keys` that request has the one that it needs.
    """
    if app.mcp:
        yield ""
        yield f"MCP: {origin}{WEBHOOKS}/mcp ({_offers(app.mcp)})"
    doors = {title: path_of(app, function) for title, (function, _) in app.introduction.doors.items()}
    if any(doors.values()) and not app.mcp:
        yield ""
    yield from (f"{title}: {origin}{path}{app.introduction.doors[title][1]}" for title, path in doors.items() if path)
    request = _first_request(app, origin, keys)
    page = path_of(app, app.introduction.page)
    if page or request:
        yield ""
    if page:
        yield f"Open: {origin}{page}"
    if request:
        yield f"Try: {request}"


def _offers(catalog: Catalog) -> str:
    """Return what there is of each kind, by name."""
    kinds = {
        "tools": [tool.name for tool in catalog.tools.values()],
        "resources": [resource.name for resource in catalog.resources],
        "prompts": [prompt.name for prompt in catalog.prompts.values()],
    }
    return "; ".join(f"{kind}: {', '.join(names)}" for kind, names in kinds.items() if names)


def _first_request(app: HostedApp, origin: str, keys: Keys | None) -> str | None:
    """Return a curl line for the function that the app names, else for the first HTTP function, with its key.

    The values of its parameters are their names.
    """
    named, text = app.introduction.request or ("", "")
    found = [function for function in app.index.running() if app.group.listens_for(function)]
    for function in sorted(found, key=lambda function: function.name != named):
        if isinstance(function.trigger, HttpTrigger):
            path = _PARAMETER.sub(r"\1", displayed_route(function.trigger, app.settings.route_prefix))
            url = f"{origin}/{path}"
            request = f'curl {url} -d "{text}"' if function.name == named else _curl(url, function.trigger.methods)
            return request + _key_option(function.trigger.auth_level, keys)
    return None


def _key_option(level: AuthLevel, keys: Keys | None) -> str:
    if keys is None or level == "anonymous":
        return ""
    return f' -H "x-functions-key: {keys.master if level == "admin" else keys.host}"'


def _curl(url: str, methods: frozenset[str] | None) -> str:
    if methods is None or "GET" in methods:
        return f"curl {url}"
    method = "POST" if "POST" in methods else min(methods)
    return f'curl -X {method} {url} -H "Content-Type: application/json" -d "{{}}"'
