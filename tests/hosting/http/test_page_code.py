"""Code in an answer: copied as it is, with colours where the page has its language, and never more than text."""

from __future__ import annotations

import pytest
from playwright.async_api import Page, expect

from tests.hosting.http.browsed_page import IN_A_BROWSER, UNWANTED, ask, browsed, ended
from tests.support.running_host import RunningHost

REFUSED = "Failed to load resource: the server responded"
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
HOSTILE = "</code><script>hacked()</script><img src=x onerror=hacked()>"

pytestmark = [*IN_A_BROWSER, pytest.mark.behaviour("page.code")]


async def coloured(page: Page, text: str, language: str) -> list[str]:
    """Return the parts of a code that have a colour, each with what it is."""
    await page.locator(".empty, .markdown").first.wait_for()
    parts: list[str] = await page.evaluate(DRAWN, [text, language])
    assert await page.locator("code").text_content() == text
    return parts


async def test_a_block_of_code_is_copied_as_it_is(host: RunningHost) -> None:
    """Without its head and its fence; a reader hears of it what it says, and that it was copied."""
    async with browsed(host.origin) as browser:
        page = await browser.open("#/writer")
        await browser.context.grant_permissions(["clipboard-read", "clipboard-write"])
        await ask(page, f"Look:\n\n```python\n{PYTHON}\n```\n\nThat is all.")
        await ended(page)
        heard = await page.locator("#live p").all_text_contents()
        await page.get_by_role("button", name="Copy code").press("Enter")
        await expect(page.locator("#live p").last).to_have_text("Copied")
        copied = await page.evaluate("navigator.clipboard.readText()")

    assert copied == PYTHON
    assert heard == ["Look:", PYTHON, "That is all."]


async def test_what_cannot_be_copied_says_what_to_do(host: RunningHost) -> None:
    """As over http from another machine, where a browser lets no page copy."""
    async with browsed(host.origin) as browser:
        await browser.context.add_init_script("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
        page = await browser.open("#/writer")
        await ask(page, "```\none\n```")
        await ended(page)
        await page.get_by_role("button", name="Copy code").click()
        await expect(page.get_by_role("button", name="Select the text and copy it")).to_be_visible()


@pytest.mark.parametrize(
    ("language", "text", "parts"),
    [
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
        ("json", '{"a": ["b", -1.5e3, null]}', ['keyword "a"', 'string "b"', "number 1.5e3", "keyword null"]),
        ("rust", "fn a<'a>(b: &'a str) { 'c' }", ["keyword fn", "string 'c'"]),
        ("sql", "Select 'it''s' -- from", ["keyword Select", "string 'it'", "string 's'", "comment -- from"]),
        ("bash", 'for a in "$b"; do # c', ["keyword for", "keyword in", 'string "$b"', "keyword do", "comment # c"]),
        ("yaml", "a: true # b\nc-d: 'e'", ["keyword a", "keyword true", "comment # b", "keyword c-d", "string 'e'"]),
        (
            "html",
            '<a href="b">if</a><!-- c',
            ["keyword <a", 'string "b"', "keyword >", "keyword </a", "keyword >", "comment <!-- c"],
        ),
        ("css", "a { color: 'b' } /* c", ["keyword color", "string 'b'", "comment /* c"]),
        ("brainfuck", "if 1 'a'", []),
        ("", "if 1 'a'", []),
    ],
)
async def test_code_of_a_common_language_has_colours_and_other_code_is_plain(
    host: RunningHost, language: str, text: str, parts: list[str]
) -> None:
    """Comments, strings, numbers and keywords; each character is still there."""
    async with browsed(host.origin) as browser:
        assert await coloured(await browser.open("#/writer"), text, language) == parts


async def test_no_code_becomes_more_than_text(host: RunningHost) -> None:
    """Nor keeps the page at work: what never ends costs its length."""
    languages = ("js", "c", "python", "bash", "sql", "json", "yaml", "css", "html")
    async with browsed(host.origin) as browser:
        page = await browser.open("#/writer")
        for language in languages:
            await coloured(page, f"{HOSTILE}\n'{HOSTILE}'\n\"{HOSTILE}\"", language)
            assert await page.evaluate(UNWANTED) == []
            for part in ("'\\", '"\\', "`\\", "/*", "a-", "a.", '"""', "<", "0."):
                await coloured(page, part * (18_000 // len(part)), language)
