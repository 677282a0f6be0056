"""What the page shows of workflows: their graphs, what each executor does, and forms that give back what is written."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.async_api import Locator, Page, expect

from tests.hosting.http.browsed_page import (
    IN_A_BROWSER,
    REFUSED,
    ask,
    browsed,
    ended,
)
from tests.support.running_host import RunningHost

pytestmark = IN_A_BROWSER
READ_BACK = """async ([pairs, isTouched]) => {
    const script = document.querySelector("link[rel=modulepreload][href$='/forms.js']")
    const { Form } = await import(script.href)
    return JSON.stringify(JSON.parse(pairs).map(([schema, value]) => {
        const form = new Form(schema, "Value", () => {}, value)
        document.body.append(form.element)
        const controls = () => [...form.element.querySelectorAll("input, textarea, select")]
        if (isTouched) for (const control of controls()) control.dispatchEvent(new Event("input", { bubbles: true }))
        const plain = form.read()
        const [toggle] = [...form.element.children].filter((child) => child.matches("button") && !child.hidden)
        const seen = [plain?.value]
        for (let times = 0; toggle && times < 2; times++) {
            toggle.click()
            seen.push(form.read()?.value)
        }
        const said = [...form.element.querySelectorAll(".refusal")].map((fault) => fault.textContent).join("")
        form.element.remove()
        return [seen, said]
    }))
}"""
"""Each value as its form reads it: as fields, as JSON, and as the fields that are drawn of that."""
TREE = {
    "type": "object",
    "properties": {"label": {"type": "string"}, "left": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}},
}
PETS = {
    "oneOf": [
        {"type": "object", "properties": {"kind": {"const": "cat"}, "lives": {"type": "integer", "default": 9}}},
        {"type": "object", "properties": {"kind": {"const": "dog"}, "name": {"type": "string"}}, "required": ["name"]},
    ]
}
OPTIONAL = {
    "type": "object",
    "properties": {
        "a": {"type": "integer"},
        "b": {"type": "boolean"},
        "c": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["a"],
}
AS_GIVEN: list[tuple[dict[str, Any], Any]] = [
    ({"enum": [1, 2, "three", None]}, "three"),
    ({"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]}, "3"),
    ({"type": "array", "items": {"type": "array", "items": {"type": "boolean"}}}, [[True], [], [False, True]]),
    ({"type": "object", "additionalProperties": {"type": "number"}}, {"__proto__": 1, "b": 2.5}),
    ({"prefixItems": [{"type": "integer"}, {"type": "string"}], "type": "array"}, [2, "b"]),
    (PETS, {"kind": "dog", "name": "null"}),
    (TREE, {"label": "root", "left": {"label": "twig", "left": None}}),
    (OPTIONAL, {"a": 1, "b": False, "c": None}),
    (OPTIONAL, {"a": 1, "c": "null"}),
    ({"$ref": "https://elsewhere.example/schema"}, {"any": [1, "two", None]}),
    ({"type": "integer"}, "not one"),
]
LEFT_OUT = (OPTIONAL, {"a": 1})
"""A value without what is optional, which a form shows and sends if somebody changes it."""
BOOKED = {
    "name": "Ada\nByron",
    "day": "2026-12-24",
    "class": "second",
    "seats": [{"row": 12, "window": True}],
    "discount": 0.25,
    "guide": None,
}


def drawn(page: Page, executor: str) -> Locator:
    return page.locator(f".graph g[data-id={executor}]").last


@pytest.mark.behaviour("page.graph")
async def test_a_workflow_is_chosen_like_an_agent_and_its_graph_is_drawn_before_it_runs(asking: RunningHost) -> None:
    """With every executor and edge, and as a list for those who hear it."""
    async with browsed(asking.origin, REFUSED) as browser:
        page = await browser.open()
        await page.get_by_role("link", name="Fan").click()
        await page.get_by_text("Run Fan").wait_for()
        await expect(page.locator(".graph li")).to_have_text(
            [
                "spread: not started, leads to Left, Right",
                "Left (agent): not started, leads to joined",
                "Right (agent): not started, leads to joined",
                "joined: not started",
            ]
        )
        edges = await page.locator(".graph path.edge").count()
        names = await page.locator(".graph .name").all_text_contents()
        places = [await drawn(page, name).locator("rect").bounding_box() for name in ("spread", "Left", "Right")]

    assert (edges, sorted(names)) == (4, ["Left", "Right", "joined", "spread"])
    first, left, right = (place or {"x": 0, "y": 0} for place in places)
    assert left["y"] == right["y"] > first["y"]
    assert left["x"] < first["x"] < right["x"]


def executors(page: Page, number: int = 1) -> Locator:
    """Return what the list of a turn's graph says, an item for each executor."""
    return page.locator(".turn").nth(number - 1).locator(".graph li")


