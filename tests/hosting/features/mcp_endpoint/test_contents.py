"""Pictures, sound, files and links of an answer, as content of the protocol."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from mcp_types import methods

from tests.hosting.features.mcp_endpoint.painter import LATIN, PICTURE, SOUND, TABLE, painter_flow
from tests.support.mcp_wire import STATELESS, Session, Wired

pytestmark = pytest.mark.behaviour("mcp-endpoint.contents")


async def content_of(query: str, version: str = STATELESS) -> list[dict[str, Any]]:
    """Return the content of a result, which is one of the version by the official models."""
    wired = Wired(workflows=[painter_flow])
    async with wired.http:
        session = Session(wired.http, version)
        if version != STATELESS:
            await session.begin()
        result = await session.call(query, tool="Painter")
    methods.validate_server_result("tools/call", version, result)
    assert result["isError"] is False
    content: list[dict[str, Any]] = result["content"]
    return content


def encoded(body: bytes) -> str:
    """Return bytes as the protocol has them."""
    return base64.b64encode(body).decode()


async def test_pictures_and_sound_stand_beside_the_text() -> None:
    """In the order of the answer."""
    assert await content_of("words picture sound") == [
        {"type": "text", "text": "See:"},
        {"type": "image", "data": encoded(PICTURE), "mimeType": "image/png"},
        {"type": "audio", "data": encoded(SOUND), "mimeType": "audio/wav"},
    ]


async def test_a_file_is_a_resource_with_its_text_or_its_bytes() -> None:
    """Its address names the thread, the run, and its place among the files."""
    table, latin, archive = (block["resource"] for block in await content_of("table latin archive"))

    assert (table["mimeType"], table["text"]) == ("text/csv", TABLE)
    assert (latin["mimeType"], latin["blob"]) == ("text/plain", encoded(LATIN))
    assert (archive["mimeType"], archive["blob"]) == ("application/zip", encoded(b"PK"))
    assert len({table["uri"], latin["uri"], archive["uri"]}) == 3
    assert table["uri"].startswith("thread://Painter/")


async def test_a_link_stays_one() -> None:
    """Nobody fetches it."""
    assert await content_of("link") == [
        {"type": "resource_link", "uri": "https://example.com/a.png", "name": "link", "mimeType": "image/png"}
    ]


@pytest.mark.parametrize(
    ("version", "kinds"),
    [("2024-11-05", ["text", "text"]), ("2025-03-26", ["audio", "text"]), ("2025-06-18", ["audio", "resource_link"])],
)
async def test_a_version_without_a_kind_of_content_has_a_text_instead(version: str, kinds: list[str]) -> None:
    """Its client would break off at a kind that it does not know."""
    content = await content_of("sound link", version)

    assert [block["type"] for block in content] == kinds
    assert "https://example.com/a.png" in str(content)
