"""The orchestrations of docs/guides/orchestrations.md, on the local host."""

import asyncio
from pathlib import Path

import httpx
import pytest

from tests.support.canary import gone, holds
from tests.support.instances import GUARD_SECONDS, HOOKS, Instances
from tests.support.orchestrations_app import make_page_app
from tests.support.running_host import RunningHost

pytestmark = pytest.mark.slow


@pytest.mark.behaviour("orchestrations.conversation")
async def test_runs_with_one_session_are_one_conversation(instances: Instances) -> None:
    """The second run's model sees the first; the thread is found over HTTP under the session's id."""
    status, output = await instances.result("draft_and_shorten", "a poem", "chain")

    thread = await instances.http.get(f"/api/agents/writer/threads/{output['session_id']}/messages")
    assert (status, output["text"]) == ("Completed", "echo: Shorten this: echo: a poem")
    assert [entry["type"] for entry in thread.json()["entries"]] == ["request", "response"] * 2


@pytest.mark.behaviour("orchestrations.fan-out")
async def test_runs_yielded_together_are_asked_before_either_answers_and_answer_in_order(instances: Instances) -> None:
    ended = await instances.result("ask_both", "what now?", "both")

    messages = [kind for kind in await instances.history("both") if kind in ("EventSent", "EventRaised")]
    assert ended == ("Completed", ["echo: what now?"] * 2)
    assert messages == ["EventSent"] * 2 + ["EventRaised"] * 2


@pytest.mark.behaviour("orchestrations.person")
@pytest.mark.parametrize(("approved", "output"), [(True, "echo: news"), (False, "rejected")])
async def test_a_persons_answer_ends_the_wait(instances: Instances, approved: bool, output: str) -> None:
    """Three days are not waited for: the timer is cancelled."""
    name = f"publish-{approved}"
    await instances.start("publish", {"topic": "news", "hours": 72}, name)
    await instances.waits(name, "TimerCreated")
    await instances.tell(name, "Approval", approved)

    assert await instances.ended(name) == ("Completed", output)


@pytest.mark.behaviour("orchestrations.person")
@pytest.mark.behaviour("orchestrations.structured")
@pytest.mark.behaviour("orchestrations.failed-run")
@pytest.mark.parametrize(
    ("name", "given", "output"),
    [
        ("publish", {"topic": "news", "hours": 0.2 / 3600}, "nobody answered"),
        ("judge_mail", 'say {"is_spam": true, "reason": "lottery"}', "dropped: lottery"),
        ("judge_mail", 'say {"is_spam": false, "reason": "lottery"}', "echo: Answer this mail."),
        ("with_a_substitute", "fail", "writer failed: run_failed"),
    ],
    ids=["timer", "spam", "mail", "caught"],
)
async def test_a_timer_a_value_or_a_failed_run_that_is_caught_decides(
    instances: Instances, name: str, given: object, output: str, request: pytest.FixtureRequest
) -> None:
    instance_id = f"decided-{request.node.callspec.id}"

    assert await instances.result(name, given, instance_id) == ("Completed", output)


@pytest.mark.behaviour("orchestrations.failed-run")
async def test_a_failed_run_left_alone_fails_the_orchestration_and_names_agent_run_and_cause(
    instances: Instances,
) -> None:
    """The run is found under its id; on the local host the cause is in the output, on Azure it is not."""
    status, output = await instances.result("draft_and_shorten", "fail", "left-alone")

    assert status == "Failed"
    assert "Agent 'writer', run " in output
    assert "(run_failed)" in output
    assert "The log has more at run" in output  # as on the local host, for its developer


@pytest.mark.behaviour("orchestrations.conversation")
async def test_a_session_of_an_id_goes_on_with_that_thread_and_a_run_without_one_is_alone(instances: Instances) -> None:
    """What was said over HTTP is remembered; an agent's name is read without case."""
    await instances.http.post("/api/agents/writer/run", json={"message": "hello", "thread_id": "t-1"})

    ended = await instances.result("remember", "t-1", "remember")

    assert ended == ("Completed", ["hello | my name is Ada | recall", "recall"])


@pytest.mark.behaviour("orchestrations.response")
@pytest.mark.behaviour("orchestrations.run-id")
async def test_a_run_gives_the_frameworks_response_and_is_found_over_http(instances: Instances) -> None:
    """The ids are those of the last replay, and the first one's run has them."""
    status, received = await instances.result("tell_all", None, "tell-all")

    ids = received.pop("ids")
    run = await instances.http.get(f"/api/agents/writer/threads/{ids['thread_id']}/runs/{ids['run_id']}")
    usage = {"input_token_count": 3, "output_token_count": 4, "total_token_count": 7}
    assert status == "Completed"
    assert received == {"kind": "AgentResponse", "text": "[1, 2]", "value": [1, 2], "usage": usage}
    assert (run.json()["status"], run.json()["response"]) == ("success", "[1, 2]")


THREAD = "/api/agents/writer/threads"
CANARY = "canary-of-the-carried"


async def outcomes(instances: Instances, thread_id: str) -> dict[str, str]:
    """Delete a thread, and return what the receipt says of its instances."""
    place = f"{THREAD}/{thread_id}"
    assert (await instances.http.delete(place)).status_code == 204
    receipt = (await instances.http.get(f"{place}/erasure")).json()
    return {instance["id"]: instance["outcome"] for instance in receipt["instances"]}


@pytest.mark.behaviour("erasure.instances")
async def test_finished_orchestrations_go_with_the_thread_and_others_stay(instances: Instances) -> None:
    """Those that called the agent on this thread, and the thread's own entity; no other."""
    for name, thread_id in (("carried", "t-erased"), ("bystander", "t-kept")):
        await instances.result("carry", {"thread_id": thread_id, "text": CANARY, "waits": False}, name)

    received = await outcomes(instances, "t-erased")

    assert received == {"carried": "deleted", "@dafx-writer@t-erased": "deleted"}
    assert (await instances.http.get(f"{HOOKS}/instances/carried")).status_code == 404
    assert (await instances.ended("bystander"))[0] == "Completed"


@pytest.mark.behaviour("erasure.instances")
async def test_an_orchestration_that_runs_is_listed_and_deleted_once_it_has_ended(instances: Instances) -> None:
    """It is left alone, and goes when somebody deletes the thread again."""
    await instances.start("carry", {"thread_id": "t-waits", "text": "hi", "waits": True}, "waiting")
    await instances.waits("waiting", "EventRaised")

    before = await outcomes(instances, "t-waits")
    await instances.tell("waiting", "go", "now")
    ended = await instances.ended("waiting")
    after = await outcomes(instances, "t-waits")

    assert (before["waiting"], ended, after["waiting"]) == ("running", ("Completed", "echo: hi"), "deleted")


@pytest.mark.behaviour("erasure.nothing-is-left")
async def test_what_an_orchestration_carried_is_in_no_file_of_the_local_host(tmp_path: Path) -> None:
    """History, inputs, outputs, queues, logs; freed pages and write-ahead logs included."""
    folder = make_page_app(tmp_path)
    with RunningHost(folder) as host:
        async with httpx.AsyncClient(base_url=host.origin, timeout=GUARD_SECONDS) as http:
            instances = Instances(http)
            await instances.result("carry", {"thread_id": "t", "text": CANARY, "waits": False}, "carried")
            assert holds(folder, CANARY.encode())

            await outcomes(instances, "t")

            await asyncio.wait_for(gone(folder, CANARY.encode()), GUARD_SECONDS)
