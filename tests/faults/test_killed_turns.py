"""Turns whose process dies between any two steps: sent again, or asked for by nobody, each is one run with one end."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.faults.app_process import until_dead
from tests.faults.killed_app import CLERK, KILLED, KilledApp, Row, Scenario, each_dies
from tests.support.ag_ui import Events, events_of, folded, text_of, wanted
from tests.support.carriers import Api, run_count
from tests.support.instances import Instances

pytestmark = KILLED

RUN = "/api/agents/Joker/run"
THREAD = "/api/agents/Joker/threads/t"
TURNS = '''
import azure.functions as func

from hosting.orchestrations import ENGINE
from tests.faults.deaths import dying
from tests.support.app.scripted import scripted_agent
from tests.support.deliveries import Out, queued


class Told:
    """A callback that notes what it is told; its process may die around that."""

    async def on_agent_response(self, response, context):
        await dying({"told"}, lambda: told(f"{context.run_id} {response.text}"))

    async def on_agent_failure(self, error, context):
        await told(f"{context.run_id} {error.code}")


async def told(line):
    note(f"told {line}")


class IndexedApp(AgentFunctionApp):
    """The app, whose triggered function can be called here as the host calls it."""

    def get_functions(self):
        functions = super().get_functions()
        self.handlers = {each.get_function_name(): each.get_user_function() for each in functions}
        return functions


app = IndexedApp(agents=[scripted_agent("Joker")], wires=["ag-ui"], default_callback=Told())


async def end(run):
    async def answer():
        return f"{run.run_id} {run.response}"

    return await dying({"end"}, answer)


@app.agent_trigger("Joker", on_end=end)
@app.queue_trigger(arg_name="message", queue_name="inbox", connection="AzureWebJobsStorage")
@app.queue_output(arg_name="answers", queue_name="answers", connection="AzureWebJobsStorage")
def inbox(message: func.QueueMessage) -> None:
    pass


@app.route(route="deliver", methods=["POST"])
async def deliver(req: func.HttpRequest) -> func.HttpResponse:
    answers = Out()
    message = queued(req.get_body().decode(), tries=int(req.params["tries"]))
    await app.handlers["inbox"](message=message, answers=answers, agentsClient=ENGINE.get().client.sdk)

    async def write():
        note(f"output {answers.values[0]}")

    await dying({"output"}, write)
    return func.HttpResponse(answers.values[0])
'''
AROUND_A_TURN = tuple(f"{side} {step}" for side in ("after", "before") for step in ("1", "signal 1", "2"))
ENGINE = tuple(
    f"engine {point}:{nth}"
    for nth in (1, 2)
    for point in ("before-commit", "before-entity", "after-entity", "inside-commit", "after-commit")
)


def places_of(entries: list[Any]) -> list[str]:
    """Return the runs of a conversation in order; fails unless each is a request and its response, once."""
    assert [entry["$type"] for entry in entries] == ["request", "response"] * (len(entries) // 2)
    runs = [entry["correlationId"] for entry in entries]
    assert runs[::2] == runs[1::2]
    return runs[::2]


async def be_named(app: KilledApp, api: Api) -> None:
    app.known["first"] = (await api.ask("my name is Ada", thread_id="t")).json()
    await api.entries("t")


async def ask_and_leave(app: KilledApp, api: Api) -> None:
    answer = await api.ask("sleep 0.1", thread_id="t", wait_for_response=False)
    app.known["place"] = httpx.URL(answer.headers["location"]).path


async def the_run_has_finished(app: KilledApp, api: Api) -> None:
    """Its Location answers, it has one place in the conversation, and what was before it is remembered."""
    first, place = app.known["first"], app.known["place"]
    ended = await api.ended(place)

    assert (ended["status"], ended["response"]) == ("success", "echo: sleep 0.1")
    assert (await api.http.get(f"{THREAD}/runs/{first['run_id']}")).json() == first
    assert places_of(await api.entries("t", turns=2)) == [first["run_id"], place.rpartition("/")[2]]
    assert (await api.ask("recall", thread_id="t")).json()["response"] == "my name is Ada | sleep 0.1 | recall"
    assert app.model_calls("sleep 0.1") == 2


async def ask_twice(app: KilledApp, api: Api) -> list[Any]:
    """Take two turns, each under a key of its own."""
    bodies = [{"message": word, "thread_id": "t"} for word in ("one", "two")]
    keys = [{"idempotency-key": f"key-{body['message']}"} for body in bodies]
    return [(await api.http.post(RUN, json=body, headers=key)).json() for body, key in zip(bodies, keys, strict=True)]


async def both_turns_stand_once(app: KilledApp, api: Api) -> None:
    """Each is answered, in order; a model whose answer was recorded is not asked again."""
    answers = await ask_twice(app, api)

    assert [answer["response"] for answer in answers] == ["echo: one", "echo: two"]
    assert places_of(await api.entries("t", turns=2)) == [answer["run_id"] for answer in answers]
    if app.known["point"] == "engine after-entity:1":
        assert (app.model_calls("one"), app.model_calls("two")) == (1, 1)


async def send(app: KilledApp, api: Api, message: str = "hi") -> httpx.Response:
    """Send a request under the one key; no thread is named."""
    return await api.http.post(RUN, json={"message": message}, headers={"idempotency-key": "key"})


async def the_key_has_one_run(app: KilledApp, api: Api) -> None:
    """Eight at once attach to it or replay it; it has one place in the thread that the first request was given."""
    answers = await asyncio.gather(*(send(app, api) for _ in range(8)))
    other = await send(app, api, "something else")
    runs = {answer.json()["run_id"] for answer in answers}
    begun = [answer for answer in answers if "idempotency-replayed" not in answer.headers]

    assert {(answer.status_code, answer.json()["response"]) for answer in answers} == {(200, "echo: hi")}
    assert (len(runs), len(begun)) == (1, app.known["point"] == "before 1")
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_key_reused")
    assert {*places_of(await api.entries(answers[0].json()["thread_id"]))} == runs
    assert await api.threads() == {answers[0].json()["thread_id"]}
    assert run_count(api.log) == api.log.exists()


WORDS = [f"word-{number}" for number in range(5)]


async def send_batch(app: KilledApp, api: Api) -> httpx.Response:
    body = {"requests": [{"message": word} for word in WORDS]}
    return await api.http.post("/api/agents/Joker/runs/batch", json=body, headers={"idempotency-key": "key"})


async def the_batch_has_each_run_once(app: KilledApp, api: Api) -> None:
    """Those that ended are replayed, that of the crash goes on, and the rest begin; a third time all are replayed."""
    again, third = [(await send_batch(app, api)).json()["results"] for _ in range(2)]

    assert [result["body"].get("response") for result in again] == [f"echo: {word}" for word in WORDS]
    assert [result["run_id"] for result in again] == [result["run_id"] for result in third]
    assert len({result["run_id"] for result in again}) == len(WORDS)
    assert [app.model_calls(word) for word in WORDS] == [1, 1, 1 + (app.known["point"] == "before 6"), 1, 1]
    assert "idempotency-replayed" not in again[-1]["headers"]
    assert all("idempotency-replayed" in result["headers"] for result in third)


async def deliver(app: KilledApp, api: Api, tries: int = 1) -> httpx.Response:
    return await api.http.post("/api/deliver", params={"tries": tries}, content="hi")


async def the_delivery_has_one_run(app: KilledApp, api: Api) -> None:
    """Its answer is written at least once, each time with the id of the one run, also where eight come at once."""
    answers = await asyncio.gather(*(deliver(app, api, tries) for tries in range(2, 10)))

    texts = {answer.text for answer in answers}
    outputs = {line.removeprefix("output ") for line in app.said if line.startswith("output")}
    assert ({answer.status_code for answer in answers}, len(texts), outputs) == ({200}, 1, texts)
    assert texts.pop().endswith(" echo: hi")
    assert (run_count(api.log), len(await api.threads())) == (api.log.exists(), 1)


async def leave_a_run(app: KilledApp, api: Api) -> None:
    await api.ask("say hello", thread_id="t", wait_for_response=False)


def told(app: KilledApp) -> list[str]:
    """Return what the callback was told, in all processes."""
    return [line.removeprefix("told ") for line in app.said if line.startswith("told")]


async def the_callback_is_told(app: KilledApp, api: Api) -> None:
    """Nobody asks for the run; it is told more than once at most by the kill, with the same run id."""
    times = 2 if app.known["point"] == "after told 1" else 1
    lines = await app.until(lambda: len(told(app)) >= times and told(app))

    assert {line.partition(" ")[2] for line in lines} == {"hello"}
    assert (len(set(lines)), len(lines) <= 2) == (1, True)


SHORT_TURNS = 10


async def take_turns(app: KilledApp, api: Api) -> list[str]:
    """Take ten turns under keys, each once the one before it is stored: each may move something to the archive."""
    runs = []
    for number in range(SHORT_TURNS):
        body = {"message": f"m{number} ".ljust(120, "."), "thread_id": "t"}
        answer = await api.http.post(RUN, json=body, headers={"idempotency-key": f"key-{number}"})
        runs.append(str(answer.json()["run_id"]))
        while runs[-1] not in (await api.state("t") or "") and "stored" not in app.known:  # noqa: ASYNC110
            await asyncio.sleep(0.01)  # another process stores it
    return runs


async def the_archive_lost_and_doubled_nothing(app: KilledApp, api: Api) -> None:
    app.known["stored"] = True
    runs = await take_turns(app, api)
    await api.entries("t", turns=1)
    page = (await api.http.get(f"{THREAD}/messages", params={"limit": 200})).json()
    recalled = (await api.ask("recall", thread_id="t")).json()["response"]
    thread = (await api.http.get(THREAD)).json()

    assert [entry["run_id"] for entry in page["entries"]] == [run for run in runs for _ in range(2)]
    assert [entry["position"] for entry in page["entries"]] == list(range(1, 2 * SHORT_TURNS + 1))
    assert recalled.split(" | ")[-2].startswith(f"m{SHORT_TURNS - 1} ")
    assert (thread["message_count"] >= 2 * SHORT_TURNS, thread["size_bytes"] < 6000) == (True, True)


async def spoken(app: KilledApp, api: Api) -> None:
    """Take two turns as a page does that drops the last answer."""
    first = wanted("one", run="r-1")
    messages = folded(await asked_again(api, first), first["messages"])
    second = wanted(*messages, {"id": "u", "role": "user", "content": "recall"}, run="r-2")
    app.known["again"] = wanted(*folded(await asked_again(api, second), second["messages"])[:-1], run="r-3")
    app.known["stored"] = await stored(api)


async def asked_again(api: Api, fields: dict[str, Any]) -> Events:
    return events_of((await api.http.post("/api/ag-ui/Joker", json=fields)).text)


async def stored(api: Api) -> list[str]:
    """Return what the thread's entries say."""
    entries = (await api.http.get(f"{THREAD}/messages")).json()["entries"]
    contents = [content for entry in entries for message in entry["messages"] for content in message["contents"]]
    return [content["text"] for content in contents if "text" in content]


