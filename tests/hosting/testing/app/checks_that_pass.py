"""Tests of the app that pass: what the fixtures of the plugin do, in whichever process the app runs."""

from datetime import datetime, timedelta

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


def test_an_answer_may_call_several_tools_at_once(ask, model, agent_app, ledger):
    model.says("One moment.").also_calls("refund", order="A-17").also_calls("refund", order="B-4").says("Both.")
    assert ask("Pay both", agent="clerk").text == "One moment.\n\nBoth."
    assert sorted(call.arguments for call in agent_app.tool_calls) == ['{"order": "A-17"}', '{"order": "B-4"}']
    assert len({call.call for call in agent_app.tool_calls}) == 2
    assert sorted(line.split()[0] for line in ledger.read_text(encoding="utf-8").splitlines()) == ["A-17", "B-4"]
    with pytest.raises(ValueError, match="write that before"):
        model.fails().also_calls("refund", order="C-1")


def test_a_slow_model_takes_its_time(ask, model, agent_app):
    model.is_slow(0.4).says("Late.")
    answer = ask("a", agent="clerk")
    (run,) = agent_app.read(f"agents/clerk/threads/{answer.thread_id}/runs")["runs"]
    began, ended = (datetime.fromisoformat(run[name]) for name in ("created_at", "ended_at"))
    assert answer.text == "Late."
    assert ended >= began + timedelta(seconds=0.4)


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


def test_a_stream_has_the_pieces_of_the_script(stream, model):
    model.says("Word ", "by piece", ".").says("A whole text.", "")
    pieces = [fields["text"] for name, fields in stream("a", agent="clerk").events if name == "delta"]
    ends = {"".join(pieces[:number]) for number in range(len(pieces) + 1)}
    assert "".join(pieces) == "Word by piece."
    assert ends <= {"", "Word ", "Word by piece", "Word by piece."}
    assert stream("b", agent="clerk").answer.text == "A whole text."


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


def test_a_question_that_nobody_answers_goes_on_by_its_default(ask, model, agent_app, clock, ledger):
    model.calls("ship", order="A-17").says("Shipped.")
    waiting = ask("Ship", agent="shipper")
    assert [question["question"] for question in waiting.pending_approvals] == ["Where does it go?"]
    clock.advance(hours=2)
    assert agent_app.goes_on(waiting).text == "Shipped."
    assert ledger.read_text(encoding="utf-8") == "A-17 to the depot\n"


def test_a_decision_that_comes_too_late_is_refused(ask, approve, model, clock, agent_app):
    model.calls("delete", order="A-17")
    waiting = ask("Delete", agent="clerk")
    clock.advance(days=8)
    with pytest.raises(RemoteAgentError) as late:
        approve(waiting)
    assert late.value.code == "approval_expired"
    assert agent_app.tool_calls == []


def test_a_schedule_runs_when_its_time_has_come(model, clock, agent_app):
    model.says("Good morning.")
    wanted = {"at": (clock.now + timedelta(days=1)).isoformat(), "message": "Wake up"}
    path = f"agents/clerk/schedules/{agent_app.send('POST', 'agents/clerk/schedules', wanted)['schedule_id']}"
    assert agent_app.read(path)["last_run"] is None
    clock.advance(days=1)
    begun = agent_app.until(path, lambda schedule: schedule["last_run"] is not None)["last_run"]
    where = f"agents/clerk/threads/{begun['thread_id']}/runs/{begun['run_id']}"
    assert agent_app.until(where, lambda run: run["status"] == "success")["response"] == "Good morning."


def test_a_thread_is_forgotten_when_its_time_is_over(ask, model, clock, agent_app):
    model.says("Hello.")
    ask("a", agent="forgetful", thread="t1")
    assert agent_app.read("agents/forgetful/threads/t1")["message_count"] == 2
    clock.advance(days=3)
    agent_app.until("agents/forgetful/threads", lambda listed: listed["threads"] == [])
    with pytest.raises(RemoteAgentError) as gone:
        agent_app.read("agents/forgetful/threads/t1")
    assert gone.value.status == 404


def test_time_goes_forward_only(clock):
    before = clock.now
    clock.advance(minutes=1, seconds=30)
    assert clock.now - before >= timedelta(seconds=90)
    with pytest.raises(ValueError, match="only goes forward"):
        clock.advance(hours=-1)
