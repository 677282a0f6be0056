"""A functional workflow, under SIGKILL: killed around each append, between its steps and within them.

Other processes over the same store are alive, and go on with its runs.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.faults.killing_app import SOURCE, ClerksApp
from tests.support.carriers import GUARD_SECONDS
from tests.support.grouped_app import grouped_app
from tests.support.kept_in import KINDS, kept_in

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="the app kills itself by SIGKILL"),
]

CLERKS = "app = hosting.app.AgentFunctionApp(agents=[clerk(note)])"
TRIP = '''
import asyncio

from agent_framework import Agent, RunContext, step, tool, workflow

from hosting.tools import StepCutOffError, idempotent
from tests.support.planned import planned_client


@tool(approval_mode="never_require")
def city(n: str) -> str:
    """Name a city."""
    note("tool")
    return "Paris"


guide = Agent(planned_client(note, (("city",), "all done")), name="Guide", tools=[city])


@step
async def book(what: str) -> dict[str, str]:
    note("book")
    return {"booked": what}


@idempotent
@step
async def look(what: str) -> str:
    note("look")
    return f"saw {what}"


@idempotent
@step
async def ask_guide(text: str) -> str:
    return (await guide.run("which city?")).text


@workflow(name="Trip")
async def trip(text: str, ctx: RunContext) -> str:
    note("function")
    try:
        booked = (await book(text))["booked"]
    except StepCutOffError:
        booked = "perhaps"
    ctx.set_state("booked", booked)
    seen, other = await asyncio.gather(look(text), book("another"))
    said = await ask_guide(text)
    if text == "ask":
        price = await ctx.request_info("How much?", int)
        said = f"{said} for {price * await ctx.request_info('How many?', int, request_id='many')}"
    return f"{ctx.get_state('booked')}, {seen}, {other['booked']}, {said}"


app = hosting.app.AgentFunctionApp(workflow=trip)
'''
# Appends of a run: 1 accepted and claimed, 2 the booking begins, 3 its result, 4 the other booking begins, 5 what was
# seen, 6 the other result, 7 the model's answer with the begin of its tool, 8 the tool's result, 9 the model's next
# answer, 10 what the guide said, 11 the end.
ONCE = {"function": 1, "book": 2, "look": 1, "model": 2, "tool": 1}
POINTS: dict[str, dict[str, int]] = {
    "before 2": {},
    "after 3": {},
    "before 4": {"look": 1},
    "after 6": {},
    "before 7": {"model": 1},
    "after 8": {},
    "before 10": {},
    "after 10": {},
    "before 11": {},
}
"""Where it dies between two records, and what is done once more for it, besides the function's own code."""

CUT_OFF = ("after 2", "before 3", "after 4")
"""Where it dies within a step that may not run twice: before the step's own code, and after that has acted."""


SAYS = "tea, saw tea, another, all done"

# Appends where it asks: 11 the state with the first question, 12 the end, 13 the answer with the run that goes on, 14
# its state with the second question, 15 its end, 16 the answer with the last run, 17 the end.
QUESTIONS = (
    "before 11",
    "after 11",
    "after 12",
    "before 13",
    "after 13",
    "after 14",
    "after 15",
    "after 16",
    "before 17",
)
ANSWERS = {"How much?": 3, "How many?": 2}


class Thread:
    """A thread of the workflow on one host, begun once however often that is asked for."""

    def __init__(self, origin: str, name: str) -> None:
        self._http = httpx.Client(base_url=f"{origin}/api/workflows/Trip", timeout=6 * GUARD_SECONDS)
        self._name = name.replace(" ", "-")
        self._place = f"/threads/{self._name}"

    def run(self, message: str) -> dict[str, Any]:
        """Run the workflow, and return the answer."""
        body = {"message": message, "thread_id": self._name}
        return dict(self._http.post("/run", json=body, headers={"idempotency-key": self._name}).json())

    def answer(self, message: str) -> str:
        """Run the workflow, answer all that it asks, and return its last answer."""
        answer = self.run(message)
        while True:
            for waiting in self._http.get(f"{self._place}/approvals").json().get("approvals", []):
                value = {"value": ANSWERS[waiting["arguments"]]}
                answer = self._http.post(f"{self._place}/approvals/{waiting['id']}", json=value).json()
            if answer.get("status") == "success" and "pending_approvals" not in answer:
                return str(answer["response"])
            runs = self._http.get(f"{self._place}/runs").json()["runs"]
            answer = self._http.get(f"{self._place}/runs/{runs[0]['run_id']}").json()

    @property
    def questions(self) -> list[Any]:
        """What its runs asked, in order."""
        runs = [self._http.get(f"{self._place}/runs/{run['run_id']}").json() for run in self.runs]
        return [asked["arguments"] for run in runs for asked in run.get("pending_approvals", [])]

    @property
    def runs(self) -> list[dict[str, Any]]:
        """Its runs, the first one first."""
        return sorted(self._http.get(f"{self._place}/runs").json()["runs"], key=lambda run: str(run["created_at"]))


