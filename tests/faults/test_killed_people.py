"""Runs that wait for a person or their caller, whose process dies around each record of question, answer and end."""

from __future__ import annotations

from collections import Counter
from typing import Any

import httpx
import pytest

from tests.faults.killed_app import CLERK, KILLED, KilledApp, Row, Scenario, each_dies
from tests.support.ag_ui import events_of, folded, text_of, wanted
from tests.support.ai_sdk import chunks_of, texts
from tests.support.ai_sdk import text_of as text_of_chunks
from tests.support.carriers import GUARD_SECONDS, Api
from tests.support.mcp_wire import ASKS, HANDSHAKE, STATELESS, Session

pytestmark = KILLED

CLERKS = "/api/agents/Clerk"
THREAD = f"{CLERKS}/threads/t"
CALLERS = """
from tests.support.clerk import clerk
app = AgentFunctionApp(
    agents=[clerk(note)], client_tools=True, wires=["ag-ui", "ai-sdk", "mcp"]
)
"""
WHERE = {"name": "where", "parameters": {"type": "object", "properties": {"n": {"type": "string"}}}}


async def say(api: Api, message: str, **fields: Any) -> Any:
    body = {"message": message, "thread_id": "t", **fields}
    return (await api.http.post(f"{CLERKS}/run", json=body)).json()


async def runs_of(api: Api, thread: str = THREAD) -> list[Any]:
    """Return what is told of each run of the thread, the newest first."""
    listed = (await api.http.get(f"{thread}/runs")).json().get("runs", [])
    return [(await api.http.get(f"{thread}/runs/{run['run_id']}")).json() for run in listed]


async def answer_all(api: Api, thread: str = THREAD, **answer: Any) -> list[str]:
    """Answer whatever the thread waits for; return its ids."""
    waiting = (await api.http.get(f"{thread}/approvals")).json().get("approvals", [])
    for approval in waiting:
        await api.http.post(f"{thread}/approvals/{approval['id']}", json=answer)
    return [approval["id"] for approval in waiting]


async def last_answer(app: KilledApp, api: Api, thread: str = THREAD, **answer: Any) -> Any:
    """Answer what still waits until a run has gone on to its end, and return how that ended."""

    async def ended() -> Any:
        await answer_all(api, thread, **answer)
        ends = [run for run in await runs_of(api, thread) if run["status"] == "success"]
        return next((run for run in ends if "pending_approvals" not in run), None)

    return await app.until(ended)


EDITED: dict[str, Any] = {"approved": True, "arguments": {"n": "7"}}


async def ask_and_edit(app: KilledApp, api: Api) -> None:
    await say(api, "call refund 5")
    await answer_all(api, **EDITED)


async def the_edited_call_was_made(app: KilledApp, api: Api) -> None:
    """Nobody makes the model's own call, and the timeline says with which arguments it was made."""
    run = await last_answer(app, api, **EDITED)
    steps = (await api.http.get(f"{THREAD}/runs/{run['run_id']}/timeline")).json()["steps"]

    made = 'A person changed the arguments of this call before it was made: {"n": "7"}\nrefunded 7'
    assert run["response"] == f"told: {made}"
    assert [line.rpartition(" ")[0] for line in app.said] == ["refund 7"]
    assert {str(step["arguments"]) for step in steps if step["kind"] == "tool_call"} == {"{'n': '7'}"}


STANDING = """
from agent_framework import ToolApprovalMiddleware
from tests.support.clerk import clerk
app = AgentFunctionApp(agents=[clerk(note, ToolApprovalMiddleware())])
"""


async def approve_for_good(app: KilledApp, api: Api) -> None:
    await say(api, "call refund 5")
    await answer_all(api, approved=True, always="tool")


async def call_again(app: KilledApp, api: Api) -> None:
    await say(api, "call refund 7")


