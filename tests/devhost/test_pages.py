"""The host's own pages, and what an app has its start say: what is tried there is sent, and they suit everybody."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from axe_playwright_python.base import AXE_SCRIPT
from playwright.async_api import Page, expect

import devhost
from tests.support.app_folder import make_app
from tests.support.browsing import GUARD_MS, a_browser, needs_browser
from tests.support.running_host import GUARD_SECONDS, RunningHost

HOSTILE = "<img src=x onerror=hacked()>"
COUNT = {"type": "object", "required": ["count"], "properties": {"count": {"type": "integer", "minimum": 3}}}
THING = {
    "type": "object",
    "required": ["name", "parts"],
    "properties": {
        "name": {"type": "string", "examples": [HOSTILE]},
        "parts": {"type": "array", "minItems": 1, "items": {"$ref": "#/components/schemas/Part"}},
        "note": {"type": "string"},
        "kind": {"enum": ["first", "second"]},
    },
    "anyOf": [{"required": ["kind"]}, {"required": ["note"]}],
}
CREATE = {
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
}
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": HOSTILE, "version": "1", "description": HOSTILE},
    "servers": [{"url": "https://elsewhere.example/api"}],
    "components": {
        "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "x-functions-key"}},
        "schemas": {"Thing": THING, "Part": COUNT},
    },
    "paths": {
        "/things/{id}": {
            "parameters": [{"name": "id", "in": "path", "required": True, "description": HOSTILE}],
            "post": CREATE,
        },
    },
}
APP = f"""
import json

import azure.functions as func

app = func.FunctionApp(http_auth_level=func.AuthLevel.FUNCTION)
app.introduction = {{
    "openapi": "described",
    "page": "looked_at",
    "lines": ["Model: small"],
    "details": ["beside"],
    "request": ("main", "Who are you?"),
}}


@app.route(route="described", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
def described(req: func.HttpRequest) -> str:
    return {json.dumps(DOCUMENT)!r}


@app.route(route="look/{{*path}}", methods=["GET"], auth_level=func.AuthLevel.ANONYMOUS)
def looked_at(req: func.HttpRequest) -> str:
    return "<p>looked at"


@app.route(route="things/{{id}}", methods=["POST"])
def things(req: func.HttpRequest) -> func.HttpResponse:
    seen = {{"id": req.route_params["id"], "query": dict(req.params), "note": req.headers.get("x-note"),
            "type": req.headers["content-type"], "body": req.get_body().decode()}}
    return func.HttpResponse(json.dumps(seen), mimetype="application/json")


@app.route(route="a/beside", methods=["POST"])
def beside(req: func.HttpRequest) -> str:
    return ""


@app.route(route="main", methods=["POST"])
def main(req: func.HttpRequest) -> str:
    return ""
"""
KEYS = {"master": "m", "host": "h", "functions": {}, "system": {}}
FAULTS = """axe.run({ resultTypes: ["violations"], preload: false })
    .then(found => found.violations.map(rule => [rule.id, rule.nodes[0].html]))"""
WIDER = "document.documentElement.scrollWidth - innerWidth"

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_app(tmp_path_factory.mktemp("described"), APP)
    (folder / ".devhost").mkdir()
    (folder / ".devhost" / "keys.json").write_text(json.dumps(KEYS))
    return folder


@pytest.fixture(scope="module")
def described_host(folder: Path) -> Iterator[RunningHost]:
    """An app with a document, whose functions ask for keys."""
    with RunningHost(folder, "--port", "0", "--auth") as running:
        running.wait_for("Try: ")
        yield running


@pytest.mark.behaviour("devhost.start-introduces")
@pytest.mark.behaviour("devhost.pages")
def test_an_app_says_what_its_start_shows_and_its_page_is_named_first(
    described_host: RunningHost, folder: Path
) -> None:
    with RunningHost(folder, "--port", "0", "--verbose") as verbose:
        verbose.wait_for("Try: ")
    origin, other = (host.origin.replace("127.0.0.1", "localhost") for host in (described_host, verbose))

    assert {"Model: small", f"\tmain: [POST] {origin}/api/main", "\t1 more with --verbose"} <= set(
        described_host.printed
    )
    assert f"\tbeside: [POST] {other}/api/a/beside" in verbose.printed
    opens, tries = [line for line in described_host.printed if line.startswith(("Open: ", "Try: "))]
    assert opens == f"Open: {origin}/api/look/"
    assert tries.startswith(f"Try: curl {origin}/api/main ")
    assert '-d "Who are you?"' in tries


@pytest.mark.behaviour("devhost.pages")
def test_every_link_of_the_first_page_leads_to_an_answer_of_the_host(described_host: RunningHost) -> None:
    """The app's page, its description, the functions; what needs a value or a body is shown and is no link."""
    with httpx.Client(
        base_url=described_host.origin, headers={"x-functions-key": "m"}, timeout=GUARD_SECONDS
    ) as client:
        page = client.get("/").text
        links = re.findall(r'href="([^"]+)"', page)
        statuses = {path: client.get(path).status_code for path in links}
    sources = [path.read_text(encoding="utf-8") for path in Path(devhost.__file__).parent.glob("*.html")]

    assert links[:3] == ["/api/look/", "/admin/openapi", "/api/described"]
    assert statuses == dict.fromkeys(links, 200)
    assert "POST <code>/api/things/{id}</code>" in page
    assert sources
    assert not any(re.search(r"(?:https?:)?//[a-z]", source) for source in sources)


@asynccontextmanager
async def reader(url: str, **options: object) -> AsyncIterator[Page]:
    """Yield a page of the host, which says nothing on its console and asks no other server."""
    complaints = list[str]()
    own = ("/".join(url.split("/")[:3]), "data:")
    async with a_browser() as browser:
        page = await browser.new_page(**options)  # type: ignore[arg-type]
        page.set_default_timeout(GUARD_MS)
        page.on("console", lambda said: complaints.append(said.text))
        page.on("request", lambda sent: None if sent.url.startswith(own) else complaints.append(sent.url))
        await page.goto(url)
        yield page
        assert complaints == []


@needs_browser
@pytest.mark.behaviour("devhost.pages")
async def test_an_operation_is_tried_with_its_parameters_its_body_and_the_key(described_host: RunningHost) -> None:
    """On this host alone, whatever server the document names; the body begins as an example of its schema."""
    async with reader(f"{described_host.origin}/admin/openapi?code=m") as page:
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


@needs_browser
@pytest.mark.behaviour("devhost.pages")
@pytest.mark.parametrize(("theme", "width"), [("light", 390), ("dark", 1280)])
@pytest.mark.parametrize("place", ["/", "/admin/openapi?code=m"])
async def test_the_pages_are_for_everybody(described_host: RunningHost, place: str, theme: str, width: int) -> None:
    size = {"width": width, "height": 800}
    async with reader(f"{described_host.origin}{place}", color_scheme=theme, viewport=size) as page:
        if "openapi" in place:
            await page.get_by_text("/things/{id}").click()
            await page.get_by_role("button", name="Send").wait_for()
        await page.evaluate(AXE_SCRIPT)
        faults = await page.evaluate(FAULTS)
        wider = await page.evaluate(WIDER)

    assert (faults, wider <= 0) == ([], True)
