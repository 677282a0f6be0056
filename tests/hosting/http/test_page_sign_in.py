"""A sign-in on the page: a card with the link and its host, which a person follows, and says so."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from playwright.async_api import expect

from tests.hosting.http.browsed_page import IN_A_BROWSER, UNWANTED, browsed
from tests.support.app_folder import make_app
from tests.support.carriers import GUARD_SECONDS
from tests.support.orchestrations_app import HOST
from tests.support.running_host import RunningHost
from tests.support.signer import LINK

SOURCE = """
from hosting.app import AgentFunctionApp
from tests.support.signer import signer

app = AgentFunctionApp(agents=[signer(str)])
"""

pytestmark = IN_A_BROWSER


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    """One process of an app whose tool needs a sign-in."""
    with RunningHost(make_app(tmp_path_factory.mktemp("signer"), SOURCE, host=HOST)) as running:
        yield running


@pytest.mark.behaviour("page.sign-in")
@pytest.mark.parametrize(
    ("place", "button", "then"),
    [
        ("thread", "I have signed in", "pushed by the app"),
        ("thread", "Refuse", "rejected by user"),
        ("inbox", "I have signed in", "Approved"),
    ],
)
async def test_a_card_leads_to_the_service_and_takes_the_users_word(
    host: RunningHost, place: str, button: str, then: str
) -> None:
    """In the thread and in the inbox; nothing opens by itself, and the service's page cannot reach back."""
    thread_id = f"{place}-{button[:2].strip()}"
    async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
        body = {"message": "call push 5", "thread_id": thread_id}
        (await http.post("/api/agents/Clerk/run", json=body)).raise_for_status()
    async with browsed(host.origin) as browser:
        page = await browser.open("#/?approvals" if place == "inbox" else f"#/Clerk/{thread_id}")
        card = page.locator(".card.ask")
        await expect(card).to_contain_text("push needs you to sign in to GitHub")
        await expect(card).to_contain_text("It asks for: repo")
        link = card.get_by_role("link")
        await expect(link).to_have_text("Sign in at github.example")
        assert [await link.get_attribute(name) for name in ("href", "target", "rel")] == [
            LINK,
            "_blank",
            "noopener noreferrer",
        ]
        assert (await page.evaluate(UNWANTED), len(page.context.pages)) == ([], 1)

        await card.get_by_role("button", name=button).click()
        await expect(page.locator(".card.ask")).to_have_count(0)
        await expect(page.locator("#conversation")).to_contain_text(then)