async def withdraw(app: KilledApp, api: Api) -> list[int]:
    """Withdraw each standing approval of the thread; return the statuses."""
    listed = (await api.http.get(f"{THREAD}/approvals/standing")).json()["standing_approvals"]
    return [(await api.http.delete(f"{THREAD}/approvals/standing/{each['id']}")).status_code for each in listed]


async def the_second_attempt(app: KilledApp, api: Api) -> str:
    async def ended() -> Any:
        newest = (await runs_of(api))[0]
        return newest["status"] == "success" and newest["response"]

    response = str(await app.until(ended))
    timeline = (await api.http.get(f"{THREAD}/runs/{(await runs_of(api))[0]['run_id']}/timeline")).json()
    assert [step["kind"] for step in timeline["steps"]].count("attempt") == 2
    return response


async def the_rule_holds_in_the_second_attempt(app: KilledApp, api: Api) -> None:
    """It asks about no call, and makes none again; once withdrawn, the tool asks."""
    assert await the_second_attempt(app, api) == "told: refunded 7"
    assert [line.split()[:2] for line in app.said] == [["refund", "5"], ["refund", "7"]]
    assert await withdraw(app, api) == [204]
    assert len((await say(api, "call refund 9"))["pending_approvals"]) == 1


async def the_rule_is_given_once(app: KilledApp, api: Api) -> None:
    """The decision is recorded, so the next attempt adds the rule."""
    assert await the_second_attempt(app, api) == "told: refunded 5"
    assert (await say(api, "call refund 7"))["response"] == "told: refunded 7"
    assert await withdraw(app, api) == [204]
    assert app.tools == ["refund", "refund"]


CHAT = "/api/ai-sdk/Clerk"
ASKED_IN_CHAT = {"id": "u1", "role": "user", "parts": [{"type": "text", "text": "call refund 4"}]}


async def chat(app: KilledApp, api: Api) -> str:
    """Send the message, then the decision on what the chat waits for, as a page that is opened anew does each time."""
    await sent_to_chat(api, [ASKED_IN_CHAT])
    messages = (await api.http.get(f"{CHAT}/chat1")).json()["messages"]
    for part in messages[-1]["parts"]:
        if part.get("state") == "approval-requested":
            part |= {"state": "approval-responded", "approval": {"id": part["approval"]["id"], "approved": True}}
            return await sent_to_chat(api, messages)
    followed = await api.http.get(f"{CHAT}/chat1/stream")
    return texts((await api.http.get(f"{CHAT}/chat1")).json()["messages"][-1]) if followed.status_code == 204 else ""


async def sent_to_chat(api: Api, messages: list[Any]) -> str:
    answer = await api.http.post(CHAT, json={"id": "chat1", "messages": messages})
    if answer.status_code != 200:
        raise httpx.TransportError(answer.text)
    return text_of_chunks(chunks_of(answer.text))


async def the_chat_is_whole(app: KilledApp, api: Api) -> None:
    """The page sends again what got no answer; the tool runs once."""
    answer = await app.until(lambda: chat(app, api))
    messages = (await api.http.get(f"{CHAT}/chat1")).json()["messages"]

    assert answer.endswith("told: refunded 4")
    assert texts(messages[-1]) == "One moment.told: refunded 4"
    assert (len(messages), app.tools) == (2, ["refund"])


def over_mcp(version: str) -> Any:
    async def refunded(app: KilledApp, api: Api) -> Any:
        """Call the tool under one key, approve whatever is asked, and return the result."""
        headers = {"accept": "application/json, text/event-stream", "idempotency-key": "key"}
        url = f"{app.host.origin}/api/mcp/v1"
        async with httpx.AsyncClient(base_url=url, timeout=4 * GUARD_SECONDS, headers=headers) as http:
            session = Session(http, version, ASKS)
            return await (in_requests(session) if version == STATELESS else in_a_session(session))

    return refunded


