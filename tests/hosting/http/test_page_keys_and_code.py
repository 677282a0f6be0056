"""Keys of the page, code in an answer, and commands that work as they are, pasted into a shell."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys

import httpx
import pytest
from playwright.async_api import Page, expect

from tests.hosting.http.browsed_page import (
    HOSTILE,
    IN_A_BROWSER,
    UNWANTED,
    ask,
    browsed,
    ended,
    for_everybody,
)
from tests.support.running_host import RunningHost

FOCUSED_TURN = "[...document.querySelectorAll('.turn')].indexOf(document.activeElement)"
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
PYTHON = 'async def total(order: str) -> float:  # 1 for "all"\n    return 2.50 * len("def # 3")'
DRAWN = """async ([text, language]) => {
    const script = document.querySelector("link[rel=modulepreload][href$='/markdown.js']")
    const { show } = await import(script.href)
    const answer = document.createElement("div")
    answer.className = "markdown"
    document.querySelector("#conversation").replaceChildren(answer)
    show(answer, "~~~~~" + language + "\\n" + text + "\\n~~~~~")
    return [...answer.querySelectorAll("code span")].map((one) => `${one.className} ${one.textContent}`)
}"""
MARKUP = f"</code><script>hacked()</script>{HOSTILE}"
pytestmark = IN_A_BROWSER
needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="the command uses curl")
UNKNOWN = "status of 404"  # of a thread that has no message yet
COMMANDS = "Call it from your code"
SPEECH = " ".join(f"word{number}" for number in range(60))
REFUND = 'Call refund with {"order": "A-17", "amount": 120}'


async def with_two_turns(page: Page) -> None:
    """Have a thread of two turns, with the focus in no field."""
    for number, message in enumerate(("one", "two"), start=1):
        await ask(page, message)
        await ended(page, number=number)
    await page.evaluate("document.activeElement.blur()")


@pytest.mark.behaviour("page.shortcuts")
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


@pytest.mark.behaviour("page.shortcuts")
async def test_the_list_has_every_key_and_turns_them_off(host: RunningHost) -> None:
    """For good, in this browser. With Ctrl or another of its kind a key is the browser's own."""
    async with browsed(host.origin) as browser:
        page = await browser.open("#/writer")
        await with_two_turns(page)
        await page.keyboard.press("Control+k")
        assert await page.evaluate(FOCUSED_TURN) == -1
        await page.keyboard.press("?")
        await for_everybody(page)
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


@pytest.mark.behaviour("page.code")
async def test_a_block_of_code_is_copied_as_it_is(host: RunningHost) -> None:
    """Without its head and its fence; a reader hears of it what it says, and that it was copied."""
    async with browsed(host.origin) as browser:
        page = await browser.open("#/writer")
        await browser.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await ask(page, f"Look:\n\n```python\n{PYTHON}\n```\n\nThat is all.")
        await ended(page)
        heard = await page.locator("#live p").all_text_contents()
        await for_everybody(page)
        await page.get_by_role("button", name="Copy code").press("Enter")
        await expect(page.locator("#live p").last).to_have_text("Copied")
        copied = await page.evaluate("navigator.clipboard.readText()")

    assert copied == PYTHON
    assert heard == ["Look:", PYTHON, "That is all."]


async def coloured(page: Page, text: str, language: str) -> list[str]:
    """Return the parts of a code that have a colour, each with what it is."""
    await page.locator(".empty, .markdown").first.wait_for()
    parts: list[str] = await page.evaluate(DRAWN, [text, language])
    assert await page.locator("code").text_content() == text
    return parts


COLOURED: list[tuple[str, str, list[str]]] = [
    (
        "python",
        PYTHON,
        [
            "keyword async",
            "keyword def",
            'comment # 1 for "all"',
            "keyword return",
            "number 2.50",
            'string "def # 3"',
        ],
    ),
    (
        "JS",
        "const a = `x\n${b}` // if\n/* for\n1 */ isnt('//')",
        ["keyword const", "string `x\n${b}`", "comment // if", "comment /* for\n1 */", "string '//'"],
    ),
    ("sql", "Select 'it''s' -- from", ["keyword Select", "string 'it'", "string 's'", "comment -- from"]),
    ("bash", 'for a in "$b"; do # c', ["keyword for", "keyword in", 'string "$b"', "keyword do", "comment # c"]),
    ("yaml", "a: true # b\nc-d: 'e'", ["keyword a", "keyword true", "comment # b", "keyword c-d", "string 'e'"]),
    (
        "html",
        '<a href="b">if</a><!-- c',
        ["keyword <a", 'string "b"', "keyword >", "keyword </a", "keyword >", "comment <!-- c"],
    ),
    ("brainfuck", "if 1 'a'", []),
    ("", "if 1 'a'", []),
]


