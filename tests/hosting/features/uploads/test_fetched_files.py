"""Files that the app fetches from an address: from hosts that are allowed, and whatever the other side does."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import httpx
import pytest

from hosting.features.uploads import fetching
from hosting.features.uploads.fetching import Fetching
from hosting.features.uploads.refusals import FileNotFetchedError, HostNotAllowedError
from tests.support.owned_app import THREADS, OwnedApp, with_roles
from tests.support.stored_files import stored_names

FETCH = "/api/files/fetch"
TEXT = b"Oolong costs four crowns."
OK = b"HTTP/1.1 200 OK\r\n"
ANSWERS = {
    "/prices.txt": OK + b"content-type: text/plain; charset=utf-8\r\ncontent-length: 25\r\n\r\n" + TEXT,
    "/chunked.md": OK + b"transfer-encoding: chunked\r\n\r\n7\r\nOolong \r\n12\r\ncosts four crowns.\r\n0\r\n\r\n",
    "/until-the-end": OK + b"\r\n" + TEXT,
    "/moved": b"HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\n\r\n",
    "/absent": b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n",
    "/large": OK + b"content-length: 5000\r\n\r\n" + b"x" * 5000,
    "/endless": OK + b"\r\n" + b"x" * 5000,
    "/broken": OK + b"content-length: 25\r\n\r\nOolong",
    "/stops": OK + b"content-length: 25\r\n\r\nOolong",
    "/compressed": OK + b"content-encoding: gzip\r\ncontent-length: 2\r\n\r\nab",
    "/no-http": b"220 files.example FTP\r\n\r\n",
}


class Site:
    """A server that answers by the path; `asked` are the heads of the requests."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __aenter__(self) -> Site:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *error: object) -> None:
        self._server.close()

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            self.asked.append((await reader.readuntil(b"\r\n\r\n")).decode())
            path = self.asked[-1].split()[1]
            if path == "/silent":
                await reader.read()
            writer.write(ANSWERS[path])
            await writer.drain()
            if path == "/stops":
                await reader.read()
        writer.close()


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    async with Site() as site:
        yield site


@pytest.fixture
async def owned() -> AsyncIterator[OwnedApp]:
    """One process of an app that fetches from this machine, files of 4,000 bytes at most."""
    app = OwnedApp(with_roles, AGENT_ADMIN_ROLE="operators", AGENT_FILE_HOSTS="127.0.0.1", AGENT_FILE_BYTES="4000")
    async with app.http:
        yield app


async def fetch(owned: OwnedApp, url: str, path: str = FETCH, **fields: Any) -> httpx.Response:
    return await owned.ask("ada", "POST", path, json={"url": url, **fields})


@pytest.mark.behaviour("uploads.fetched")
async def test_a_file_is_fetched_and_is_one_like_others(owned: OwnedApp, site: Site) -> None:
    """With the name and the media type of the address, or those that the caller says; however its bytes come."""
    plain = await fetch(owned, site.url("/prices.txt"))
    named = await fetch(owned, site.url("/until-the-end"), name="a b.csv", media_type="text/csv")
    chunked = await fetch(owned, site.url("/chunked.md"), f"{THREADS}/t/files/fetch")
    contents = [await owned.ask("ada", "GET", answer.json()["content_url"]) for answer in (plain, named, chunked)]
    refused = await owned.ask("ada", "POST", "/api/agents/Clerk/files/fetch", json={"url": site.url("/prices.txt")})

    assert [answer.status_code for answer in (plain, named, chunked)] == [201] * 3
    kinds = [(answer.json()["name"], answer.json()["media_type"]) for answer in (plain, named, chunked)]
    assert kinds == [("prices.txt", "text/plain"), ("a b.csv", "text/csv"), ("chunked.md", "text/markdown")]
    assert [content.content for content in contents] == [TEXT] * 3
    assert refused.json()["code"] == "forbidden"
    head = site.asked[0].lower()
    assert "cookie" not in head
    assert "authorization" not in head
    assert "x-user" not in head


