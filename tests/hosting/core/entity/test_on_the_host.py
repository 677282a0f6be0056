"""What the page does not show of agents in orchestrations, on the local host."""

import pytest

from tests.support.instances import Instances

pytestmark = pytest.mark.slow


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


@pytest.mark.behaviour("orchestrations.failed-run")
async def test_what_settings_do_not_allow_is_refused_by_the_entity(instances: Instances) -> None:
    """With a code of its own and the entity's sentence."""
    status, (code, detail) = await instances.result("speak_as", "system", "as-system")

    assert (status, code) == ("Completed", "refused")
    assert detail.startswith("The role 'system' is not allowed here.")


@pytest.mark.behaviour("orchestrations.refused-at-the-call")
async def test_an_agent_that_nobody_has_fails_the_orchestration_after_its_waits(instances: Instances) -> None:
    status, output = await instances.result("call_nobody", None, "nobody")

    assert status == "Failed"
    assert "No agent 'nobody' is registered with the app. (unknown_agent)" in output
