"""What the page shows of workflows: their graphs, and what each executor does in a run."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.async_api import Locator, Page, Route, expect

from tests.hosting.http.browsed_page import IN_A_BROWSER, ON_EACH_SCREEN, WIDER, ask, browsed, ended, faults_of
from tests.support.running_host import ROOT, RunningHost

APP = ROOT / "tests" / "hosting" / "http" / "page_app"
REFUSED = "Failed to load resource: the server responded"
FLOWS = """
from hosting.app import AgentFunctionApp
from tests.support.app.scripted import scripted_agent
from tests.support.flows import asking_flow, fan_flow, order_flow, text_flow, wide_flow

flows = [text_flow, fan_flow, asking_flow, wide_flow, order_flow]
app = AgentFunctionApp(agents=[scripted_agent("Joker")], workflows=flows)
"""

pytestmark = IN_A_BROWSER


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHost]:
    """An app of an agent and workflows."""
    app = Path(shutil.copytree(APP, tmp_path_factory.mktemp("workflows") / "app"))
    (app / "function_app.py").write_text(FLOWS)
    with RunningHost(app) as host:
        yield host


def executors(page: Page, number: int = 1) -> Locator:
    """Return what the list of a turn's graph says, an item for each executor."""
    return page.locator(".turn").nth(number - 1).locator(".graph li")


def drawn(page: Page, executor: str) -> Locator:
    """Return the newest drawing of an executor."""
    return page.locator(f".graph g[data-id={executor}]").last


@pytest.mark.behaviour("page.graph")
async def test_a_workflow_is_chosen_like_an_agent_and_its_graph_is_drawn_before_it_runs(host: RunningHost) -> None:
    """With every executor and edge, and as a list for those who hear it."""
    async with browsed(host.origin, REFUSED) as browser:
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


@pytest.mark.behaviour("page.forks")
@pytest.mark.behaviour("page.graph")
async def test_a_workflow_that_takes_a_value_has_no_fork(host: RunningHost) -> None:
    """Each run begins anew. One that takes texts has the box for a message."""
    async with browsed(host.origin) as browser:
        page = await browser.open("#/Orders")
        await page.get_by_label("Item").fill("tea")
        await page.get_by_label("Count").fill("2")
        await page.get_by_role("button", name="Send").click()
        answer = await ended(page)
        await expect(page.get_by_role("button", name=re.compile("Fork|Edit"))).to_have_count(0)
        await page.get_by_role("link", name="Text").click()
        await expect(page.get_by_placeholder("Message Text")).to_be_visible()

    assert '"total": 6' in answer


@pytest.mark.behaviour("page.schedules")
async def test_a_schedule_of_a_workflow_is_given_its_input_as_json(host: RunningHost) -> None:
    """What is none is refused at its field."""
    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open("#/Orders?schedules")
        await page.get_by_role("button", name="New schedule").click()
        await page.get_by_label("Cron expression").fill("0 9 * * *")
        given = page.get_by_label("Input, as JSON")
        for text, refusal in (("tea", "is not JSON"), ('{"item": 1}', "input")):
            await given.fill(text)
            await page.get_by_role("button", name="Create").click()
            await expect(page.locator(".planning").get_by_role("alert")).to_contain_text(refusal)
            await expect(given).to_be_focused()
        await given.fill('{"item": "tea", "count": 2}')
        await page.get_by_role("button", name="Create").click()
        await expect(page.locator(".cards > li h2")).to_have_text('{"item": "tea", "count": 2}')


@pytest.mark.behaviour("page.graph")
async def test_the_first_command_of_a_workflow_has_a_value_that_it_takes(host: RunningHost) -> None:
    """It is there to be pasted."""
    async with browsed(host.origin) as browser:
        page = await browser.open("#/Orders")
        command = await page.locator("#empty code").text_content() or ""

    ran = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(ran.stdout)["status"] == "success", ran.stdout