@pytest.mark.behaviour("uploads.fetched")
@pytest.mark.parametrize(
    ("path", "code", "words"),
    [
        ("/moved", "file_not_fetched", "answered 302: it leads elsewhere"),
        ("/absent", "file_not_fetched", "answered 404"),
        ("/large", "file_too_large", "more than 4,000 bytes"),
        ("/endless", "file_too_large", "more than 4,000 bytes"),
        ("/broken", "file_not_fetched", "broke off"),
        ("/compressed", "file_not_fetched", "compressed"),
        ("/no-http", "file_not_fetched", "did not answer by HTTP"),
    ],
)
async def test_whatever_gives_no_file_leaves_none(
    owned: OwnedApp, site: Site, path: str, code: str, words: str
) -> None:
    answer = await fetch(owned, site.url(path), name="a.txt")

    assert (answer.json()["code"], words in answer.json()["detail"]) == (code, True), answer.text
    assert len(site.asked) == 1
    assert (await owned.ask("ada", "GET", "/api/files")).json()["files"] == []
    assert (await stored_names(owned.app)).get("uploads", []) == []


@pytest.mark.behaviour("uploads.fetched")
@pytest.mark.parametrize(
    "url",
    [
        "http://localhost/a.txt",
        "https://files.example/a.txt",
        "https://10.0.0.1/a.txt",
        "http://169.254.169.254/metadata",
        "file:///etc/passwd",
        "https://user@127.0.0.1/a",
        "gopher://127.0.0.1/a",
        "https://127.0.0.1.nip.io/a",
    ],
)
async def test_no_other_host_is_asked(owned: OwnedApp, url: str) -> None:
    answer = await fetch(owned, url)

    assert (answer.status_code, answer.json()["code"]) == (403, "host_not_allowed"), answer.text
    assert "AGENT_FILE_HOSTS" in answer.json()["detail"] or "Leave out the user" in answer.json()["detail"]


class Names:
    """A resolver that a test moves: each look-up gives the next of its addresses."""

    def __init__(self, *addresses: str) -> None:
        self.addresses, self.asked = [*addresses], 0

    def __call__(self, host: str, port: int, **options: Any) -> list[Any]:
        self.asked += 1
        address = self.addresses.pop(0)
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        return [(family, socket.SOCK_STREAM, 6, "", (address, port))]


async def read(fetches: Fetching, url: str) -> bytes:
    async with fetches.opened(url) as file:
        return b"".join([piece async for piece in file.pieces])


@pytest.mark.behaviour("uploads.fetched")
@pytest.mark.parametrize("address", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "::1", "fd00::1", "168.63.129.16"])
async def test_a_name_that_leads_into_the_network_is_refused(address: str, site: Site) -> None:
    """With any host allowed; nobody is connected to."""
    with pytest.raises(HostNotAllowedError, match="into the app's network"):
        await read(Fetching("*", 4000, lookup=Names(address)), "https://files.example/prices.txt")

    assert site.asked == []


@pytest.mark.behaviour("uploads.fetched")
async def test_a_name_that_changes_is_connected_to_at_the_address_that_was_checked(site: Site) -> None:
    names = Names("127.0.0.1", "10.0.0.1")

    assert await read(Fetching("files.example", 4000, lookup=names), site.url("/prices.txt", "files.example")) == TEXT
    assert names.asked == 1
    assert "host: files.example" in site.asked[0]


@pytest.mark.behaviour("uploads.fetched")
async def test_an_address_that_stays_silent_is_given_up(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFetchedError, match="too long"):
        await read(Fetching("127.0.0.1", 4000, seconds=0.05), site.url("/silent"))
    monkeypatch.setattr(fetching, "_IDLE_SECONDS", 0.05)
    with pytest.raises(FileNotFetchedError, match="too long"):
        await read(Fetching("127.0.0.1", 4000), site.url("/stops"))
