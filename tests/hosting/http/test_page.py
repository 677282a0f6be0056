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
from tests.support.running_host import RunningHost

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
OF_NO_TEXT = re.compile(
    r"\\`|\"(?:[^\"\\\n]|\\.)*\"|(?:(?<=[(\[])|(?<=[(\[=,] ))/(?:\\.|\[(?:\\.|[^\]\\])*\]|[^/\\\[\n])+/"
)
"""Of a line of a script: what is in quotes, and patterns."""
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


def imported_by_calls() -> set[str]:
    """Return the modules that are imported when a view needs them."""
    return {name for path in SCRIPTS for name in re.findall(r'import\("\./([^"]+)"\)', path.read_text("utf-8"))}


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
def test_the_first_file_names_what_the_page_begins_with_and_not_what_a_view_needs_later() -> None:
    """What it names is asked for at once; each other module is imported by a call, or by one that is."""
    names = {Path(url).name for url in later()}
    by_call = imported_by_calls()
    of_these = {
        name
        for path in SCRIPTS
        if path.name in names
        for name in re.findall(r'from "\./([^"]+)"', path.read_text("utf-8"))
    }

    assert by_call <= names
    assert of_these <= {path.name for path in SCRIPTS}
    assert names <= by_call | of_these
    assert {"files.js", "operations.js"} <= names


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
@pytest.mark.slow
def test_a_head_request_is_answered_as_a_get_is_without_the_file(host: RunningHost) -> None:
    """For each file, and for what is no file: the host routes HEAD to no function that does not list it."""
    with httpx.Client(base_url=f"{host.origin}/api") as client:
        urls = re.findall(r'(?:href|src)="([^"#]+)"', client.get("/ui/").text)
        for path in ["/ui", "/ui/", "/ui/none", *(f"/ui/{url}" for url in dict.fromkeys(urls))]:
            head, file = client.head(path), client.get(path)
            assert (path, head.status_code, head.content) == (path, file.status_code, b"")
            assert fields_of(head) == fields_of(file)


def fields_of(response: httpx.Response) -> dict[str, str]:
    """Return the headers of a response, without those of its moment."""
    return {name: value for name, value in response.headers.items() if name != "date"}


@pytest.mark.behaviour("page.files")
def test_the_first_file_is_asked_for_each_time_and_sent_once() -> None:
    first = get("")
    again = get("", if_none_match=first.headers["etag"])

    assert (first.headers["cache-control"], again.status, again.body) == ("no-cache", 304, "")


@pytest.mark.behaviour("page.files")
def test_another_version_changes_the_names_of_all_files(tmp_path: Path) -> None:
    for path in FILES:
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "times.js").write_text("// another")

    old, new = text(get("")), text(Page([tmp_path]).reply("/ui/", "", {}))

    assert set(re.findall(r'src="([^"/]+)/', old)) & set(re.findall(r'src="([^"/]+)/', new)) == set()


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


@pytest.mark.behaviour("page.small")
def test_a_script_is_sent_without_the_lines_of_its_comments_and_with_each_other_line_in_its_place() -> None:
    """So an error names the line of the file."""
    urls = {url.rpartition("/")[2]: url for url in [*linked(), *later()]}
    for path in SCRIPTS:
        body = get(urls[path.name]).body
        sent = (body if isinstance(body, str) else bytes(body).decode()).split("\n")
        written = path.read_text(encoding="utf-8").split("\n")
        assert len(sent) == len(written)
        assert not any(line.startswith((" ", "//", "/*")) for line in sent)
        left_out = [line.lstrip() for line, other in zip(written, sent, strict=True) if line.lstrip() != other]
        assert left_out
        assert all(line.startswith(("//", "/*", "*")) for line in left_out)


@pytest.mark.behaviour("page.small")
def test_no_text_of_a_script_goes_over_two_lines() -> None:
    """The blanks with which a line begins are not sent. In a pattern or in quotes a backtick begins no text."""
    for path in SCRIPTS:
        lines = (OF_NO_TEXT.sub("", line) for line in path.read_text(encoding="utf-8").split("\n"))
        code = [line for line in lines if not line.lstrip().startswith(("//", "*", "/*"))]
        assert (path.name, [line for line in code if line.count("`") % 2]) == (path.name, [])


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
