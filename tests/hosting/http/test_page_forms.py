"""What the page draws of JSON Schemas: forms that give back what is written in them, and say what is refused where."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.hosting.http.browsed_page import (
    IN_A_BROWSER,
    ON_EACH_SCREEN,
    UNWANTED,
    WIDER,
    ask,
    browsed,
    ended,
    faults_of,
)
from tests.hosting.http.schemas_with_values import LEFT_OUT, TABLE, random_ones
from tests.support.running_host import ROOT, RunningHost

APP = ROOT / "tests" / "hosting" / "http" / "page_app"
REFUSED = "Failed to load resource: the server responded"
SOURCE = """
from dataclasses import dataclass
from datetime import date
from typing import Literal

from agent_framework import Executor, WorkflowBuilder, WorkflowContext, handler, response_handler
from pydantic import BaseModel, Field, field_validator
from typing_extensions import Never

from hosting.app import AgentFunctionApp
from tests.support.app.scripted import scripted_agent
from tests.support.flows import asking_flow, order_flow


class Seat(BaseModel):
    row: int = Field(ge=1, le=30)
    window: bool = False


class Booking(BaseModel):
    name: str = Field(description="<img src=x onerror=hacked()>", min_length=2)
    day: date
    travel: Literal["first", "second"] = Field(alias="class")
    seats: list[Seat] = Field(min_length=1, title="Seats")
    discount: float = 0.5
    note: str | None = None
    guide: str | None

    @field_validator("discount")
    @classmethod
    def in_quarters(cls, value: float) -> float:
        if value * 4 % 1:
            raise ValueError("Give it in quarters")
        return value


class Desk(Executor):
    @handler
    async def book(self, text: str, ctx: WorkflowContext[Never, str]) -> None:
        await ctx.request_info({"trip": text}, Booking)

    @response_handler
    async def booked(self, trip: dict, booking: Booking, ctx: WorkflowContext[Never, str]) -> None:
        await ctx.yield_output(booking.model_dump_json(by_alias=True, exclude_unset=True))


def desk_flow():
    return WorkflowBuilder(name="Desk", start_executor=Desk("desk")).build()


app = AgentFunctionApp(agents=[scripted_agent("Joker")], workflows=[asking_flow, order_flow, desk_flow])
"""
HOSTILE = "<img src=x onerror=hacked()>\u202e"
HOSTILE_SCHEMA = {
    "type": "object",
    "description": HOSTILE,
    "properties": {
        "text": {"type": "string", "title": HOSTILE, "description": HOSTILE, "pattern": HOSTILE},
        HOSTILE: {"type": "integer", "minimum": HOSTILE, "default": HOSTILE},
        "many": {"type": "array", "title": HOSTILE, "items": {"type": "string"}},
        "choice": {"enum": [HOSTILE, "other"], "title": HOSTILE},
        "either": {"anyOf": [{"type": "integer", "title": HOSTILE}, {"type": "string", "const": HOSTILE}]},
        "object": {"title": HOSTILE, "type": "object", "properties": {"a": {"const": HOSTILE}}},
        "loose": {"title": HOSTILE},
    },
}
DRAWN = """async ([schema, value, refusal]) => {
    const script = document.querySelector("link[rel=modulepreload][href$='/forms.js']")
    const { Form } = await import(script.href)
    for (const given of [value, undefined]) {
        const form = new Form(schema, "Answer", () => {}, given)
        const place = document.createElement("div")
        place.className = "view"
        place.append(form.element)
        document.querySelector("#conversation").append(place)
        form.refuse(refusal)
        for (const select of form.element.querySelectorAll("select")) {
            select.selectedIndex = select.options.length - 1
            select.dispatchEvent(new Event("input", { bubbles: true }))
        }
        for (const box of form.element.querySelectorAll("[type=checkbox]")) box.click()
    }
}"""
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

pytestmark = IN_A_BROWSER


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    """An app of workflows that ask for values and take them."""
    app = Path(shutil.copytree(APP, tmp_path_factory.mktemp("forms") / "app"))
    (app / "function_app.py").write_text(SOURCE)
    with RunningHost(app) as host:
        yield host


async def read_back(host: RunningHost, pairs: list[tuple[dict[str, Any], Any]], *, is_touched: bool) -> list[Any]:
    """Return what forms of these schemas make of these values, and the complaints."""
    async with browsed(host.origin) as browser:
        page = await browser.open()
        await page.get_by_label("Message", exact=True).wait_for()
        read: list[Any] = json.loads(await page.evaluate(READ_BACK, [json.dumps(pairs), is_touched]))
    return read


def as_json(value: Any) -> str:
    """Return what tells 1, 1.0, "1" and true apart, and not the order of an object's members."""
    return json.dumps(value, sort_keys=True)