class Trips:
    """The app in a process for each point, which dies there, and in one that lives."""

    def __init__(self, folder: Path, stores: dict[str, str], points: Sequence[str], **environ: str) -> None:
        self._app = ClerksApp(folder, stores, SOURCE.replace(CLERKS, TRIP))
        self._settings = {**stores, "NOTES": str(folder / "notes.txt"), **environ}
        self._points = points

    def ended(self, send: Callable[[Thread], object]) -> dict[str, tuple[Any, Counter[str]]]:
        """Send to each process that dies by it, and to the one that lives; return its answers, and what was done."""
        ended, dying = {}, [{"KILL": point} for point in self._points]
        with grouped_app(self._app.path, http=len(dying) + 1, log=self._settings, of_http=dying) as group:
            for point, host in zip(self._points, group.http, strict=False):
                before = Counter(self._app.notes())
                with pytest.raises(httpx.TransportError):
                    send(Thread(host.origin, point))
                ended[point] = send(Thread(group.http[-1].origin, point)), Counter(self._app.notes()) - before
        return ended


@pytest.mark.behaviour("workflows.steps")
@pytest.mark.parametrize(
    ("points", "stores"), kept_in(*KINDS, first=["after 3", "after 8"], rest=[list(POINTS)]), indirect=["stores"]
)
def test_a_killed_function_continues_behind_its_last_step(
    tmp_path: Path, points: list[str], stores: dict[str, str]
) -> None:
    """The same answer, with its state; no step is done again, and no recorded call of an agent."""
    ended = Trips(tmp_path, stores, points).ended(lambda thread: thread.run("tea").get("response"))

    assert {point: said for point, (said, _) in ended.items()} == dict.fromkeys(points, SAYS)
    assert {point: done for point, (_, done) in ended.items()} == {
        point: Counter(ONCE) + Counter({"function": 1, **POINTS[point]}) for point in points
    }


@pytest.mark.behaviour("workflows.cut-off-steps")
@pytest.mark.parametrize("stores", ["sqlite"], indirect=True)
def test_a_step_that_was_cut_off_ends_its_run(tmp_path: Path, stores: dict[str, str]) -> None:
    """It is not run again, whether it had acted or not, and nothing after it is."""

    def told(thread: Thread) -> tuple[str, str]:
        answer = thread.run("tea")
        return answer["code"], answer["detail"]

    ended = Trips(tmp_path, stores, CUT_OFF).ended(told)

    for (code, detail), _ in ended.values():
        assert (code, "while step 'book' was running" in detail, "@idempotent" in detail) == (
            "run_interrupted",
            True,
            True,
        )
    assert {point: done["book"] for point, (_, done) in ended.items()} == {"after 2": 0, "before 3": 1, "after 4": 1}


@pytest.mark.behaviour("workflows.cut-off-steps")
@pytest.mark.parametrize("stores", ["sqlite"], indirect=True)
def test_the_function_is_told_of_a_step_that_was_cut_off(tmp_path: Path, stores: dict[str, str]) -> None:
    """Where the app says so; the function goes on as it likes."""
    trips = Trips(tmp_path, stores, CUT_OFF[:2], AGENT_INTERRUPTED_TOOLS="tell")

    ended = trips.ended(lambda thread: thread.run("tea").get("response"))

    said = SAYS.replace("tea, saw", "perhaps, saw")
    assert {point: (told, done["book"]) for point, (told, done) in ended.items()} == {
        "after 2": (said, 1),
        "before 3": (said, 2),
    }


@pytest.mark.behaviour("workflows.asks-survives-kill")
@pytest.mark.parametrize("stores", ["sqlite"], indirect=True)
def test_a_function_killed_around_its_questions_asks_once_and_loses_no_answer(
    tmp_path: Path, stores: dict[str, str]
) -> None:
    """The answers are those that were given, to both questions, and no step is done again."""
    trips = Trips(tmp_path, stores, QUESTIONS)

    ended = trips.ended(lambda thread: (thread.answer("ask"), thread.questions))

    said = SAYS.replace("tea", "ask") + " for 6"
    assert {point: answer for point, (answer, _) in ended.items()} == dict.fromkeys(QUESTIONS, (said, list(ANSWERS)))
    steps = Counter(ONCE) - Counter(function=1)
    assert all(done - Counter(function=done["function"]) == steps for _, done in ended.values()), ended
