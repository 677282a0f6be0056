"""The protocol's methods but the streams: the card, tasks, their history, lists, and every refusal."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import azure.functions as func
import pytest
from agent_framework import Agent

from hosting.bearer import bearer_token
from hosting.core.archiving import PAGE_BYTES
from hosting.features.a2a.requests import METHODS
from tests.hosting.features.a2a.wired import URL, Wired
from tests.support.a2a import answer_of, message
from tests.support.app.scripted import ScriptedClient

PAGE = (Path(__file__).parents[4] / "docs" / "reference" / "a2a.md").read_text(encoding="utf-8")
PICTURE = "iVBORw0KGgo="
KEY = {"description": "A key of the function app.", "location": "header", "name": "x-functions-key"}
FUNCTION_KEY = {"apiKeySecurityScheme": KEY}
TOKEN = {"description": "The user's token. The card needs none.", "scheme": "Bearer"}
BEARER = {"httpAuthSecurityScheme": TOKEN}
ISSUER = ("https://issuer.test", "app", "https://issuer.test/keys")


@pytest.mark.behaviour("a2a.card")
async def test_an_agents_card_says_where_and_how_it_is_asked(wired: Wired) -> None:
    answer = await wired.http.get("joker/.well-known/agent-card.json", headers={"x-forwarded-proto": "https"})

    assert answer.json() == {
        "name": "Joker",
        "description": "The scripted Joker.",
        "version": "1.0.0",
        "supportedInterfaces": [
            {"url": URL.replace("http:", "https:") + "/Joker", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ],
        "capabilities": {"streaming": True, "pushNotifications": False, "extendedAgentCard": False},
        "defaultInputModes": ["text/plain", "application/json", "image/*"],
        "defaultOutputModes": ["text/plain", "application/json"],
        "skills": [{"id": "Joker", "name": "Joker", "description": "The scripted Joker.", "tags": ["agent"]}],
        "securitySchemes": {"functionKey": FUNCTION_KEY},
        "securityRequirements": [{"schemes": {"functionKey": {"list": []}}}],
    }
    assert answer.headers["cache-control"] == "private, max-age=60"
    assert answer.headers["etag"]


@pytest.mark.behaviour("a2a.card")
@pytest.mark.parametrize(
    ("options", "schemes"),
    [
        ({"http_auth_level": func.AuthLevel.ANONYMOUS}, {}),
        ({"principal": lambda request: None}, {"functionKey": FUNCTION_KEY}),
        ({"principal": bearer_token(*ISSUER)}, {"functionKey": FUNCTION_KEY, "signIn": BEARER}),
        ({"principal": bearer_token(*ISSUER), "http_auth_level": func.AuthLevel.ANONYMOUS}, {"signIn": BEARER}),
    ],
)
async def test_a_card_says_what_a_request_must_have(options: dict[str, Any], schemes: dict[str, Any]) -> None:
    """A key unless the app is open, and a token where the app knows that callers have one."""
    card = (await Wired(**options).http.get("Joker/.well-known/agent-card.json")).json()

    assert card.get("securitySchemes", {}) == schemes
    assert [set(one["schemes"]) for one in card.get("securityRequirements", ())] == ([set(schemes)] if schemes else [])


@pytest.mark.behaviour("a2a.send")
@pytest.mark.behaviour("a2a.version")
async def test_a_message_is_answered_by_a_task_that_is_read_again(wired: Wired) -> None:
    """Its answer is an artifact, its message the history; by either path, whose query may name the version."""
    task = await wired.send("hello", messageId="m-1", metadata={"for": "a test"})

    run_id, _, thread_id = task["id"].partition("~")
    stamp = task["status"].pop("timestamp")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", stamp)
    assert task == {
        "id": task["id"],
        "contextId": thread_id,
        "metadata": {"for": "a test"},
        "status": {"state": "TASK_STATE_COMPLETED"},
        "artifacts": [{"artifactId": run_id, "name": "answer", "parts": [{"text": "echo: hello"}]}],
        "history": [
            {
                "messageId": "m-1",
                "contextId": thread_id,
                "taskId": task["id"],
                "role": "ROLE_USER",
                "parts": [{"text": "hello"}],
                "metadata": {"for": "a test"},
            }
        ],
    }
    task["status"]["timestamp"] = stamp
    assert await wired.result("GetTask", id=task["id"]) == task
    versioned = {"agent": "joker/?A2A-Version=1.0.3", "headers": {"A2A-Version": ""}}
    assert await wired.result("GetTask", **versioned, id=task["id"]) == task


@pytest.mark.behaviour("a2a.send")
async def test_an_id_without_a_context_is_of_one_message_alone(wired: Wired) -> None:
    """Another message under it is another task, whose history has the client's id; how it is answered counts not."""
    first, other, at_once = await asyncio.gather(
        *(wired.send(text, messageId="same") for text in ("hello", "other", "hello"))
    )
    again = await wired.send("hello", messageId="same", metadata={"try": 2}, configuration={"historyLength": 9})
    picture = [{"text": "hello"}, {"raw": PICTURE, "mediaType": "image/png"}]
    third = await wired.send("", messageId="same", parts=picture)

    assert again == at_once == first
    assert len({task["contextId"] for task in (first, other, third)}) == 3
    assert [task["history"][-1]["messageId"] for task in (first, other, third)] == ["same"] * 3
    assert [answer_of(task) for task in (first, other)] == ["echo: hello", "echo: other"]