async def ask_again(app: KilledApp, api: Api) -> Events:
    return await asked_again(api, app.known["again"])


async def the_message_was_taken_back_once(app: KilledApp, api: Api) -> None:
    """The same request gives the same answer again."""
    pages = [folded(await ask_again(app, api), app.known["again"]["messages"]) for _ in range(2)]
    after = await stored(api)
    on = await asked_again(api, wanted(*pages[0], {"id": "v", "role": "user", "content": "count"}, run="r-4"))

    assert pages[0] == pages[1]
    assert [message["content"] for message in pages[0]] == after == app.known["stored"]
    assert after == ["one", "echo: one", "recall", "one | recall"]
    assert text_of(on) == "5"


@each_dies(
    Scenario("run", TURNS, ["before completed 1"], ask_and_leave, the_run_has_finished, be_named).rows(
        pytest.mark.behaviour("turn.survives-kill"), gate=[("before completed 1", kind) for kind in ("tables", "redis")]
    ),
    Scenario("engine", TURNS, ENGINE, ask_twice, both_turns_stand_once).rows(
        pytest.mark.behaviour("turn.survives-kill-at-every-point"),
        pytest.mark.behaviour("turn.terminal-record-wins"),
        gate=[("engine after-entity:1", "sqlite")],
    ),
    Scenario("key", TURNS, AROUND_A_TURN, send, the_key_has_one_run).rows(
        pytest.mark.behaviour("http.idempotent-after-crash")
    ),
    Scenario(
        "batch",
        TURNS,
        ["before 6", "after 2", "before 5", "after 5", "after signal 3", "after 6"],
        send_batch,
        the_batch_has_each_run_once,
        environ={"AGENT_BATCH_RUNS": "1"},
    ).rows(pytest.mark.behaviour("batch.once")),
    Scenario(
        "trigger",
        TURNS,
        ["before output 1", *AROUND_A_TURN, "after end 1", "before end 1", "after output 1"],
        deliver,
        the_delivery_has_one_run,
    ).rows(pytest.mark.behaviour("triggers.after-crash")),
    Scenario(
        "callback",
        TURNS,
        [
            "after told 1",
            "before told 1",
            "engine after-entity:1",
            *(f"engine {side}-entity:2" for side in ("before", "after")),
            *(f"engine {side}-commit:{nth}" for nth in (2, 3) for side in ("before", "inside", "after")),
        ],
        leave_a_run,
        the_callback_is_told,
    ).rows(pytest.mark.behaviour("callbacks.at-least-once")),
    Scenario(
        "archive",
        TURNS,
        [
            *(f"{side} archive.put {nth}" for nth in (1, 2) for side in ("after", "before")),
            *(f"engine {at}:{nth}" for nth in (5, 6) for at in ("after-entity", "before-commit", "inside-commit")),
        ],
        take_turns,
        the_archive_lost_and_doubled_nothing,
        environ={"AGENT_RECENT_BYTES": "2048"},
    ).rows(pytest.mark.behaviour("archive.survives-kill")),
    Scenario(
        "asked again",
        TURNS,
        [f"{side} log.append {nth} | thread_id='t'" for nth in (1, 2, 3) for side in ("after", "before")],
        ask_again,
        the_message_was_taken_back_once,
        spoken,
    ).rows(pytest.mark.behaviour("ag-ui.asked-again-killed")),
)
async def test_a_turn_whose_process_dies_is_one_run_with_one_end(row: Row) -> None:
    """Whoever comes next finds what was done, and does the rest."""
    await row.dies_and_ends()


