"""The orchestrations of docs/guides/orchestrations.md, on the local host."""

import json
import re

import pytest

from tests.support.instances import Instances

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


@pytest.mark.behaviour("orchestrations.structured")
@pytest.mark.parametrize(("is_spam", "output"), [(True, "dropped: lottery"), (False, "echo: Answer this mail.")])
async def test_the_value_of_an_answer_decides(instances: Instances, is_spam: bool, output: str) -> None:
    mail = "say " + json.dumps({"is_spam": is_spam, "reason": "lottery"})

    assert await instances.result("judge_mail", mail, f"judge-{is_spam}") == ("Completed", output)


@pytest.mark.behaviour("orchestrations.structured")
async def test_an_answer_that_does_not_fit_fails_the_orchestration(instances: Instances) -> None:
    status, output = await instances.result("judge_mail", "say no json", "judge-unfit")

    assert status == "Failed"
    assert "Agent 'critic'" in output
    assert "(invalid_output)" in output


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
async def test_when_nobody_answers_the_timer_does(instances: Instances) -> None:
    order = {"topic": "news", "hours": 0.2 / 3600}

    assert await instances.result("publish", order, "publish-late") == ("Completed", "nobody answered")


@pytest.mark.behaviour("orchestrations.failed-run")
async def test_a_failed_run_can_be_caught(instances: Instances) -> None:
    ended = await instances.result("with_a_substitute", "fail", "substitute")

    assert ended == ("Completed", "writer failed: run_failed")


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


@pytest.mark.behaviour("retry.inside-the-run")
async def test_an_orchestration_that_insists_tries_a_failed_run_again(instances: Instances) -> None:
    """Two attempts more, as the run's record tells, and one run that failed."""
    ended, output = await instances.result("insist", "fail", "insist")
    run_id, thread_id = re.findall(r"run (\w+) on thread (\w+)", output)[0]
    kept = await instances.http.get(f"/api/agents/writer/threads/{thread_id}/export")

    assert ended == "Failed"
    assert [(run["accepted"]["run_id"], run["attempts"]) for run in kept.json()["runs"]] == [(run_id, 3)]
