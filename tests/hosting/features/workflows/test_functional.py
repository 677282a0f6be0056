"""Functional workflows over HTTP: plain and hosted alike, their steps and questions, and what is refused."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any, Literal

import httpx
import pytest
from agent_framework import RunContext, step, workflow

from hosting.errors import ConfigurationError
from hosting.features.workflows.answer import plain_value
from hosting.tools import StepCutOffError, current
from tests.support.flows import Order, Plan, Verdict
from tests.support.functional import DONE, FUNCTIONS, TillError, echo, shop, side, upper, within, write
from tests.support.made_app import app_of, served

TWICE = {"attempts": 2, "first_pause_seconds": 0.001}


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    DONE.clear()
    async with served(app_of(workflows=FUNCTIONS)) as (_, http):
        yield http


async def run(http: httpx.AsyncClient, name: str, **fields: Any) -> httpx.Response:
    headers = fields.pop("headers", {})
    return await http.post(f"/api/workflows/{name}/run", json=fields, headers=headers)


async def answered(http: httpx.AsyncClient, name: str, waiting: Any, value: Any) -> httpx.Response:
    return await http.post(f"/api/workflows/{name}/threads/t/approvals/{waiting['id']}", json={"value": value})


async def run_twice(workflow: Any, **environ: str) -> dict[str, Any]:
    """Run a workflow, and once more if its first attempt fails: the second one finds what that recorded."""
    async with served(app_of(workflow=workflow, environ={"AGENT_LOG": "memory", **environ})) as (host, _):
        order = {"message": "x", "correlationId": "run-1", "retry": TWICE}
        answer = await host.entities.call(f"dafx-{workflow.name}".lower(), "t", "run", order)
    return dict(json.loads(json.loads(answer["result"])))


@pytest.mark.behaviour("workflows.functional")
@pytest.mark.parametrize(
    ("given", "input_"),
    [
        (echo, "abc"),
        (shop, Order("tea", 2)),
        (shop, Order("nothing")),
        (side, "a+b+a+c"),
        (write, "say hi"),
    ],
)
async def test_a_function_does_hosted_what_it_does_plain(http: httpx.AsyncClient, given: Any, input_: Any) -> None:
    result = await given.build().run(input_)
    plain, DONE[:] = list(DONE), []
    sent = {"message": input_} if isinstance(input_, str) else {"input": plain_value(input_)}

    body = (await run(http, given.name, thread_id="t", **sent)).json()

    (output,) = result.get_outputs()
    assert body.get("value", body["response"]) == plain_value(output)
    assert plain == DONE
    timeline = (await http.get(f"/api/workflows/{given.name}/threads/t/runs/{body['run_id']}/timeline")).json()
    invoked = [event.executor_id for event in result if event.type == "executor_invoked"]
    assert [each["executor"] for each in timeline["steps"] if each["kind"] == "executor"] == invoked
    assert [each for each in timeline["steps"] if each["kind"] == "tool_call"] == []


@pytest.mark.behaviour("workflows.functional")
@pytest.mark.parametrize("given", [echo, echo.build(), lambda: echo, echo.build])
async def test_it_is_given_with_its_decorator_or_built(given: Any) -> None:
    async with served(app_of(workflow=given)) as (_, http):
        listed = (await http.get("/api/workflows")).json()["workflows"][0]
        both = await asyncio.gather(*(run(http, "Echo", message=text) for text in ("abc", "def")))

    assert (listed["name"], listed["description"]) == ("Echo", "Says it the other way round.")
    assert listed["input_schema"] == {"type": "string"}
    assert listed["graph"] == {
        "start": "Echo",
        "executors": [{"id": name, "kind": "code"} for name in ("Echo", "backwards", "upper")],
        "edges": [{"source": "Echo", "target": name, "kind": "direct"} for name in ("backwards", "upper")],
    }
    assert [answer.json()["response"] for answer in both] == ["CBA", "FED"]


@pytest.mark.behaviour("workflows.functional-asks")
async def test_steps_ask_side_by_side(http: httpx.AsyncClient) -> None:
    """The run goes on with the last answer, and each goes to its question: the steps begin anew, as they do plain."""
    body = (await run(http, "Within", message="tea+milk", thread_id="t")).json()
    tea, milk = body["pending_approvals"]

    await answered(http, "Within", milk, "second")
    end = await answered(http, "Within", tea, "first")

    assert end.json()["value"] == ["tea: first", "milk: second"]
    plain, answers = within.build(), ("first", "second")
    result = await plain.run("tea+milk")
    for number, _ in enumerate(answers, 1):  # plain, it may ask for one after the other
        (*_, event) = result.get_request_info_events()
        result = await plain.run(responses={f"auto::{each}": answers[each] for each in range(number)})
        assert event.request_id == f"auto::{number - 1}"
    assert result.get_outputs() == [end.json()["value"]]


KINDS: list[tuple[Any, Any, str]] = [
    (bool, True, "True"),
    (list[str], ["a", "b"], "['a', 'b']"),
    (dict, {"a": 1}, "{'a': 1}"),
    (Verdict, {"approved": True}, "approved=True note=''"),
    (Plan, {"text": "t", "steps": []}, "Plan(text='t', steps=[])"),
    (int | str, 7, "7"),
    (list[int | None], [7, None], "[7, None]"),
    (Literal["yes", "no"], "no", "no"),
    (str | None, None, "None"),
]


@pytest.mark.behaviour("workflows.functional-asks")
@pytest.mark.parametrize(("kind", "value", "shown"), KINDS, ids=str)
async def test_an_answer_may_be_of_any_type_with_a_schema(kind: Any, value: Any, shown: str) -> None:
    @workflow(name="Kind")
    async def asking(text: str, ctx: RunContext) -> str:
        first = await ctx.request_info(text, kind)
        return f"{first}, {await ctx.request_info(text, str)}"

    async with served(app_of(workflow=asking)) as (_, http):
        (first,) = (await run(http, "Kind", message="x", thread_id="t")).json()["pending_approvals"]
        (second,) = (await answered(http, "Kind", first, value)).json()["pending_approvals"]
        end = await answered(http, "Kind", second, "end")

    assert (first["kind"], first["question"]) == ("ask", "x")
    assert end.json()["response"] == f"{shown}, end"


def failing_once(body: Callable[[], Any]) -> Any:
    """Return a workflow that fails in its first attempt, after its body: the second one finds what that recorded."""
    attempts: list[int] = []

    @workflow(name="Once")
    async def once(text: str) -> str:
        said = await body()
        attempts.append(1)
        if len(attempts) == 1:
            raise ValueError
        return str(said)

    return once


@step
async def breaking() -> str:
    DONE.append("breaking")
    raise TillError("broken")


@pytest.mark.behaviour("workflows.cut-off-steps")
async def test_a_step_that_raised_raises_again_in_a_later_attempt() -> None:
    DONE.clear()

    async def body() -> str:
        try:
            return await breaking()
        except TillError as error:
            return f"caught {error}"

    end = await run_twice(failing_once(body))

    assert (end["response"], DONE) == ("caught broken", ["breaking"])


BEGAN: list[asyncio.Event] = []
ATTEMPTS: list[int] = []


@step
async def hanging() -> str:
    """Never end."""
    DONE.append("hanging")
    BEGAN[0].set()
    await asyncio.Event().wait()
    return "never"


@workflow(name="Cut")
async def cut(text: str) -> str:
    """Fail in the first attempt, while a step is at work, and wait for it in the next."""
    ATTEMPTS.append(1)
    task = asyncio.ensure_future(hanging())
    if len(ATTEMPTS) == 1:
        await BEGAN[0].wait()
        raise ValueError
    try:
        return await task
    except StepCutOffError as error:
        return f"told: {error}"
    except Exception:
        return "caught"


@pytest.mark.behaviour("workflows.cut-off-steps")
@pytest.mark.parametrize("setting", ["fail", "tell"])
async def test_a_step_at_work_when_its_attempt_ended_was_cut_off(setting: str) -> None:
    DONE.clear()
    ATTEMPTS.clear()
    BEGAN[:] = [asyncio.Event()]
    body = await run_twice(cut, AGENT_INTERRUPTED_TOOLS=setting)

    assert DONE == ["hanging"]
    told = "told: The process ended while step 'hanging' was running. It may have done its work."
    told = "told: The process ended while step 'hanging' was running. It may have done its work."
    assert body.get("response", body.get("error", {}).get("code")) == (told if setting == "tell" else "run_interrupted")


@step
async def slow() -> str:
    DONE.append("slow")
    await asyncio.Event().wait()
    return "never"


class Unknown:
    """A class that no checkpoint may have: it is neither plain nor declared."""


@step
async def odd() -> Any:
    return Unknown()


@workflow(name="Odd")
async def keeping(text: str) -> str:
    try:
        await odd()
    except Exception:
        DONE.append("caught")
    return await upper(text)


@pytest.mark.behaviour("workflows.checkpoint-kept")
async def test_a_result_that_cannot_be_stored_ends_the_run() -> None:
    """Past all that the function catches: nothing follows a step without its record."""
    DONE.clear()

    async with served(app_of(workflow=keeping)) as (_, http):
        body = (await run(http, "Odd", message="x")).json()

    assert (body["code"], "The result of a step of workflow 'Odd'" in body["detail"]) == ("checkpoint_not_kept", True)
    assert DONE == []


@workflow
async def without_input() -> str:
    return ""


@workflow
async def closed(text: asyncio.Event) -> str:
    return ""


def changing() -> Any:
    counts: list[int] = []

    @step
    async def counting(text: str) -> int:
        counts.append(1)
        return len(counts)

    @workflow(name="Changing")
    async def flow(text: str) -> int:
        return await counting(text)

    return flow


async def undecorated(text: str) -> str:
    return text


@pytest.mark.behaviour("workflows.refused")
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"workflow": without_input}, "The function of workflow 'without_input' takes no input"),
        ({"workflow": closed}, "The function of workflow 'closed' takes Event, which a request cannot carry."),
        ({"workflow": changing()}, "Step 'counting' of workflow 'Changing' uses values from around it"),
        ({"workflow": undecorated}, "'undecorated' is an asynchronous function. Give it the decorator workflow."),
        ({"workflow": upper}, "'upper' is an asynchronous function."),
        ({"workflows": [echo, echo.build()]}, "Two workflows are named 'Echo' and 'Echo'"),
    ],
)
def test_what_cannot_be_hosted_is_refused(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        app_of(*options.pop("agents", ()), **options)

    assert sentence in refused.value.detail


@pytest.mark.behaviour("workflows.cut-off-steps")
async def test_a_step_that_the_function_cancelled_is_cancelled_again() -> None:
    """By a time limit of the function's, in each attempt; what follows is none of the step's."""
    DONE.clear()

    async def body() -> str:
        try:
            await asyncio.wait_for(slow(), 0.5)  # time enough for the step to begin on a busy machine
        except TimeoutError:
            with pytest.raises(LookupError):
                _ = current().call_key
        return await upper("late")

    end = await run_twice(failing_once(body))

    assert (end["response"], DONE) == ("LATE", ["slow", "upper late"])
