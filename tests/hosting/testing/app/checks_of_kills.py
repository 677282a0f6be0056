"""Tests of the app that kill its process, and pass."""

import pytest

from hosting.client.connection import RemoteAgentError


@pytest.fixture
def agent_app_in_process():
    return False


def test_a_killed_app_is_back_with_its_threads(ask, agent_app):
    ask("My name is Ada.", agent="clerk", thread="kept")
    agent_app.kill()
    assert ask("What is my name?", agent="clerk", thread="kept").text == "Your name is Ada."


def test_time_does_not_go_back_by_a_kill(ask, model, agent_app, clock, ledger):
    model.calls("ship", order="A-17").says("Shipped.")
    waiting = ask("Ship", agent="shipper")
    clock.advance(hours=1)
    agent_app.kill()
    clock.advance(hours=1)
    assert agent_app.goes_on(waiting).text == "Shipped."
    assert ledger.read_text(encoding="utf-8") == "A-17 to the depot\n"


@pytest.mark.killed_at("each step")
def test_a_safe_tool_pays_once(ask, model, ledger):
    model.calls("refund", order="A-17").says("Done.")
    assert ask("Pay", agent="clerk").text == "Done."
    assert [line.split()[0] for line in ledger.read_text(encoding="utf-8").splitlines()] == ["A-17"]


@pytest.mark.killed_at("before the decision was recorded")
def test_a_decision_that_was_lost_is_sent_again(ask, approve, model, agent_app):
    model.calls("delete", order="A-17").says("Deleted.")
    assert approve(ask("Delete", agent="clerk")).text == "Deleted."
    assert [call.tool for call in agent_app.tool_calls] == ["delete"]


@pytest.mark.parametrize("order", ["A-17"])
@pytest.mark.killed_at("after the call of 'transfer' was recorded")
def test_a_tool_that_may_not_be_called_again_ends_its_run(ask, model, order, request):
    model.calls("transfer", order=order).says("Sent.")
    if "killed" not in request.node.name:
        assert ask("Send", agent="banker").text == "Sent."
        return
    with pytest.raises(RemoteAgentError) as ended:
        ask("Send", agent="banker")
    assert ended.value.code == "run_interrupted"
