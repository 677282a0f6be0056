"""The deadline of samples/approval_by_person, by the clock of a host that is started days later."""

import asyncio
from pathlib import Path

import httpx
import pytest

from tests.samples.folders import copy_app
from tests.support.running_host import GUARD_SECONDS, RunningHost

HOURS_72 = 72 * 3600.0


@pytest.mark.slow
@pytest.mark.behaviour("samples.seventy-two-hours")
async def test_an_answer_counts_until_72_hours_are_over_and_then_nobody_has_answered(tmp_path: Path) -> None:
    """Three processes: one begins, one is there a minute before the end, one when it is over."""
    app = copy_app("approval_by_person", tmp_path)
    with RunningHost(app) as host:
        for article in ("one", "two"):
            await call(host, article, "bread")
            await until_shown(host, article, "Waits for approval: Bread")

    with RunningHost(app, str(HOURS_72 - 60), module="tests.samples.later_host") as host:
        await call(host, "one/approval", "yes")
        await until_shown(host, "one", "Published: Bread")
        await until_shown(host, "two", "Waits for approval: Bread")

    with RunningHost(app, str(HOURS_72), module="tests.samples.later_host") as host:
        await until_shown(host, "two", "Nobody answered within 72 hours.")


async def call(host: RunningHost, place: str, body: str) -> None:
    """Send what a person types."""
    async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
        answer = await http.post(f"/api/articles/{place}", content=body)
    assert answer.status_code == 202, answer.text


async def until_shown(host: RunningHost, article: str, begins: str) -> None:
    """Return once the article's page begins so, under the guard."""
    async with httpx.AsyncClient(base_url=host.origin) as http:
        await asyncio.wait_for(look(http, article, begins), GUARD_SECONDS)


async def look(http: httpx.AsyncClient, article: str, begins: str) -> None:
    """Look again and again."""
    while True:
        shown = await http.get(f"/api/articles/{article}")
        if shown.text.startswith(begins):
            return
        await asyncio.sleep(0.01)