@pytest.mark.behaviour("page.graph")
async def test_an_executor_at_work_is_seen_also_after_a_reload_and_when_it_is_stopped(host: RunningHost) -> None:
    """In a tab that comes later, too."""
    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open("#/Text/waiting")
        await ask(page, "wait")
        said = ["upper: running, leads to reversed", "reversed: not started"]
        await expect(executors(page)).to_have_text(said)
        await expect(drawn(page, "upper")).to_have_class("node running")
        await page.reload()
        await expect(executors(page)).to_have_text(said)
        other = await browser.open("#/Text/waiting")
        await expect(executors(other)).to_have_text(said)
        await page.get_by_role("button", name="Stop").click()
        for one in (page, other):
            await ended(one, "cancelled")
            await expect(executors(one)).to_have_text(["upper: stopped, leads to reversed", "reversed: not started"])
        await page.reload()
        await expect(executors(page)).to_have_text(["upper: stopped, leads to reversed", "reversed: not started"])


@pytest.mark.behaviour("page.graph")
async def test_executors_that_ended_and_that_failed_are_told_apart(host: RunningHost) -> None:
    """While the run goes on, after a reload, and in the timeline."""
    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open("#/Text/told")
        await ask(page, "abc")
        await ended(page)
        await expect(executors(page)).to_have_text(["upper: done, leads to reversed", "reversed: done"])
        await ask(page, "fail")
        await ended(page, "failed")
        failed = ["upper: failed, leads to reversed", "reversed: not started"]
        await expect(executors(page, 2)).to_have_text(failed)
        await page.reload()
        await expect(executors(page, 2)).to_have_text(failed)
        await expect(drawn(page, "upper")).to_have_class("node failed")
        await expect(executors(page, 1).first).to_be_hidden()
        await page.get_by_role("button", name="Timeline").first.click()
        await expect(executors(page, 1)).to_have_text(["upper: done, leads to reversed", "reversed: done"])
        await page.get_by_role("button", name="Timeline").last.click()
        await expect(page.locator(".step-row.executor.bad .what")).to_contain_text("upper superstep 1, failed")


@pytest.mark.behaviour("page.verbs")
async def test_who_writes_an_answer_while_the_page_loads_writes_on(host: RunningHost) -> None:
    """The box for a message has the focus only where nobody took it elsewhere before."""
    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open("#/Asking/early")
        await ask(page, "tea")
        await expect(executors(page)).to_have_text(["reviewer: waits for a person"])
        written = asyncio.Event()

        async def late(route: Route) -> None:
            await written.wait()
            await route.continue_()

        await page.route("**/timeline", late)
        await page.reload()
        answer, message = (page.get_by_label(label, exact=True) for label in ("Note", "Message"))
        await answer.press_sequentially("no")
        async with page.expect_response("**/timeline"):
            written.set()
        await executors(page).first.wait_for()  # which is drawn of it
        await expect(answer).to_be_focused()
        await page.goto(f"{host.origin}/api/ui/#/Asking")
        await expect(message).to_be_focused()


@pytest.mark.behaviour("page.answers")
@pytest.mark.behaviour("page.graph")
async def test_an_executor_that_waits_for_a_person_is_answered_in_the_conversation(host: RunningHost) -> None:
    """The next run has the one graph of both, and the question with its answer; so in each tab, and after a reload."""
    done, tabs = ["reviewer: done 2 times"], []
    async with browsed(host.origin, REFUSED) as browser:
        page = await browser.open("#/Asking/asked")
        await ask(page, "tea")
        await expect(executors(page)).to_have_text(["reviewer: waits for a person"])
        await page.reload()
        await expect(executors(page)).to_have_text(["reviewer: waits for a person"])
        other = await browser.open("#/Asking/asked")
        await expect(executors(other)).to_have_text(["reviewer: waits for a person"])
        await page.get_by_role("switch", name="Approved").check()
        await page.get_by_role("button", name="Answer", exact=True).click()
        answer = await ended(page, number=2)
        await ended(other, number=2)
        for tab in (page, other, page):
            await expect(executors(tab, 2)).to_have_text(done)
            await expect(tab.locator(".graph:visible")).to_have_count(1)
            await expect(tab.get_by_label("Answer", exact=True)).to_have_count(0)
            tabs.append(await tab.locator(".request").last.locator("> div > :not(.note)").all_text_contents())
            await expect(tab.locator(".request").last.locator(".note")).to_have_text("Answered just now")
            await page.reload()
            await ended(page, number=2)
        await ask(page, "more")
        await expect(executors(page, 3)).to_have_text(["reviewer: waits for a person"])
        await page.reload()
        await expect(executors(page, 3)).to_have_text(["reviewer: waits for a person"])
        await expect(page.locator(".request").nth(1)).to_contain_text("reviewer asked")

    assert "tea: True" in answer
    assert tabs == [["reviewer asked", "Questiontextteastepsonetwo", "Answerapprovedtrue"]] * 3