@pytest.mark.behaviour("turn.crashing-message-ends")
@pytest.mark.behaviour("callbacks.at-least-once")
async def test_a_message_that_kills_its_process_three_times_is_given_up_and_the_thread_goes_on(
    tmp_path: Path, stores: dict[str, str]
) -> None:
    """The run ends `run_crashed`, of which its callback is told; what killed is not sent to the model again."""
    app = KilledApp(tmp_path, stores, TURNS)
    async with app.running() as api:
        await api.ask("before", thread_id="t")
        answer = await api.ask("exit 0.3", thread_id="t", wait_for_response=False)
        assert await until_dead(app.host) == 9
    for _ in range(2):
        async with app.running():
            assert await until_dead(app.host) == 9

    async with app.running() as api:
        ended = await api.ended(httpx.URL(answer.headers["location"]).path)
        after = await api.ask("recall", thread_id="t")
        await app.until(lambda: told(app)[-1].endswith(" run_crashed") or told(app)[-2].endswith(" run_crashed"))

    assert (ended["status"], ended["error"]["code"]) == ("failed", "run_crashed")
    assert ended["error"]["detail"] == "The run ended its process 3 times and is not retried."
    assert after.json()["response"] == "before | recall"
    assert app.model_calls("exit 0.3") == 3