async def in_requests(session: Session) -> Any:
    result = await session.call("call refund 5", tool="Clerk")
    while "inputRequests" in result:
        approved = {"action": "accept", "content": {"approved": True}}
        responses = dict.fromkeys(result["inputRequests"], approved)
        state = result["requestState"]
        result = await session.call("call refund 5", tool="Clerk", requestState=state, inputResponses=responses)
    return result


async def in_a_session(session: Session) -> Any:
    await session.begin()
    async with session.calling("call refund 5", "Clerk") as events:
        async for event in events:
            if event.value is not None and "method" in event.value and "id" in event.value:
                await session.answer(event.value, "accept", approved=True)
            elif event.value is not None and "result" in event.value:
                return event.value["result"]
    raise httpx.ReadError("the stream ended without a result")


def the_tool_acted_once(version: str) -> Any:
    async def end(app: KilledApp, api: Api) -> None:
        result = await over_mcp(version)(app, api)
        assert (result["content"][0]["text"], app.tools) == ("told: refunded 5", ["refund"])

    return end


async def by_ag_ui(app: KilledApp, api: Api) -> str:
    """Have the caller's function called, and send its result, as a page that has the messages that it was shown."""
    first = wanted("call where 1, look 2", thread="t", tools=[WHERE])

    async def ran(fields: dict[str, Any]) -> Any:
        return events_of((await api.http.post("/api/ag-ui/Clerk", json=fields)).text)

    messages = app.known.get("messages") or folded(await ran(first), first["messages"])
    app.known["messages"] = messages
    results = [
        {"id": f"result-{call['id']}", "role": "tool", "toolCallId": call["id"], "content": "here"}
        for call in messages[-1]["toolCalls"]
    ]
    again = wanted(thread="t", run="r-2", tools=[WHERE])
    return text_of(await ran({**again, "messages": [*messages, *results]}))


async def the_caller_has_its_answer(app: KilledApp, api: Api) -> None:
    """It sends again what got no answer; the app's own tool runs once."""
    assert (await by_ag_ui(app, api), app.tools) == ("told: here | saw 2", ["look"])


HURRIED = "from tests.support.asker import hurried\napp = AgentFunctionApp(agents=[hurried(note)])\n"


async def ask_hurriedly(app: KilledApp, api: Api) -> None:
    await say(api, "call ship 5")


async def the_default_is_taken_once(app: KilledApp, api: Api) -> None:
    """Nobody has to ask or answer, and no clock is left."""

    async def over() -> Any:
        runs = await runs_of(api)
        clocks = (await api.http.get("/runtime/webhooks/durabletask/instances")).json()
        is_over = len(runs) > 1 and all(run["status"] == "success" for run in runs)
        return is_over and not any(clock["instanceId"].startswith("pause!") for clock in clocks) and runs

    runs = await app.until(over)
    timelines = [(await api.http.get(f"{THREAD}/runs/{run['run_id']}/timeline")).json() for run in runs]
    answers = [step for each in timelines for step in each["steps"] if step["kind"] == "approval_answered"]

    assert [run["response"] for run in runs if "pending_approvals" not in run] == ["told: 5 to the depot"]
    assert [(answer["value"], answer["default"]) for answer in answers] == [("the depot", True)]
    assert len(runs) == 2


FRONT = '''
from agent_framework import Agent, Executor, WorkflowBuilder, WorkflowContext, handler, response_handler, tool
from typing_extensions import Never

from tests.support.planned import planned_client


@tool(approval_mode="never_require")
def city(n: str) -> str:
    """Name a city."""
    note("tool")
    return "Paris"


class Front(Executor):
    def __init__(self):
        super().__init__("front")
        self.agent = Agent(planned_client(note, (("city",), "all done")), name="Asked", tools=[city])

    @handler
    async def ask(self, text: str, ctx: WorkflowContext[Never, str]) -> None:
        await ctx.yield_output("asked")
        await ctx.request_info(text, bool)

    @response_handler
    async def judge(self, text: str, well: bool, ctx: WorkflowContext[Never, str]) -> None:
        answer = await self.agent.run("which city?")
        await ctx.yield_output(f"{text} {well}, {answer.text}")


app = AgentFunctionApp(workflow=lambda: WorkflowBuilder(name="Front", start_executor=Front()).build())
'''
FLOW = "/api/workflows/Front"