@pytest.mark.behaviour("page.code")
async def test_code_of_a_common_language_has_colours_and_stays_text(host: RunningHost) -> None:
    """Comments, strings, numbers and keywords; each character is still there. What never ends costs its length."""
    async with browsed(host.origin) as browser:
        page = await browser.open("#/writer")
        for language, text, parts in COLOURED:
            assert (language, await coloured(page, text, language)) == (language, parts)
        for language in ("js", "c", "python", "bash", "sql", "json", "yaml", "css", "html"):
            await coloured(page, f"{MARKUP}\n'{MARKUP}'\n\"{MARKUP}\"", language)
            assert await page.evaluate(UNWANTED) == []
            for part in ("'\\", '"\\', "`\\", "/*", "a-", "a.", '"""', "<", "0."):
                await coloured(page, part * (18_000 // len(part)), language)


async def pasted(command: str) -> str:
    """Return what a shell prints of it, which is to be without a fault."""
    shell = ["bash", "-c", command]
    said = await asyncio.to_thread(subprocess.run, shell, capture_output=True, text=True, check=True)
    assert said.stderr == ""
    return said.stdout


@needs_curl
@pytest.mark.behaviour("page.commands")
async def test_the_command_of_an_empty_thread_works_when_it_is_selected_and_when_it_is_copied(
    host: RunningHost,
) -> None:
    async with browsed(host.origin) as browser:
        await browser.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = await browser.open("#/assistant")
        await page.locator("#empty code").wait_for()
        selected = await page.evaluate(
            "getSelection().selectAllChildren(document.querySelector('#empty code')), getSelection().toString()"
        )
        await page.locator("#empty").get_by_role("button", name="Copy").click()
        await page.get_by_role("button", name="Copied").wait_for()
        copied = await page.evaluate("navigator.clipboard.readText()")

    assert selected == copied
    for command in (selected, copied):
        assert (await pasted(f"{command} -o /dev/null -w '%{{http_code}}'")) == "200"


async def commands_of(page: Page) -> list[str]:
    """Return the commands that the page shows, and close them again."""
    await page.get_by_label(COMMANDS).click()
    shown = await page.locator("dialog pre").all_inner_texts()
    await page.keyboard.press("Escape")
    return shown


@needs_curl
@pytest.mark.behaviour("page.commands")
async def test_a_copied_message_begins_a_run_of_its_own(host: RunningHost) -> None:
    """As it stands, whatever the message has in it: the key by which a lost answer is found again is left out."""
    message = """It's "quoted" \\ and $HOME, `x` 😀"""
    async with browsed(host.origin, UNKNOWN) as browser:
        page = await browser.open("#/writer/copied")
        await ask(page, message)
        await ended(page)
        curl, python = await commands_of(page)

    printed = [await pasted(curl)]
    program = await asyncio.to_thread(subprocess.run, [sys.executable, "-c", python], capture_output=True, text=True)
    printed.append(program.stdout)
    async with httpx.AsyncClient(base_url=f"{host.origin}/api/agents/writer/threads/copied") as client:
        runs = (await client.get("/runs")).json()["runs"]

    for text in printed:
        frames = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]
        assert frames[-1]["response"] == message
    assert len(runs) == 3


@pytest.mark.behaviour("page.commands")
async def test_what_follows_a_message_does_not_take_its_place_as_a_command(host: RunningHost) -> None:
    """Neither a stop, nor the answer to an approval, nor a reset: a reader sends none of these again."""
    async with browsed(host.origin, UNKNOWN) as browser:
        page = await browser.open("#/writer/stopped")
        await ask(page, SPEECH)
        await page.locator(".markdown", has_text="word3").wait_for()
        await page.get_by_role("button", name="Stop").click()
        await ended(page, "cancelled")
        stopped = await commands_of(page)
        await page.goto(f"{host.origin}/api/ui/#/clerk/answered")
        await ask(page, REFUND)
        await page.get_by_role("button", name="Refuse").click()
        await ended(page, number=2)
        answered = await commands_of(page)
        await page.get_by_label("Reset the thread").click()
        await page.get_by_role("button", name="Reset thread").click()
        await page.get_by_text("No messages yet").wait_for()
        after_reset = await commands_of(page)

    assert ["/agents/writer/run'" in stopped[0], SPEECH in stopped[0]] == [True, True]
    assert ["/agents/clerk/run'" in answered[0], "A-17" in answered[0]] == [True, True]
    assert after_reset == answered