CHARGING = """
@app.orchestration_trigger(context_name="context")
def charge_twice(context):
    clerk = app.get_agent(context, "Clerk")
    session = clerk.create_session()
    for charge in ("one", "two"):
        yield clerk.run(f"call look {context.get_input()}-{charge}", session=session)
    return session.session_id
"""


async def charge(app: KilledApp, api: Api) -> None:
    await Instances(api.http).start("charge_twice", "a", "killed")


async def each_charge_was_made_once(app: KilledApp, api: Api) -> None:
    """The clerk's tool is not idempotent, and the outside counts what it did."""
    status, thread = await Instances(api.http).ended("killed")
    kept = (await api.http.get(f"/api/agents/Clerk/threads/{thread}/messages")).json()
    threads = (await api.http.get("/api/agents/Clerk/threads")).json()["threads"]

    assert (status, sorted(app.said)) == ("Completed", ["look a-one", "look a-two"])
    assert [each["thread_id"] for each in threads] == [thread]
    assert [entry["type"] for entry in kept["entries"]] == ["request", "response"] * 2


@each_dies(
    Scenario(
        "orchestration",
        CLERK + CHARGING,
        [
            *(f"engine {side}-orchestrator:{nth}" for side in ("before", "after") for nth in (2, 3)),
            *(f"engine {side}-entity:{nth}" for side in ("before", "after") for nth in (1, 2)),
            *(f"engine {side}-commit:{nth}" for side in ("before", "inside", "after") for nth in (3, 5)),
        ],
        charge,
        each_charge_was_made_once,
    ).rows(
        pytest.mark.behaviour("orchestrations.once"),
        gate=[(f"engine after-{step}:2", "sqlite") for step in ("orchestrator", "entity")],
    ),
)
async def test_an_orchestration_whose_process_dies_asks_each_agent_once(row: Row) -> None:
    """No recorded answer is asked for again."""
    await row.dies_and_ends()
