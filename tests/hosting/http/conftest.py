"""The browser that the tests of the page share, imported by them alone."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def shared_browser() -> AsyncIterator[None]:
    """One Chromium for the whole session; each test has a profile of its own in it."""
    from tests.hosting.http.browsed_page import sharing_browser

    async with sharing_browser():
        yield
