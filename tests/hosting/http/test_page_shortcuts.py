"""Keys of the page: each leads where the list says, none takes what somebody types, and they can be turned off."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.hosting.http.browsed_page import IN_A_BROWSER, ON_EACH_SCREEN, WIDER, ask, browsed, ended, faults_of
from tests.support.running_host import RunningHost

REFUSED = "Failed to load resource: the server responded"
LISTED = {
    "m": "Write a message",
    "n": "New thread",
    "/": "Find a thread",
    "j": "Next turn",
    "k": "Turn before",
    "c": "Copy the answer of this turn, or of the newest one",
    "t": "Its timeline",
    "a": "Approvals",
    "?": "This list",
    "Enter": "Send the message",
    "Shift+Enter": "Start a new line",
}
FOCUSED_TURN = "[...document.querySelectorAll('.turn')].indexOf(document.activeElement)"

pytestmark = [*IN_A_BROWSER, pytest.mark.behaviour("page.shortcuts")]


async def with_two_turns(page: Page) -> None:
    """Have a thread of two turns, with the focus in no field."""
    for number, message in enumerate(("one", "two"), start=1):
        await ask(page, message)
        await ended(page, number=number)
    await page.evaluate("document.activeElement.blur()")


async def test_each_key_leads_where_the_list_says(host: RunningHost) -> None:
    """Past the newest turn is the box, where the same keys are letters."""
    async with browsed(host.origin) as browser:
        await browser.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = await browser.open("#/writer")
        box = page.get_by_label("Message", exact=True)
        await with_two_turns(page)
        went = []
        for key in ("k", "k", "k", "j"):
            await page.keyboard.press(key)
            went.append(await page.evaluate(FOCUSED_TURN))
        await page.keyboard.press("k")
        await page.keyboard.press("c")
        await expect(page.locator("#live p").last).to_have_text("Copied")
        copied = await page.evaluate("navigator.clipboard.readText()")
        await page.keyboard.press("t")
        await expect(page.locator(".turn").first.locator(".timeline")).to_be_visible()
        for _ in range(2):
            await page.keyboard.press("j")
        await expect(box).to_be_focused()
        await page.keyboard.type("no jam/?")
        await expect(box).to_have_value("no jam/?")
        await page.get_by_role("button", name="Keyboard shortcuts").focus()
        await page.keyboard.press("/")
        await expect(page.locator("#search")).to_be_focused()
        await page.get_by_role("button", name="Keyboard shortcuts").focus()
        await page.keyboard.press("n")
        await page.get_by_text("Ask writer").wait_for()
        await page.get_by_role("button", name="Keyboard shortcuts").focus()
        await page.keyboard.press("m")
        await expect(box).to_be_focused()
        await page.get_by_role("button", name="Keyboard shortcuts").focus()
        await page.keyboard.press("a")
        await expect(page.locator("#title")).to_have_text("Approvals")

    assert went == [1, 0, 0, 1]
    assert copied == "one"


async def test_the_list_has_every_key_and_turns_them_off(host: RunningHost) -> None:
    """For good, in this browser. With Ctrl or another of its kind a key is the browser's own."""
    async with browsed(host.origin) as browser:
        page = await browser.open("#/writer")
        await with_two_turns(page)
        await page.keyboard.press("Control+k")
        assert await page.evaluate(FOCUSED_TURN) == -1
        await page.keyboard.press("?")
        keys = await page.locator("dialog dt").all_text_contents()
        says = await page.locator("dialog dd").all_text_contents()
        await page.keyboard.press("k")
        await page.get_by_label("Use keys without Ctrl or Alt").press("Space")
        await page.keyboard.press("Escape")
        await page.reload()
        await ended(page, number=2)
        await page.evaluate("document.activeElement.blur()")
        await page.keyboard.press("k")
        off = await page.evaluate(FOCUSED_TURN)
        await page.get_by_role("button", name="Keyboard shortcuts").click()
        await page.get_by_label("Use keys without Ctrl or Alt").click()
        await page.get_by_role("button", name="Close", exact=True).click()
        await page.keyboard.press("k")
        on = await page.evaluate(FOCUSED_TURN)

    assert dict(zip(keys, says, strict=True)) == LISTED
    assert (off, on) == (-1, 1)


async def test_a_narrow_screen_opens_its_side_to_find_a_thread(host: RunningHost) -> None:
    """For a phone with a keyboard. The button that opens it leads to the agent, and back."""
    async with browsed(host.origin, is_phone=True) as browser:
        page = await browser.open("#/writer")
        await page.get_by_text("Ask writer").wait_for()
        await page.evaluate("document.activeElement.blur()")
        await page.keyboard.press("/")
        await expect(page.locator("#search")).to_be_focused()
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("button", name="Agents and threads")).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("link", name="writer")).to_be_focused()


@pytest.mark.behaviour("page.for-everybody")
@ON_EACH_SCREEN
async def test_the_new_views_stand_in_nobody_s_way(host: RunningHost, theme: str, is_phone: bool) -> None:
    """The list of keys, a download, colours of code, an open card; nothing is wider than the screen."""
    found, wide = {}, []
    code = '```python\nasync def total(order: str) -> float:  # 1 for "all"\n    return 2.50\n```'
    async with browsed(host.origin, REFUSED, is_phone=is_phone, theme=theme) as browser:
        page = await browser.open("#/writer")
        await ask(page, code)
        await ended(page)
        found["code"] = await faults_of(page)
        wide.append(await page.evaluate(WIDER))
        await page.get_by_role("button", name="Download").click()
        found["download"] = await faults_of(page)
        wide.append(await page.evaluate(WIDER))
        await page.keyboard.press("Escape")
        await page.evaluate("document.activeElement.blur()")
        await page.keyboard.press("?")
        found["shortcuts"] = await faults_of(page)
        wide.append(await page.evaluate(WIDER))
        await page.keyboard.press("Escape")
        await page.goto(f"{host.origin}/api/ui/#/support")
        await page.get_by_text("Ask support").wait_for()
        await ask(page, "Where is my order A-17?")
        await ended(page)
        await page.locator(".steps summary").click()
        found["card"] = await faults_of(page)
        wide.append(await page.evaluate(WIDER))

    assert {view: faults for view, faults in found.items() if faults} == {}
    assert max(wide) <= 0