@pytest.mark.behaviour("page.graph")
async def test_executors_at_work_stopped_done_and_failed_are_told_apart(asking: RunningHost) -> None:
    """While the run goes on, in another tab, and after a reload."""
    waiting = ["upper: running, leads to reversed", "reversed: not started"]
    stopped = ["upper: stopped, leads to reversed", "reversed: not started"]
    done = ["upper: done, leads to reversed", "reversed: done"]
    failed = ["upper: failed, leads to reversed", "reversed: not started"]
    async with browsed(asking.origin, REFUSED) as browser:
        page = await browser.open("#/Text/told")
        await ask(page, "wait")
        await expect(executors(page)).to_have_text(waiting)
        await expect(drawn(page, "upper")).to_have_class("node running")
        await page.reload()
        await expect(executors(page)).to_have_text(waiting)
        other = await browser.open("#/Text/told")
        await expect(executors(other)).to_have_text(waiting)
        await page.get_by_role("button", name="Stop").click()
        for tab in (page, other):
            await ended(tab, "cancelled")
            await expect(executors(tab)).to_have_text(stopped)

        await ask(page, "abc")
        await ended(page)
        await expect(executors(page, 2)).to_have_text(done)
        await ask(page, "fail")
        await ended(page, "failed")
        await expect(executors(page, 3)).to_have_text(failed)
        await page.reload()
        await expect(executors(page, 3)).to_have_text(failed)
        await expect(drawn(page, "upper")).to_have_class("node failed")
        await expect(executors(page, 2).first).to_be_hidden()
        for number, told in ((0, stopped), (1, done)):
            await page.get_by_role("button", name="Timeline").nth(number).click()
            await expect(executors(page, number + 1)).to_have_text(told)
        await page.get_by_role("button", name="Timeline").last.click()
        await expect(page.locator(".step-row.executor.bad .what")).to_contain_text(["upper superstep 1, failed"])


async def read_back(asking: RunningHost, pairs: list[tuple[dict[str, Any], Any]], *, is_touched: bool) -> list[Any]:
    """Return what forms of these schemas make of these values, and the complaints."""
    async with browsed(asking.origin) as browser:
        page = await browser.open()
        await page.get_by_label("Message", exact=True).wait_for()
        read: list[Any] = json.loads(await page.evaluate(READ_BACK, [json.dumps(pairs), is_touched]))
    return read


def as_json(value: Any) -> str:
    """Return what tells 1, 1.0, "1" and true apart, and not the order of an object's members."""
    return json.dumps(value, sort_keys=True)


@pytest.mark.behaviour("page.forms")
@pytest.mark.parametrize("is_touched", [False, True], ids=["left alone", "each control used"])
async def test_a_form_gives_back_the_value_that_it_was_given(asking: RunningHost, *, is_touched: bool) -> None:
    """Numbers stay numbers, what is left out stays so, and null stays null; as fields, as JSON, and as fields again."""
    pairs = AS_GIVEN if is_touched else [*AS_GIVEN, LEFT_OUT]
    read = await read_back(asking, pairs, is_touched=is_touched)

    wrong = [
        (schema, value, seen, said)
        for (schema, value), (seen, said) in zip(pairs, read, strict=True)
        if said or {as_json(each) for each in seen} != {as_json(value)}
    ]
    assert wrong == [], json.dumps(wrong[0])


async def fill(page: Page) -> None:
    """Fill in the form of a booking by keys alone, as a person does."""
    keys = page.keyboard
    await page.get_by_label("Name", exact=True).focus()
    await keys.type("Ada")
    await keys.press("Shift+Enter")
    await keys.type("Byron")
    await page.get_by_label("Day", exact=True).fill("2026-12-24")
    await page.get_by_label("Class", exact=True).select_option("second")
    await page.get_by_label("Row", exact=True).focus()
    await keys.type("12")
    await keys.press("Tab")
    await keys.press("Space")
    for row in ("7", "8"):
        await page.get_by_role("button", name="Add to Seats").press("Enter")
        await keys.type(row)
    await page.get_by_role("button", name="Remove Seats 2").press("Enter")
    await expect(page.get_by_role("button", name="Remove Seats 2")).to_be_focused()
    await keys.press("Enter")
    await expect(page.get_by_role("button", name="Remove Seats 1")).to_be_focused()
    await page.get_by_label("Discount", exact=True).fill("0.25")
    await page.get_by_label("None (null)").check()


