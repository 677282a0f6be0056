"""The page's files: what a browser is told with each of them, and what none of them may hold."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from hosting.app import AgentFunctionApp
from hosting.http.page import FUNCTION, Page
from hosting.http.replies import Reply
from tests.support.deployed_tree import ROOT, deployed, tracked_files
from tests.support.direct import DirectHost
from tests.support.page_files import FILES, FOLDERS, SCRIPTS

MOST_BYTES = 91_000
"""Of all that a browser asks for when the page is opened."""
MOST_LATER_BYTES = 12_000
"""Of all that it asks for when a view is opened that few need."""
READS_TEXT_AS_CODE = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment|srcdoc|eval\(|Function\("
    r"|setTimeout\([\"']|javascript:"
)
ELSEWHERE = re.compile(r"(?<![\w/])(?:https?:)?//(?!www\.w3\.org/2000/svg)[a-z]")
COUNT_BY_HAND = re.compile(
    r"\$\{[^{}]*(?:toLocaleString\(\)|[cC]ount|length|size)\} [a-z ]*s\b|toLocaleString\(\)[^`\n]{0,9}\" [a-z]+s\""
)
PRODUCTION = {"AZURE_FUNCTIONS_ENVIRONMENT": "Production", "AzureWebJobsStorage": "UseDevelopmentStorage=true"}


def get(path: str, **headers: str) -> Reply:
    return Page(FOLDERS).reply(
        f"/api/ui/{path}", path, {name.replace("_", "-"): value for name, value in headers.items()}
    )


def text(reply: Reply) -> str:
    """Return what a browser that takes no compression is sent."""
    assert isinstance(reply.body, bytes)
    return reply.body.decode()


def linked() -> list[str]:
    return re.findall(r'(?:href|src)="([^"#]+)"', text(get("")))


def later() -> list[str]:
    """Return the URLs of the modules that the first file does not name: they lie beside the others."""
    version = linked()[0].partition("/")[0]
    return sorted({f"{version}/{path.name}" for path in SCRIPTS} - set(linked()))


@pytest.mark.behaviour("page.files")
def test_the_page_lies_behind_a_slash_so_that_its_relative_urls_are_right_behind_any_prefix() -> None:
    reply = Page(FOLDERS).reply("/some/where/api/UI", "", {})

    assert (reply.status, reply.headers["location"]) == (308, "UI/")
    assert get("").status == 200
    assert [url for url in linked() if ":" in url or url.startswith("/")] == []


@pytest.mark.behaviour("page.files")
def test_what_the_first_file_names_is_there_and_kept_for_good() -> None:
    kept = {url: get(url).headers["cache-control"] for url in [*linked(), *later()]}

    assert {Path(url).name for url in kept} >= {path.name for path in SCRIPTS} | {"page.css"}
    assert set(kept.values()) == {"public, max-age=31536000, immutable"}


@pytest.mark.behaviour("page.files")
async def test_an_app_serves_the_files_of_all_its_features() -> None:
    """As one flat list, in which each has a name of its own."""
    app = AgentFunctionApp(environ={"AGENT_LOG": "memory"})
    async with httpx.AsyncClient(transport=httpx.ASGITransport(DirectHost(app).asgi), base_url="http://app") as client:
        first = (await client.get("/api/ui/")).text
        urls = [*re.findall(r'(?:href|src)="([^"#]+)"', first), *later()]
        received = [(await client.get(f"/api/ui/{url}")).content for url in dict.fromkeys(urls)]

    files = {*linked(), *later()}
    assert {Path(url).name for url in files} == {path.name for path in FILES if path.name != "index.html"}
    assert sorted(received) == sorted(text(get(url)).encode() for url in files)


@pytest.mark.behaviour("page.files")
def test_the_first_file_is_asked_for_each_time_and_sent_once() -> None:
    first = get("")
    again = get("", if_none_match=first.headers["etag"])

    assert (first.headers["cache-control"], again.status, again.body) == ("no-cache", 304, "")


@pytest.mark.behaviour("page.files")
@pytest.mark.parametrize("path", ["page.css", "../app.py", "%2e%2e/app.py", "0/main.js", "index.html"])
def test_no_other_path_is_a_file(path: str) -> None:
    """The table is fixed at the start: a path names nothing on a disk."""
    assert get(path).status == 404


@pytest.mark.behaviour("page.safe")
@pytest.mark.parametrize("status", [200, 304])
def test_each_file_comes_with_a_policy_that_lets_nothing_in_or_out(status: int) -> None:
    """Of scripts, styles and connections only the app's own; nobody frames it, and no text becomes a script."""
    etag = get("").headers["etag"] if status == 304 else ""
    reply = get("", if_none_match=etag)

    policy = dict(part.split(" ", 1) for part in reply.headers["content-security-policy"].split("; "))
    assert reply.status == status
    assert policy == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' data:",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
        "require-trusted-types-for": "'script'",
    }
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["referrer-policy"] == "no-referrer"


@pytest.mark.behaviour("page.safe")
def test_no_file_reads_text_as_code_or_names_another_server() -> None:
    """The policy would stop it; here nothing tries."""
    for path in FILES:
        source = path.read_text(encoding="utf-8")
        code = re.sub(r"^\s*(?://|\*|/\*).*$", "", source, flags=re.MULTILINE)
        assert (path.name, READS_TEXT_AS_CODE.findall(code)) == (path.name, [])
        assert path.name == "markdown.js" or (path.name, ELSEWHERE.findall(code)) == (path.name, [])


@pytest.mark.behaviour("page.counts")
def test_a_count_is_said_with_its_noun_by_one_function() -> None:
    assert {path.name: by_hand for path in SCRIPTS if (by_hand := COUNT_BY_HAND.findall(path.read_text("utf-8")))} == {}


@pytest.mark.behaviour("page.small")
@pytest.mark.parametrize(
    ("wanted", "most_bytes"),
    [(lambda: ["", *set(linked())], MOST_BYTES), (later, MOST_LATER_BYTES)],
    ids=["first", "later"],
)
def test_all_of_it_is_small_and_sent_compressed(wanted: Callable[[], list[str]], most_bytes: int) -> None:
    urls = wanted()
    packed = [get(url, accept_encoding="gzip, br").body for url in urls]

    assert sum(len(body) for body in packed) < most_bytes
    assert [gzip.decompress(bytes(body, "ascii") if isinstance(body, str) else body) for body in packed] == [
        get(url).body for url in urls
    ]


@pytest.mark.behaviour("page.files")
def test_the_page_is_deployed_with_the_app() -> None:
    assert {ROOT / path for path in deployed(tracked_files()) if ROOT / path.parent in FOLDERS} == set(FILES)


@pytest.mark.behaviour("page.where")
@pytest.mark.parametrize(
    ("environ", "enable_page", "has_page"),
    [
        ({"AGENT_LOG": "memory"}, None, True),
        ({"AGENT_LOG": "memory"}, False, False),
        (PRODUCTION, None, False),
        (PRODUCTION, True, True),
    ],
)
def test_the_page_is_there_in_development_and_in_production_if_the_app_says_so(
    environ: dict[str, str], enable_page: bool | None, has_page: bool
) -> None:
    app = AgentFunctionApp(enable_page=enable_page, environ=environ)

    assert (FUNCTION in {function.get_function_name() for function in app.get_functions()}) is has_page
    assert app.introduction["page"] == (FUNCTION if has_page else None)