@pytest.mark.behaviour("page.forms")
@pytest.mark.parametrize("is_touched", [False, True], ids=["left alone", "each control used"])
@pytest.mark.parametrize("seed", [None, *range(4)])
async def test_a_form_gives_back_the_value_that_it_was_given(
    host: RunningHost, seed: int | None, *, is_touched: bool
) -> None:
    """Numbers stay numbers, what is left out stays so, and null stays null; as fields, as JSON, and as fields again."""
    table = TABLE if is_touched else [*TABLE, LEFT_OUT]
    pairs = table if seed is None else list(random_ones(seed, 150, leaves_out_defaults=not is_touched))
    read = await read_back(host, pairs, is_touched=is_touched)

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


BOOKED = {
    "name": "Ada\nByron",
    "day": "2026-12-24",
    "class": "second",
    "seats": [{"row": 12, "window": True}],
    "discount": 0.25,
    "guide": None,
}


@pytest.mark.behaviour("page.forms")
async def test_a_workflows_question_is_answered_by_keys_in_a_form_and_the_value_is_exactly_that(
    host: RunningHost,
) -> None:
    """What is left empty and optional is left out, null where chosen; what cannot be read has the focus."""
    async with browsed(host.origin, REFUSED) as browser:
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
async def test_what_the_app_refuses_stands_at_the_field_that_it_names(host: RunningHost) -> None:
    """By a rule of the schema, and by one that only the type knows; what names no field stands below all."""
    async with browsed(host.origin, REFUSED) as browser:
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


@pytest.mark.behaviour("page.forms")
async def test_a_workflow_that_takes_a_value_is_given_it_by_a_form(host: RunningHost) -> None:
    """Once for each press; what is refused or failed is in the form again, as it was."""
    async with browsed(host.origin, REFUSED) as browser:
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


@pytest.mark.behaviour("page.forms")
@pytest.mark.behaviour("page.hostile")
@ON_EACH_SCREEN
async def test_a_form_stands_in_nobodys_way_and_runs_nothing(host: RunningHost, theme: str, is_phone: bool) -> None:
    """By axe-core's rules, nothing is wider than the screen, and names, hints, choices and defaults are text."""
    async with browsed(host.origin, REFUSED, is_phone=is_phone, theme=theme) as browser:
        page = await browser.open(f"#/Desk/seen-{theme}")
        await ask(page, "<img src=x onerror=hacked()>")
        await fill(page)
        await page.get_by_label("Row", exact=True).fill("many")
        await page.get_by_label("Row", exact=True).press("Enter")
        await expect(page.locator(".card .refusal", has_text="Write a number.")).to_be_visible()
        found, wider = await faults_of(page), [await page.evaluate(WIDER)]
        await page.goto(f"{host.origin}/api/ui/#/Orders")
        await page.get_by_label("Count", exact=True).fill("x")
        await page.get_by_label("Count", exact=True).press("Enter")
        found += await faults_of(page)
        wider.append(await page.evaluate(WIDER))
        drawn = [HOSTILE_SCHEMA, {"text": HOSTILE, "many": [HOSTILE], "choice": HOSTILE, "loose": [HOSTILE]}]
        await page.evaluate(DRAWN, [*drawn, f"at $.many[0] the rule '{HOSTILE}' is broken; {HOSTILE}"])
        found += await faults_of(page)
        wider.append(await page.evaluate(WIDER))
        unwanted = await page.evaluate(UNWANTED)

    assert (found, max(*wider, 0), unwanted) == ([], 0, [])
