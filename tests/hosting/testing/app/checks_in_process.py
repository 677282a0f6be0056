"""Tests of an app in their own process: what only such tests can do, and what they cannot."""

import os

import pytest

from hosting.testing.local_app import LocalAppError


def test_a_test_may_replace_what_the_app_uses(ask, model, agent_app, monkeypatch):
    booked = []
    agent_app.url
    monkeypatch.setattr("function_app.booked", booked.append)
    model.calls("transfer", order="A-17").says("Sent.")
    assert ask("Send", agent="banker").text == "Sent."
    assert booked == ["A-17"]


def test_the_variables_of_the_app_are_those_of_its_tests_alone(ask, model, agent_app, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "a key")
    before = dict(os.environ)
    model.says("Hello.")
    assert ask("a", agent="clerk").text == "Hello."
    assert "OPENAI_API_KEY" not in os.environ
    assert os.environ["AGENT_LOG"] == "sqlite"
    agent_app.leave(has_failed=False)
    assert dict(os.environ) == before


def test_the_process_of_the_tests_is_not_killed(agent_app):
    with pytest.raises(LocalAppError, match="Mark the test killed_at"):
        agent_app.kill()


@pytest.mark.parametrize("ledger_file", ["first", "second"], indirect=True)
def test_other_settings_are_another_app(ask, model, ledger_file, agent_app_settings):
    model.calls("transfer", order="A-17").says("Sent.")
    assert ask("Send", agent="banker", thread="t1").text == "Sent."
    assert ledger_file.read_text(encoding="utf-8") == "A-17\n"


@pytest.mark.killed_at("after the call of 'refund' was recorded")
def test_a_marked_test_has_a_process_that_is_killed(ask, model, ledger):
    model.calls("refund", order="A-17").says("Done.")
    assert ask("Pay", agent="clerk").text == "Done."
    assert [line.split()[0] for line in ledger.read_text(encoding="utf-8").splitlines()] == ["A-17"]