@pytest.mark.behaviour("page.answers")
@ON_EACH_SCREEN
async def test_an_answer_says_who_gave_it_if_the_app_knows_its_callers(
    tmp_path: Path, theme: str, is_phone: bool
) -> None:
    """In the conversation and in the timeline; by axe-core's rules, and nothing is wider than the screen."""
    app = Path(shutil.copytree(APP, tmp_path / "app"))
    owned = FLOWS.replace("workflows=flows)", "workflows=flows, principal=easy_auth())")
    (app / "function_app.py").write_text(f"from hosting.principal import easy_auth\n{owned}")
    with RunningHost(app, "--port", "0", "--principal", "ada") as host:
        async with browsed(host.origin, REFUSED, is_phone=is_phone, theme=theme) as browser:
            page = await browser.open("#/Asking/signed")
            await ask(page, "tea")
            await page.get_by_role("switch", name="Approved").check()
            await page.get_by_role("button", name="Answer", exact=True).click()
            await ended(page, number=2)
            note = page.locator(".request").last.locator(".note")
            await expect(note).to_have_text("Answered by ada just now")
            await page.reload()
            await expect(note).to_have_text("Answered by ada just now")
            await page.get_by_role("button", name="Timeline").first.click()
            step = page.locator(".step-row.approval_answered")
            await expect(step.locator(".what")).to_have_text("Question answered by ada")
            await step.locator("summary").click()
            await expect(step.locator("h4")).to_have_text(["Question", "Answer"])
            found, wider = await faults_of(page), await page.evaluate(WIDER)

    assert (found, max(wider, 0)) == ([], 0)


APPLIED = """async events => {
    const script = document.querySelector("link[rel=modulepreload][href$='/graph.js']")
    const { Graph } = await import(script.href)
    const graph = new Graph({ start: "a", executors: [{ id: "a", kind: "code" }], edges: [] })
    return events.map(([event, data]) => (graph.apply(event, data), graph.list.textContent))
}"""


@pytest.mark.behaviour("page.graph")
async def test_an_event_that_comes_again_counts_once_and_another_attempt_begins_anew(host: RunningHost) -> None:
    """As after a connection that was lost, and after a failure that is tried again."""
    invoked, again = (
        ["executor_invoked", {"executor": "a", "at": "1"}],
        ["executor_invoked", {"executor": "a", "at": "4"}],
    )
    ended, failed = (
        ["executor_completed", {"executor": "a", "at": "2"}],
        ["executor_failed", {"executor": "a", "at": "5"}],
    )
    restarted, once = ["restarted", {"attempt": 2, "at": "6"}], ["executor_invoked", {"executor": "a", "at": "7"}]
    async with browsed(host.origin) as browser:
        page = await browser.open("#/Text")
        await page.locator(".graph svg").wait_for()
        told = await page.evaluate(APPLIED, [invoked, invoked, ended, ended, again, failed, restarted, once])

    assert told == ["a: running"] * 2 + ["a: done"] * 2 + ["a: running", "a: failed", "a: done", "a: running"]


@pytest.mark.behaviour("page.graph")
@ON_EACH_SCREEN
async def test_a_graph_stands_in_nobodys_way(host: RunningHost, theme: str, is_phone: bool) -> None:
    """By axe-core's rules; a row of many executors is broken on a phone, and nothing is wider than the screen."""
    async with browsed(host.origin, REFUSED, is_phone=is_phone, theme=theme) as browser:
        page = await browser.open("#/Wide")
        await page.locator(".graph svg").wait_for()
        found = await faults_of(page)
        wide = [await page.evaluate(WIDER)]
        heights = {
            box["y"]
            for node in await page.locator(".graph rect").all()
            if (box := await node.bounding_box()) is not None
        }
        await ask(page, "fail")
        await ended(page, "failed")
        found += await faults_of(page)
        wide.append(await page.evaluate(WIDER))
        states = await page.locator(".graph li").evaluate_all("items => items.map(item => item.dataset.state)")

    assert found == []
    assert max(wide) <= 0
    assert len(heights) == (5 if is_phone else 4)
    assert states.count("failed") >= 1