@pytest.mark.behaviour("a2a.parts")
async def test_texts_data_pictures_and_references_reach_the_model(wired: Wired) -> None:
    parts = [
        {"text": "see"},
        {"data": {"a": [1]}},
        {"raw": PICTURE, "mediaType": "image/png"},
        {"raw": PICTURE.rstrip("="), "filename": "a.png"},
        {"url": "https://example.com/b.jpg"},
    ]
    task = await wired.send("", parts=parts)

    data, named = f"data:data:image/png;base64,{PICTURE}", f"data:a.png:data:image/png;base64,{PICTURE}"
    assert answer_of(task) == f'user text:see text:{{"a": [1]}} {data} {named} uri:https://example.com/b.jpg'
    assert task["history"][0]["parts"] == [
        {"text": "see"},
        {"text": '{"a": [1]}'},
        {"raw": PICTURE, "mediaType": "image/png"},
        {"raw": PICTURE, "mediaType": "image/png", "filename": "a.png"},
        {"url": "https://example.com/b.jpg", "mediaType": "image/jpeg"},
    ]


@pytest.mark.behaviour("a2a.parts")
@pytest.mark.behaviour("a2a.artifacts")
async def test_a_client_that_takes_json_alone_or_asks_an_agent_of_a_format_gets_a_value(wired: Wired) -> None:
    """Beside its text; where the answer is none the task has failed."""
    schema = {"type": "object", "properties": {"a": {"type": "array"}}, "required": ["a"]}
    own = {"type": "json_schema", "json_schema": {"name": "own", "schema": schema}}
    more = Wired(None, Agent(ScriptedClient(), name="Formatted", default_options={"response_format": own}))
    json_alone = {"acceptedOutputModes": ["application/json"]}
    tasks = [
        await wired.send('say {"a": [1]}', configuration=json_alone),
        await more.send('say {"a": [1]}', "Formatted"),
    ]
    failed = await wired.send("say no", configuration=json_alone)
    text = await wired.send("say no", configuration={"acceptedOutputModes": ["text/plain", "application/json"]})

    value = {"data": {"a": [1]}, "mediaType": "application/json"}
    assert [task["artifacts"][0]["parts"] for task in tasks] == [[{"text": '{"a": [1]}'}, value]] * 2
    assert failed["status"]["message"]["metadata"] == {"code": "invalid_output"}
    assert answer_of(text) == "no"


@pytest.mark.behaviour("a2a.cancel")
async def test_a_task_is_canceled(wired: Wired) -> None:
    """At work, or while it waits for a person; one that is over is not."""
    working = await wired.send("sleep 60", configuration={"returnImmediately": True})
    waiting = await wired.send("call refund 7", "Clerk")
    canceled = [
        await wired.result("CancelTask", id=working["id"]),
        await wired.result("CancelTask", "Clerk", id=waiting["id"]),
    ]
    await wired.host.entities.idle()

    assert [task["status"]["state"] for task in canceled] == ["TASK_STATE_CANCELED"] * 2
    assert [task["id"] for task in canceled] == [working["id"], waiting["id"]]
    assert await wired.refused("CancelTask", id=working["id"]) == (-32002, "The task is over. Read it with GetTask.")
    assert wired.notes == []