@pytest.mark.behaviour("page.forms")
async def test_a_workflows_question_is_answered_by_keys_in_a_form_and_the_value_is_exactly_that(
    asking: RunningHost,
) -> None:
    """What is left empty and optional is left out, null where chosen; what cannot be read has the focus."""
    async with browsed(asking.origin, REFUSED) as browser:
        page = await browser.open("#/Desk/asked")
        await ask(page, "book")
        name = page.get_by_label("Name", exact=True)
        await name.focus()
        await page.keyboard.press("Enter")
        await expect(name).to_be_focused()
        await expect(name).to_have_attribute("aria-invalid", "true")
        await expect(page.locator(".card .refusal", has_text="Fill this in.").first).to_be_visible()
        await fill(page)
        await page.get_by_label("Row", exact=True).press("Enter")
        said = await ended(page, number=2)

    assert json.loads(said[said.index("{") : said.rindex("}") + 1]) == BOOKED


@pytest.mark.behaviour("page.forms")
async def test_what_the_app_refuses_stands_at_the_field_that_it_names(asking: RunningHost) -> None:
    """By a rule of the schema, and by one that only the type knows; what names no field stands below all."""
    async with browsed(asking.origin, REFUSED) as browser:
        page = await browser.open("#/Desk/refused")
        await ask(page, "book")
        await fill(page)
        for label, wrong, right, says in (
            ("Row", "99", "12", "Breaks the rule “maximum”"),
            ("Discount", "0.3", "0.25", "quarters"),
        ):
            field = page.get_by_label(label, exact=True)
            await field.fill(wrong)
            await field.press("Enter")
            await expect(field).to_be_focused()
            await expect(field).to_have_attribute("aria-invalid", "true")
            await expect(page.locator(".card [aria-invalid]")).to_have_count(1)
            described = (await field.get_attribute("aria-describedby") or "").split()[-1]
            await expect(page.locator(f"#{described}")).to_contain_text(says)
            await field.fill(right)
        await page.get_by_role("button", name="Write as JSON").click()
        text = page.get_by_label("Answer", exact=True).and_(page.locator("textarea"))
        await text.fill("{}")
        await page.get_by_role("button", name="Answer", exact=True).click()
        await expect(page.locator(".card").get_by_role("alert")).to_contain_text("'required'")
        await text.fill("{")
        await page.get_by_role("button", name="Back to the form").click()
        await expect(text).to_be_focused()
        await expect(page.locator(".card .refusal", has_text="This is not JSON")).to_be_visible()
        await text.fill(json.dumps(BOOKED))
        await page.get_by_role("button", name="Back to the form").click()
        await expect(page.get_by_label("Discount", exact=True)).to_have_value("0.25")
        await page.get_by_role("button", name="Answer", exact=True).click()
        said = await ended(page, number=2)

    assert json.loads(said[said.index("{") : said.rindex("}") + 1]) == BOOKED


@pytest.mark.behaviour("page.forks")
@pytest.mark.behaviour("page.forms")
async def test_a_workflow_that_takes_a_value_is_given_it_by_a_form(asking: RunningHost) -> None:
    """Once for each press; what is refused or failed is in the form again, as it was."""
    async with browsed(asking.origin, REFUSED) as browser:
        page = await browser.open("#/Orders")
        item, count = page.get_by_label("Item", exact=True), page.get_by_label("Count", exact=True)
        await expect(item).to_be_focused()
        await expect(count).to_have_value("1")
        await item.fill("tea")
        await count.fill("2.5")
        await count.press("Enter")
        await expect(count).to_be_focused()
        await count.fill("2")
        await count.press("Enter")
        answer = await ended(page)
        await expect(page.get_by_role("button", name=re.compile("Fork|Edit"))).to_have_count(0)  # each run begins anew
        await expect(item).to_have_value("")
        await expect(page.locator(".request .values")).to_have_text("itemteacount2")
        await page.reload()
        await expect(page.locator(".request .values")).to_have_text("itemteacount2")
        await page.get_by_role("button", name="Write as JSON").click()
        text = page.get_by_label("Input", exact=True).and_(page.locator("textarea"))
        await text.fill('{"item": 3, "count": 1}')
        await page.get_by_role("button", name="Send").click()
        refused = page.locator("#input .refusal", has_text="valid string")
        await expect(refused).to_be_visible()
        await expect(page.get_by_label("Item", exact=True)).to_have_value("3")
        await expect(page.locator("#notice")).to_be_hidden()
        await page.get_by_role("link", name="Joker").click()
        await expect(page.get_by_label("Message", exact=True)).to_be_visible()
        await expect(item).to_have_count(0)

    assert '"total": 6' in answer
