"""Files over HTTP: uploaded, listed, read in part, deleted; an owner's, an agent's, and those of a thread."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from hosting.features.uploads.contents import PIECE_BYTES
from tests.support.owned_app import ISSUER, THREADS, OwnedApp, with_roles
from tests.support.stored_files import stored_names

FILES = "/api/files"
AGENT_FILES = "/api/agents/Clerk/files"
THREAD_FILES = f"{THREADS}/t/files"
LARGE = bytes(range(256)) * (PIECE_BYTES // 256) + b"and the rest"


@pytest.fixture
async def owned() -> AsyncIterator[OwnedApp]:
    app = OwnedApp(with_roles, AGENT_ADMIN_ROLE="operators", AGENT_FILES_QUOTA_BYTES="20000000")
    async with app.http:
        yield app


async def upload(
    owned: OwnedApp, user: str, body: bytes, name: str = "a.txt", path: str = FILES, **headers: str
) -> httpx.Response:
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return await owned.ask(user, "POST", path, params={"name": name}, content=body, headers=headers)


async def listed(owned: OwnedApp, user: str, path: str = "/api/files") -> list[str]:
    """Return the names of the files that a user sees."""
    return [file["name"] for file in (await owned.ask(user, "GET", path)).json()["files"]]


RANGES = [
    ("bytes=0-0", 0, 1),
    ("bytes=5-9", 5, 10),
    (f"bytes={PIECE_BYTES - 2}-{PIECE_BYTES + 1}", PIECE_BYTES - 2, PIECE_BYTES + 2),
    ("bytes=-4", len(LARGE) - 4, len(LARGE)),
    (f"bytes={PIECE_BYTES}-", PIECE_BYTES, len(LARGE)),
    ("bytes=0-99999999999", 0, len(LARGE)),
]


@pytest.mark.behaviour("uploads.whole")
async def test_a_range_has_its_bytes_alone(owned: OwnedApp) -> None:
    url = (await upload(owned, "ada", LARGE)).json()["content_url"]
    for wanted, start, end in RANGES:
        part = await owned.ask("ada", "GET", url, headers={"range": wanted})

        assert (part.status_code, part.content) == (206, LARGE[start:end])
        assert part.headers["content-range"] == f"bytes {start}-{end - 1}/{len(LARGE)}"


@pytest.mark.behaviour("uploads.whole")
async def test_a_range_without_a_byte_is_refused(owned: OwnedApp) -> None:
    url = (await upload(owned, "ada", b"abc")).json()["content_url"]
    ranges = ("bytes=3-", "bytes=-0", "bytes=2-1", "bytes=9-99")
    refused = [await owned.ask("ada", "GET", url, headers={"range": wanted}) for wanted in ranges]
    others = ("bytes=0-0,2-2", f"bytes={'0-2,' * 10_000}1-1", "bytes=-", "lines=1-2", "bytes=a-b", "bytes=--1")
    several = [await owned.ask("ada", "GET", url, headers={"range": wanted}) for wanted in others]
    changed = await owned.ask("ada", "GET", url, headers={"range": "bytes=0-0", "if-range": '"another"'})

    assert {(answer.status_code, answer.json()["code"]) for answer in refused} == {(416, "invalid_range")}
    assert {answer.headers["content-range"] for answer in refused} == {"bytes */3"}
    assert {(answer.status_code, answer.content) for answer in (*several, changed)} == {(200, b"abc")}


SERVED: list[tuple[Any, ...]] = [
    ("page.html", "text/html", "application/octet-stream"),
    ("picture.svg", "image/svg+xml", "application/octet-stream"),
    ("page", "application/xhtml+xml", "application/octet-stream"),
    ("script.js", "text/javascript", "application/octet-stream"),
    ("picture.png", "image/png", "image/png"),
    ('a";x="b.txt', "text/plain", "text/plain"),
]


@pytest.mark.behaviour("uploads.saved")
async def test_no_file_is_a_page_in_a_browser(owned: OwnedApp) -> None:
    for name, media_type, served in SERVED:
        file = (await upload(owned, "ada", b"<script>alert(1)</script>", name, content_type=media_type)).json()
        headers = (await owned.ask("ada", "GET", file["content_url"])).headers

        assert file["media_type"] == media_type
        assert headers["content-type"].partition(";")[0] == served
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["content-security-policy"] == "sandbox"
        assert headers["content-disposition"].startswith("attachment; ")
        assert headers["content-disposition"].count('"') == 2


WRONG_NAMES = [
    *("", " ", "../etc/passwd", "a/b", "a\\b", "..", ". .", "...", "a\x00b", "a\nb", "cod\u202egnp.exe", "x" * 256),
    *("a\u200bb", "a\ufeffb", "a\u2063b", "a\u00adb", "a\u3164b", "a\ufe01b", "a\U000e0121b"),
    "report.txt" + "".join(chr(0xE0000 + ord(letter)) for letter in "obey me"),
]


@pytest.mark.behaviour("uploads.names")
async def test_a_name_that_is_a_path_or_cannot_be_seen_is_refused(owned: OwnedApp) -> None:
    for name in WRONG_NAMES:
        refused = await upload(owned, "ada", b"abc", name)

        assert (refused.status_code, refused.json()["code"]) == (400, "invalid_field")
        assert await stored_names(owned.app) == {}


GOOD_NAMES = ["می‌خواهم.txt", "👩‍🚀 ❤️.txt", "CON", "nul.txt ", "a:b?.txt", "a.txt. ", "x" * 255]


@pytest.mark.behaviour("uploads.names")
async def test_a_name_that_people_write_is_kept_as_it_is(owned: OwnedApp) -> None:
    """With joiners and emoji; no file of the app has it, so it may be one that a system keeps for itself."""
    for name in GOOD_NAMES:
        created = await upload(owned, "ada", b"abc", name)
        headers = (await owned.ask("ada", "GET", created.json()["content_url"])).headers

        assert created.json()["name"] == name
        assert headers["content-disposition"].endswith(f"filename*=UTF-8''{quote(name, safe='')}")


WRONG_BODIES: list[tuple[Any, ...]] = [
    ({"content-type": "multipart/form-data"}, b"x", "invalid_body"),
    ({"content-type": "multipart/form-data; boundary=a"}, b"x" * 100, "invalid_body"),
    (
        {"content-type": "multipart/form-data; boundary=a"},
        b'--a\r\nContent-Disposition: form-data; name="note"\r\n\r\nhi\r\n--a--\r\n',
        "invalid_field",
    ),
    (
        {"content-type": "multipart/form-data; boundary=a"},
        b'--a\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nhi',
        "invalid_body",
    ),
    ({"content-type": "image/png", "content-encoding": "gzip"}, b"x", "unsupported_media_type"),
]


@pytest.mark.behaviour("uploads.whole")
async def test_a_body_that_is_no_file_is_refused(owned: OwnedApp) -> None:
    """Also a form that ends in the middle of the file: no file is half there."""
    for headers, body, code in WRONG_BODIES:
        refused = await owned.ask("ada", "POST", "/api/files?name=a.txt", content=body, headers=headers)

        assert refused.json()["code"] == code
        assert await listed(owned, "ada") == []
        assert "uploads" not in await stored_names(owned.app)


@pytest.mark.behaviour("uploads.scopes")
async def test_a_file_is_its_owners_alone(owned: OwnedApp) -> None:
    mine = (await upload(owned, "ada", b"secret")).json()
    answers = [
        await owned.ask("bob", "GET", f"/api/files/{mine['file_id']}"),
        await owned.ask("bob", "GET", mine["content_url"]),
    ]
    deleted = (await owned.ask("bob", "DELETE", f"/api/files/{mine['file_id']}")).json()
    await upload(owned, "bob", b"secret")

    assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(404, "unknown_file")] * 2
    assert deleted["files"] == 0
    assert len((await stored_names(owned.app))["uploads"]) == 2
    assert await listed(owned, "ada") == ["a.txt"]


@pytest.mark.behaviour("uploads.scopes")
async def test_everybody_reads_an_agents_files_and_administrators_write_them(owned: OwnedApp) -> None:
    refused = await upload(owned, "ada", b"handbook", "h.txt", AGENT_FILES)
    file = (await upload(owned, "root", b"handbook", "h.txt", AGENT_FILES)).json()
    url = f"{AGENT_FILES}/{file['file_id']}"
    read = await owned.ask("ada", "GET", file["content_url"])
    kept = [await owned.ask("ada", "DELETE", path) for path in (url, AGENT_FILES)]
    erased = await owned.ask("root", "DELETE", AGENT_FILES)

    assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    assert (read.content, await listed(owned, "ada")) == (b"handbook", [])
    assert [answer.status_code for answer in kept] == [403, 403]
    assert erased.json() == {"files": 1, "bytes": 8, "chunks": 0}
    assert await stored_names(owned.app) == {}


@pytest.mark.behaviour("uploads.once")
async def test_the_same_content_is_stored_once_for_an_owner(owned: OwnedApp) -> None:
    """Until the last file that has it is deleted: in a thread, too."""
    first = (await upload(owned, "ada", b"same", "1.txt")).json()
    second = (await upload(owned, "ada", b"same", "2.txt", THREAD_FILES)).json()
    pieces = [(await stored_names(owned.app))["uploads"]]
    await owned.ask("ada", "DELETE", f"/api/files/{first['file_id']}")
    left = await owned.ask("ada", "GET", second["content_url"])
    pieces.append((await stored_names(owned.app))["uploads"])
    await owned.ask("ada", "DELETE", f"{THREAD_FILES}/{second['file_id']}")

    assert [len(names) for names in pieces] == [1, 1]
    assert left.content == b"same"
    assert await stored_names(owned.app) == {}


@pytest.mark.behaviour("uploads.quota")
async def test_the_quota_counts_what_is_stored_and_what_is_open(owned: OwnedApp) -> None:
    first = (await upload(owned, "ada", b"a" * 12_000_000)).json()
    begun = await owned.ask("ada", "POST", "/api/uploads", json={"name": "b.bin", "bytes": 5_000_000})
    refused = await upload(owned, "ada", b"c" * 4_000_000)
    await owned.ask("ada", "DELETE", f"/api/files/{first['file_id']}")
    taken = await upload(owned, "ada", b"c" * 4_000_000)
    others = await upload(owned, "bob", b"d" * 4_000_000)

    assert begun.status_code == 201, begun.text
    assert (refused.status_code, refused.json()["code"]) == (409, "files_full")
    assert all(number in refused.json()["detail"] for number in ("12,000,000", "5,000,000", "20,000,000", "4,000,000"))
    assert [taken.status_code, others.status_code] == [201, 201]


@pytest.mark.behaviour("uploads.quota")
async def test_a_file_of_which_nobody_says_how_large_it_is_stops_at_the_quota(owned: OwnedApp) -> None:
    async def body() -> AsyncIterator[bytes]:
        for _ in range(25):
            yield b"x" * 1_000_000

    refused = await owned.ask("ada", "POST", "/api/files?name=a.bin", content=body())
    taken = await upload(owned, "ada", b"y" * 19_000_000)

    assert (refused.status_code, refused.json()["code"]) == (413, "file_too_large")
    assert taken.status_code == 201
    assert await listed(owned, "ada") == ["a.txt"]


async def test_a_list_comes_in_pages_the_oldest_first(owned: OwnedApp) -> None:
    for number in range(5):
        await upload(owned, "ada", str(number).encode(), f"{number}.txt")
    names, cursor = [], ""
    while True:
        page = (await owned.ask("ada", "GET", "/api/files", params={"limit": 2, "cursor": cursor})).json()
        names.append([file["name"] for file in page["files"]])
        if (cursor := page["next_cursor"]) is None:
            break

    assert [name for page in names for name in sorted(page)] == [f"{number}.txt" for number in range(5)]
    assert [len(page) for page in names] == [2, 2, 1]


@pytest.mark.behaviour("uploads.scopes")
async def test_an_owner_gets_and_erases_all_files(owned: OwnedApp) -> None:
    """Of threads, too; another's files and the agent's stay."""
    await owned.say("ada", "hello")
    for path in ("/api/files", THREAD_FILES):
        await upload(owned, "ada", path.encode(), "mine.txt", path)
    await upload(owned, "bob", b"bob's", "his.txt")
    await upload(owned, "root", b"all's", "all.txt", AGENT_FILES)
    export = (await owned.ask("ada", "GET", "/api/owners/me/export")).json()
    erased = (await owned.ask("ada", "DELETE", "/api/owners/me")).json()

    assert {agent: [file["name"] for file in files] for agent, files in export["uploads"].items()} == {
        "": ["mine.txt"],
        "clerk": ["mine.txt"],
    }
    assert erased["uploads"] == 1
    assert await listed(owned, "ada") == []
    assert len((await stored_names(owned.app))["uploads"]) == 2


@pytest.mark.behaviour("uploads.exported")
async def test_an_export_has_the_bytes_of_files(owned: OwnedApp) -> None:
    """Those of a thread in the thread's, those of the owner in the owner's; each content once, of several pieces."""
    await owned.say("ada", "hello")
    for name, body, path in (
        ("big.bin", LARGE, FILES),
        ("same.bin", LARGE, FILES),
        ("empty.txt", b"", FILES),
        ("mine.txt", b"of a thread", THREAD_FILES),
    ):
        assert (await upload(owned, "ada", body, name, path)).status_code == 201
    await upload(owned, "bob", b"of bob")
    thread = (await owned.ask("ada", "GET", f"{THREADS}/t/export")).json()
    export = (await owned.ask("ada", "GET", "/api/owners/me/export", params={"limit": 1})).json()
    grant = {"issuer": ISSUER, "id": "bob", "access": "read"}
    given = (await owned.ask("ada", "POST", f"{THREADS}/t/grants", json=grant)).json()["grant"]
    guest = (await owned.ask("bob", "GET", f"/api/shared/{given}/export")).json()

    assert contents_of(thread) == {"of a thread": b"of a thread"}
    assert sorted(contents_of(export).values(), key=len) == [b"", LARGE]
    assert contents_of(export["threads"][0]) == contents_of(thread)
    hashes = {file["sha256"] for files in export["uploads"].values() for file in files}
    stored = [item for part in (export, thread) for item in part["uploaded_contents"]]
    assert {item["sha256"] for item in stored} == hashes
    assert guest["uploaded_contents"] == []


def contents_of(export: Any) -> dict[str, bytes]:
    """Return the contents in an export, by their beginnings, once each has the size and the hash that it says."""
    found = dict[str, bytes]()
    for item in export["uploaded_contents"]:
        content = base64.b64decode(item["base64"], validate=True)
        assert (item["size_bytes"], item["sha256"]) == (len(content), hashlib.sha256(content).hexdigest())
        found[content[:20].decode("latin-1")] = content
    assert len(found) == len(export["uploaded_contents"])
    return found


@pytest.mark.behaviour("uploads.whole")
async def test_a_form_is_read_as_the_file_in_it(owned: OwnedApp) -> None:
    """With its name and its media type."""
    form = {"file": ("Übersicht.pdf", LARGE, "application/pdf")}
    created = await owned.ask("ada", "POST", "/api/files", files=form)
    file = created.json()
    content = await owned.ask("ada", "GET", file["content_url"])

    assert created.status_code == 201, created.text
    assert (file["name"], file["media_type"], file["bytes"]) == ("Übersicht.pdf", "application/pdf", len(LARGE))
    assert content.content == LARGE
