"""What a browser is shown under `/`: links to what the app has, its page first, and a reader of its OpenAPI document.

Each page is one answer, with style and script in it: nothing is fetched from anywhere but this host. They look like the
page of an app of ours, by a style sheet of the host's own: the host imports nothing of the apps that it hosts.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from hashlib import sha256
from html import escape
from pathlib import Path

from starlette.responses import HTMLResponse, Response

from devhost.bindings import HttpTrigger
from devhost.http.app import WEBHOOKS
from devhost.http.routes import displayed_route
from devhost.index import Function
from devhost.listing import path_of
from devhost.loader import HostedApp

_FOLDER = Path(__file__).parent
_READER_PATH = "/admin/openapi"
_ADMIN = {"/admin/functions": "Functions, as JSON", "/admin/host/status": "Host status, as JSON"}
_DURABLE = {"/admin/durable": "Durable instances and entities"}

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
        pages[_READER_PATH] = lambda: _reader(document)
    return pages


def _file(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def _reader(document: str) -> Response:
    """Return the reader of a document, in which no style or script runs but its own."""
    style, script = _file("pages.css"), _file("openapi.js")
    page = _file("openapi.html").replace("{{document}}", escape(document))
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; connect-src 'self'; "
        "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    headers = {"content-security-policy": policy, "x-content-type-options": "nosniff", "referrer-policy": "no-referrer"}
    return HTMLResponse(page.replace("{{style}}", style).replace("{{script}}", script), headers=headers)


def _hash(text: str) -> str:
    """Return the source by which a policy names what stands in a page."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _home(app: HostedApp, links: Mapping[str, str]) -> Response:
    looked_at = "".join(
        f'<li><a href="{escape(path)}">{escape(title)}<code>{escape(path)}</code></a></li>'
        for path, title in links.items()
    )
    mcp = f"<p class=about>MCP: <code>{WEBHOOKS}/mcp</code></p>" if app.mcp else ""
    rows = "".join(_row(app, function) for function in app.index.functions)
    parts = {"style": _file("pages.css"), "links": looked_at, "mcp": mcp, "rows": rows}
    page = re.sub("{{([a-z]+)}}", lambda name: parts[name[1]], _file("home.html"))
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
