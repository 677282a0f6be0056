"""Tests of the app that pass: what the fixtures of the plugin do."""

import pytest

from hosting.client.connection import RemoteAgentError


def test_the_model_says_what_the_test_wrote_in_its_order(ask, model):
    model.says("One.").says("Two.")
    assert [ask("a", agent="clerk", thread="t1").text, ask("b", agent="clerk", thread="t1").text] == ["One.", "Two."]


def test_each_agent_may_have_answers_of_its_own(ask, model):
    model.of("cashier").says("From the cashier.")
    model.says("From anybody.")
    assert ask("a", agent="clerk").text == "From anybody."
    assert ask("a", agent="cashier").text == "From the cashier."


def test_a_tool_is_called_with_the_arguments_of_the_script(ask, model, agent_app):
    model.calls("refund", order="A-17").says("Done.")
    assert ask("Pay", agent="clerk").text == "Done."
    (call,) = agent_app.tool_calls
    assert (call.tool, call.arguments, call.is_idempotent) == ("refund", '{"order": "A-17"}', True)


def test_a_failed_call_of_the_model_fails_the_run_or_is_followed_by_the_next_answer(ask, model):
    model.fails("no such model").is_slow(0.05).fails().says("Here.")
    with pytest.raises(RemoteAgentError) as failed:
        ask("a", agent="clerk")
    assert failed.value.code == "run_failed"
    assert ask("a", agent="patient").text == "Here."


def test_a_stream_has_the_text_as_events(stream, model):
    model.says("Word by word.")
    streamed = stream("a", agent="clerk")
    assert streamed.answer.text == "Word by word."
    assert "".join(fields["text"] for name, fields in streamed.events if name == "delta") == "Word by word."


def test_a_person_decides(ask, approve, model, agent_app):
    model.calls("delete", order="A-17").says("Deleted.").calls("delete", order="B-4").says("It stays.")
    waiting = ask("Delete A-17", agent="clerk")
    assert [call["tool"] for call in waiting.pending_approvals] == ["delete"]
    assert approve(waiting).text == "Deleted."
    refused = approve(ask("Delete B-4", agent="clerk"), approved=False, reason="Not this one.")
    assert refused.text == "It stays."
    assert [call.arguments for call in agent_app.tool_calls] == ['{"order": "A-17"}']
    with pytest.raises(ValueError, match="waits for no person"):
        approve(refused)


def test_without_a_script_the_own_model_of_the_app_answers(ask):
    assert ask("My name is Ada.", agent="clerk").text == "Nice to meet you, Ada. Ask me for your name at any time."


def test_a_killed_app_is_back_with_its_threads(ask, agent_app):
    ask("My name is Ada.", agent="clerk", thread="kept")
    agent_app.kill()
    assert ask("What is my name?", agent="clerk", thread="kept").text == "Your name is Ada."


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
