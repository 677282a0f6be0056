"""The host's own pages in a browser: what is tried there is sent, shown as text, and they suit everybody."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.async_api import Page, expect

from tests.support.app_folder import make_app
from tests.support.browsing import GUARD_MS, a_browser, needs_browser
from tests.support.running_host import RunningHost

HOSTILE = "<img src=x onerror=hacked()>"
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": HOSTILE, "version": "1", "description": HOSTILE},
    "servers": [{"url": "https://elsewhere.example/api"}],
    "components": {
        "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "x-functions-key"}},
        "schemas": {
            "Thing": {
                "type": "object",
                "required": ["name", "parts"],
                "properties": {
                    "name": {"type": "string", "examples": [HOSTILE]},
                    "parts": {"type": "array", "minItems": 1, "items": {"$ref": "#/components/schemas/Part"}},
                    "note": {"type": "string"},
                    "kind": {"enum": ["first", "second"]},
                },
                "anyOf": [{"required": ["kind"]}, {"required": ["note"]}],
            },
            "Part": {
                "type": "object",
                "required": ["count"],
                "properties": {"count": {"type": "integer", "minimum": 3}},
            },
        },
    },
    "paths": {
        "/things/{id}": {
            "parameters": [{"name": "id", "in": "path", "required": True, "description": HOSTILE}],
            "post": {
                "summary": HOSTILE,
                "parameters": [
                    {"name": "size", "in": "query", "schema": {"enum": ["small", "large"]}},
                    {"name": "x-note", "in": "header"},
                ],
                "requestBody": {
                    "content": {
                        "application/json": {"schema": {"$ref": "#/components/schemas/Thing"}},
                        "text/plain": {"example": "as text"},
                    }
                },
                "responses": {"200": {"description": HOSTILE}},
            },
        },
    },
}
APP = f"""
import json

import azure.functions as func

app = func.FunctionApp(http_auth_level=func.AuthLevel.FUNCTION)
app.introduction = {{"openapi": "described"}}


@app.route(route="described", methods=["GET"])
def described(req: func.HttpRequest) -> str:
    return {json.dumps(DOCUMENT)!r}


@app.route(route="things/{{id}}", methods=["POST"])
def things(req: func.HttpRequest) -> func.HttpResponse:
    seen = {{"id": req.route_params["id"], "query": dict(req.params), "note": req.headers.get("x-note"),
            "type": req.headers["content-type"], "body": req.get_body().decode()}}
    return func.HttpResponse(json.dumps(seen), mimetype="application/json")
"""
KEYS = {"master": "m", "host": "h", "functions": {}, "system": {}}
FAULTS = """axe.run({ resultTypes: ["violations"], preload: false })
    .then(found => found.violations.map(rule => [rule.id, rule.nodes[0].html]))"""
WIDER = "document.documentElement.scrollWidth - innerWidth"

pytestmark = [pytest.mark.slow, needs_browser, pytest.mark.behaviour("devhost.pages")]


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    """An app with a document, whose functions ask for keys."""
    folder = make_app(tmp_path_factory.mktemp("described"), APP)
    (folder / ".devhost").mkdir()
    (folder / ".devhost" / "keys.json").write_text(json.dumps(KEYS))
    with RunningHost(folder, "--port", "0", "--auth") as running:
        yield running


@asynccontextmanager
async def reader(url: str, **options: object) -> AsyncIterator[Page]:
    """Yield a page of the host, which says nothing on its console and asks no other server."""
    complaints = list[str]()
    origin = "/".join(url.split("/")[:3])
    async with a_browser() as browser:
        page = await browser.new_page(**options)  # type: ignore[arg-type]
        page.set_default_timeout(GUARD_MS)
        page.on("console", lambda said: complaints.append(said.text))
        page.on(
            "request", lambda sent: complaints.append(sent.url) if not sent.url.startswith((origin, "data:")) else None
        )
        await page.goto(url)
        yield page
        assert complaints == []


async def test_an_operation_is_tried_with_its_parameters_its_body_and_the_key(host: RunningHost) -> None:
    """On this host alone, whatever server the document names; the body begins as an example of its schema."""
    async with reader(f"{host.origin}/admin/openapi?code=m") as page:
        await page.get_by_text("/things/{id}").click()
        await page.get_by_label("id", exact=False).first.fill("a/b?")
        await page.get_by_text("Optional parameters (2)").click()
        await page.get_by_label("size (optional)").select_option("large")
        await page.get_by_label("x-note (optional)").fill("noted")
        example = json.loads(await page.get_by_label("Body").input_value())
        await page.get_by_role("button", name="Send").click()
        await page.get_by_text("200 OK").wait_for()
        sent = json.loads(await page.locator("form pre").inner_text())
        await page.get_by_label("Content type").select_option("text/plain")
        await page.get_by_role("button", name="Send").press("Enter")
        await expect(page.locator("form pre")).to_contain_text("as text")
        unwanted = await page.locator("img").count()

    assert example == {"name": HOSTILE, "parts": [{"count": 3}], "kind": "first"}
    assert (sent.pop("body"), sent) == (
        json.dumps(example, indent=2),
        {"id": "a%2Fb?", "query": {"size": "large"}, "note": "noted", "type": "application/json"},
    )
    assert unwanted == 0


@pytest.mark.parametrize(
    ("place", "theme", "width"),
    [
        ("/", "light", 390),
        ("/", "dark", 1280),
        ("/admin/openapi?code=m", "dark", 390),
        ("/admin/openapi?code=m", "light", 1280),
    ],
)
async def test_the_pages_are_for_everybody(host: RunningHost, place: str, theme: str, width: int) -> None:
    async with reader(f"{host.origin}{place}", color_scheme=theme, viewport={"width": width, "height": 800}) as page:
        if "openapi" in place:
            await page.get_by_text("/things/{id}").click()
            await page.get_by_role("button", name="Send").wait_for()
        await page.evaluate(AXE_SCRIPT)
        faults = await page.evaluate(FAULTS)
        wider = await page.evaluate(WIDER)

    assert (faults, wider <= 0) == ([], True)
