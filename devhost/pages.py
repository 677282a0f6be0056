"""What a browser is shown under `/`: links to what the app has, its page first, and a reader of its OpenAPI document.

Nothing here is fetched from anywhere but this host.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from pathlib import Path

from starlette.responses import HTMLResponse, Response

from devhost.bindings import HttpTrigger
from devhost.http.app import WEBHOOKS
from devhost.http.routes import displayed_route
from devhost.index import Function
from devhost.listing import path_of
from devhost.loader import HostedApp

_READER = Path(__file__).with_name("openapi.html")
_READER_PATH = "/admin/openapi"
_ADMIN = {"/admin/functions": "Functions, as JSON", "/admin/host/status": "Host status, as JSON"}
_DURABLE = {"/admin/durable": "Durable instances and entities"}
_TOP = (
    "<!DOCTYPE html><html lang=en><title>Functions</title>"
    "<style>body{font:16px/1.5 system-ui;margin:2em auto;max-width:60em;padding:0 1em}"
    "td{padding:0 1.5em 0 0}code{font-size:90%}</style>"
    "<h1>The app is up and running</h1>"
)

Page = Callable[[], Response]


def make_pages(app: HostedApp, *, has_engine: bool) -> Mapping[str, Page]:
    """Return the pages by their paths, in lower case; they are made when they are asked for."""
    page, document = path_of(app, app.introduction.page), path_of(app, app.introduction.openapi)
    links = {page: "The app's page: begin here"} if page else {}
    if document:
        links |= {_READER_PATH: "Routes, with their requests and responses", document: "The OpenAPI document"}
    links |= _ADMIN | (_DURABLE if has_engine else {})
    home = _home(app, links)
    pages: dict[str, Page] = {"/": lambda: home if app.settings.shows_home_page else Response(status_code=204)}
    if document:
        reader = _READER.read_text(encoding="utf-8").replace("{{document}}", escape(document))
        pages[_READER_PATH] = lambda: HTMLResponse(reader)
    return pages


def _home(app: HostedApp, links: Mapping[str, str]) -> Response:
    looked_at = "".join(f'<li><a href="{escape(path)}">{escape(title)}</a></li>' for path, title in links.items())
    mcp = f"<p>MCP: <code>{WEBHOOKS}/mcp</code></p>" if app.mcp else ""
    rows = "".join(_row(app, function) for function in app.index.functions)
    page = f"{_TOP}<ul>{looked_at}</ul>{mcp}<h2>Functions</h2><table>{rows}</table>"
    # Without a charset, as the real host's.
    return HTMLResponse(page.encode("ascii", "xmlcharrefreplace"), headers={"content-type": "text/html"})


def _row(app: HostedApp, function: Function) -> str:
    what = escape(function.trigger_type)
    if isinstance(function.trigger, HttpTrigger):
        methods = ", ".join(sorted(function.trigger.methods or ["any"]))
        path = escape(f"/{displayed_route(function.trigger, app.settings.route_prefix)}")
        can_be_read = (not function.trigger.methods or "GET" in function.trigger.methods) and "{" not in path
        what = f"{methods} " + (f'<a href="{path}">{path}</a>' if can_be_read else f"<code>{path}</code>")
    return f"<tr><td>{escape(function.name)}</td><td>{what}</td></tr>"