@pytest.mark.behaviour("a2a.list")
async def test_tasks_are_listed_the_newest_change_first(wired: Wired) -> None:
    """By state and by time; artifacts where they are wanted."""
    tasks = [await wired.send(text, contextId="mine") for text in ("one", "fail", "three")]
    listed = await wired.result("ListTasks", contextId="mine", includeArtifacts=True)

    assert listed == {"tasks": tasks[::-1], "nextPageToken": "", "pageSize": 50, "totalSize": 3}
    failed = await wired.result("ListTasks", contextId="mine", status="TASK_STATE_FAILED", historyLength=0)
    assert [(task["id"], "history" in task) for task in failed["tasks"]] == [(tasks[1]["id"], False)]
    since = await wired.result("ListTasks", statusTimestampAfter=tasks[2]["status"]["timestamp"], contextId="mine")
    assert tasks[2]["id"] in [task["id"] for task in since["tasks"]]
    assert (await wired.result("ListTasks", contextId="nothing"))["tasks"] == []


@pytest.mark.behaviour("a2a.list")
async def test_a_page_of_tasks_ends_at_its_bytes(wired: Wired) -> None:
    """However many were asked for; the next one goes on behind it."""
    tasks = [await wired.send(f"{number}".ljust(PAGE_BYTES // 18, "x"), contextId="mine") for number in range(12)]
    found, token, pages = list[str](), "", 0
    while token or not pages:
        page = await wired.result("ListTasks", contextId="mine", includeArtifacts=True, pageToken=token)
        assert len(json.dumps(page)) < PAGE_BYTES + 2000
        token, pages = page["nextPageToken"], pages + 1
        found += [task["id"] for task in page["tasks"]]

    assert (pages, found) == (2, [task["id"] for task in reversed(tasks)])


@pytest.mark.behaviour("a2a.same-run")
async def test_a_run_is_the_same_over_our_own_routes(wired: Wired) -> None:
    """Whichever began it, and whoever answers its approval."""
    task = await wired.send("hello", contextId="mine")
    ours = (await wired.ours("GET", f"Joker/threads/mine/runs/{task['id'].partition('~')[0]}")).json()
    begun = (await wired.ours("POST", "Joker/run", {"message": "ours"})).json()
    shown = await wired.result("GetTask", id=f"{begun['run_id']}~{begun['thread_id']}")
    waits = await wired.send("call refund 7", "Clerk")
    approval = waits["status"]["message"]["parts"][1]["data"]["approvals"][0]["id"]
    place = f"Clerk/threads/{waits['contextId']}/approvals/{approval}"
    answered = (await wired.ours("POST", place, {"approved": True})).json()
    done = await wired.result("GetTask", "Clerk", id=waits["id"])

    assert (ours["response"], ours["message"]) == (answer_of(task), "hello")
    assert (answer_of(shown), shown["history"][0]["parts"]) == (begun["response"], [{"text": "ours"}])
    assert (answer_of(done), done["status"]["state"]) == (answered["response"], "TASK_STATE_COMPLETED")
    assert done["history"][-1]["parts"][0]["data"] == {"approvals": [{"id": approval, "approved": True}]}


@pytest.mark.behaviour("a2a.version")
@pytest.mark.parametrize(("version", "shown"), [("", "absent, which means 0.3"), ("0.3", "'0.3'"), ("99.0", "'99.0'")])
async def test_a_version_other_than_1_0_is_refused(refusing: Wired, version: str, shown: str) -> None:
    refused = await refusing.refused("SendMessage", headers={"A2A-Version": version}, message=message("x"))

    assert refused == (-32009, f"The header A2A-Version is {shown}. Send A2A-Version: 1.0.")


PUSH = "Push notifications are not served. Follow the task with SubscribeToTask."
NO_TASK = "There is no task 'x'. Send a task id of this agent."


@pytest.mark.behaviour("a2a.refused")
@pytest.mark.parametrize(
    ("method", "params", "code", "said"),
    [
        ("GetTask", {"id": "x"}, -32001, NO_TASK),
        ("GetTask", {"id": "a~b"}, -32001, "There is no task 'a~b', or it is older than the log."),
        ("CancelTask", {"id": "x"}, -32001, NO_TASK),
        ("SubscribeToTask", {"id": "x"}, -32001, NO_TASK),
        ("SendMessage", {"message": message("x", taskId="x")}, -32001, NO_TASK),
        ("GetTask", {}, -32602, "The field 'id' is a JSON null. Send a string."),
        ("CreateTaskPushNotificationConfig", {"taskId": "x", "url": "u"}, -32003, PUSH),
        ("GetTaskPushNotificationConfig", {"taskId": "x"}, -32003, PUSH),
        ("ListTaskPushNotificationConfigs", {"taskId": "x"}, -32003, PUSH),
        ("DeleteTaskPushNotificationConfig", {"taskId": "x"}, -32003, PUSH),
        (
            "SendMessage",
            {"message": message("x"), "configuration": {"taskPushNotificationConfig": {"url": "u"}}},
            -32003,
            PUSH,
        ),
        ("GetExtendedAgentCard", {}, -32004, "This agent has no extended card. Read its public card."),
        ("message/send", {}, -32601, "There is no method 'message/send'. Methods: SendMessage,"),
        ("SendMessage", {"message": message("")}, -32602, "message: The message is blank. Say what to ask the agent."),
        ("SendMessage", {}, -32602, "message is a JSON null. Send an object."),
        ("SendMessage", {"message": message("x", role="ROLE_AGENT")}, -32602, "message.role is 'ROLE_AGENT'."),
        ("SendMessage", {"message": message("x", messageId="a b")}, -32602, "message.messageId must be"),
        ("SendMessage", {"message": message("x", parts=[])}, -32602, "message.parts must be a list"),
        ("SendMessage", {"message": message("x", parts=[{}])}, -32602, "message.parts[0] must have one of"),
        ("SendMessage", {"message": message("x", contextId="a b")}, -32602, "Thread id 'a b' is not valid."),
        ("SendMessage", {"message": message("x", metadata=[])}, -32602, "message.metadata must be an object."),
        (
            "SendMessage",
            {"message": message("x"), "configuration": {"acceptedOutputModes": 5}},
            -32602,
            "configuration.acceptedOutputModes must be a list of media types.",
        ),
        (
            "SendMessage",
            {"message": message("x", parts=[{"raw": "eA==", "mediaType": "application/x-unknown"}])},
            -32005,
            "message: contents[0] is application/x-unknown, and the model of this agent takes",
        ),
        ("ListTasks", {"status": "RUNNING"}, -32602, "status is 'RUNNING'. Send one of TASK_STATE_SUBMITTED"),
        ("ListTasks", {"pageSize": 101}, -32602, "pageSize is 101. Send a whole number from 1 to 100."),
        ("ListTasks", {"pageToken": "x"}, -32602, "pageToken is 'x'. Send the nextPageToken of the last page."),
        ("ListTasks", {"historyLength": -1}, -32602, "historyLength is -1."),
        ("ListTasks", {"statusTimestampAfter": "now"}, -32602, "statusTimestampAfter is 'now'."),
    ],
)
async def test_a_request_that_is_refused_says_why(
    refusing: Wired, method: str, params: dict[str, Any], code: int, said: str
) -> None:
    """By the protocol's code, with a reason; HTTP 200, which the official client for Python reads alone."""
    error = (await refusing.rpc(method, **params))["error"]

    assert (error["code"], error["message"][: len(said)]) == (code, said)
    info = error["data"][0]
    assert info["@type"] == "type.googleapis.com/google.rpc.ErrorInfo"
    assert (info["domain"] == "a2a-protocol.org") == (-32100 < code < -32000)


@pytest.mark.behaviour("a2a.refused")
def test_the_page_lists_each_method() -> None:
    """And only those."""
    listed = re.findall(r"^\| `([A-Z]\w+)` \|", PAGE.partition("## Methods")[2].partition("\n## ")[0], re.M)

    assert listed == list(METHODS)