async def run_the_workflow(app: KilledApp, api: Api) -> None:
    await api.http.post(f"{FLOW}/run", json={"message": "tea", "thread_id": "t"}, headers={"idempotency-key": "once"})
    await answer_all(api, f"{FLOW}/threads/t", value=True)


async def the_workflow_asked_once(app: KilledApp, api: Api) -> None:
    """The agent that the answer leads to does nothing twice."""
    await run_the_workflow(app, api)
    ended = await last_answer(app, api, f"{FLOW}/threads/t", value=True)
    runs = await runs_of(api, f"{FLOW}/threads/t")

    assert ended["response"] == "tea True, all done"
    assert len({approval["id"] for run in runs for approval in run.get("pending_approvals", [])}) == 1
    assert Counter(app.tools) == {"model": 2, "tool": 1}


# Appends: 1 and 2 the run that asks, 3 the answer with the run that goes on, then that run. A kill in its middle would
# cut its tool off, which ends a run (test_killed_steps.py).
AROUND_AN_ANSWER = ("after 3", "before 1", "after 1", "before 2", "after 2", "before 3")
# 3 has the question, 4 its default with the run that goes on, 5 the repeated call, 6 its result; of the engine: the end
# of the run with the signal for the clock, the start of that, its order, and its removal.
AROUND_A_DEFAULT = (
    "after 4",
    *("before 3", "before 4", "after 5", "after 3", "before 6", "after 6"),
    *(f"engine {side}:{n}" for side in ("after-entity", "before-commit", "after-commit") for n in (3, 4, 5)),
)


@each_dies(
    Scenario(
        "edited",
        CLERK,
        ["after 3", "before 3", "after completed 2", "before claimed 2", "after tool_result 1", "before completed 2"],
        ask_and_edit,
        the_edited_call_was_made,
    ).rows(pytest.mark.behaviour("approvals.edited")),
    Scenario(
        "used rule",
        STANDING,
        ["after 3", "after 1"],
        call_again,
        the_rule_holds_in_the_second_attempt,
        approve_for_good,
    ).rows(pytest.mark.behaviour("approvals.standing-killed")),
    Scenario("new rule", STANDING, ["after 5"], approve_for_good, the_rule_is_given_once).rows(
        pytest.mark.behaviour("approvals.standing-killed")
    ),
    Scenario("chat", CALLERS, [*AROUND_AN_ANSWER, "before completed 2"], chat, the_chat_is_whole).rows(
        pytest.mark.behaviour("ai-sdk.survives-kill")
    ),
    Scenario("default", HURRIED, AROUND_A_DEFAULT, ask_hurriedly, the_default_is_taken_once).rows(
        pytest.mark.behaviour("asks.default")
    ),
    Scenario(
        "workflow",
        FRONT,
        ["after 2", "before 2", "after 3", "before 4", "after 4", "after 5", "after 7", "after 9"],
        run_the_workflow,
        the_workflow_asked_once,
    ).rows(pytest.mark.behaviour("workflows.asks-survives-kill")),
    Scenario("ag-ui", CALLERS, [*AROUND_AN_ANSWER, "before completed 2"], by_ag_ui, the_caller_has_its_answer).rows(
        pytest.mark.behaviour("client-tools.survives-kill")
    ),
    *(
        Scenario(f"mcp {version}", CALLERS, AROUND_AN_ANSWER, over_mcp(version), the_tool_acted_once(version)).rows(
            pytest.mark.behaviour("mcp-endpoint.killed")
        )
        for version in (HANDSHAKE, STATELESS)
    ),
)
async def test_a_killed_process_loses_neither_question_nor_answer(row: Row) -> None:
    """The next one asks once, and makes each step once."""
    await row.dies_and_ends()
