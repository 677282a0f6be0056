"""What a browser finds under `/` of the host."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import devhost
from tests.support.running_host import GUARD_SECONDS, RunningHost

pytestmark = pytest.mark.slow

APP = """
import azure.functions as func

app = func.FunctionApp(http_auth_level=func.AuthLevel.ANONYMOUS)
app.introduction = {"openapi": "described", "page": "looked_at"}


@app.route(route="described", methods=["GET"])
def described(req: func.HttpRequest) -> str:
    return '{"openapi": "3.1.0", "info": {"title": "Mine", "version": "1"}, "paths": {}}'


@app.route(route="look/{*path}", methods=["GET"])
def looked_at(req: func.HttpRequest) -> str:
    return "<p>looked at"


@app.route(route="things/{id}", methods=["POST"])
def things(req: func.HttpRequest) -> str:
    return "x"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("introduced")
    (folder / "function_app.py").write_text(APP)
    (folder / "host.json").write_text('{"version": "2.0"}')
    return folder


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[httpx.Client]:
    with RunningHost(folder) as host, httpx.Client(base_url=host.origin, timeout=GUARD_SECONDS) as client:
        yield client


@pytest.mark.behaviour("devhost.pages")
def test_every_link_of_the_first_page_leads_to_an_answer_of_the_host(client: httpx.Client) -> None:
    """The app's page, its description, the functions; what needs a value or a body is shown and is no link."""
    page = client.get("/").text
    links = re.findall(r'href="([^"]+)"', page)

    assert links[:3] == ["/api/look/", "/admin/openapi", "/api/described"]
    assert {path: client.get(path).status_code for path in links} == dict.fromkeys(links, 200)
    assert "POST <code>/api/things/{id}</code>" in page


@pytest.mark.behaviour("devhost.pages")
def test_a_start_names_the_page_before_the_request_to_try(folder: Path) -> None:
    with RunningHost(folder) as host:
        said = host.wait_for("Open: ")
        host.wait_for("Try: ")

    assert said == f"Open: {host.origin.replace('127.0.0.1', 'localhost')}/api/look/"


@pytest.mark.behaviour("devhost.pages")
def test_no_page_of_the_host_names_another_server() -> None:
    sources = [path.read_text(encoding="utf-8") for path in Path(devhost.__file__).parent.glob("*.html")]

    assert sources
    assert [source for source in sources if re.search(r"(?:https?:)?//[a-z]", source)] == []
