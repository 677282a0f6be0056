"""Tests of the app that fail: by the faults that are planted in it, and by faults of the tests themselves."""

import pytest


@pytest.mark.killed_at("each step")
def test_a_charge(ask, model, ledger):
    model.calls("charge", order="A-17").says("Done.")
    assert ask("Charge", agent="cashier").text == "Done."
    assert ledger.read_text(encoding="utf-8").splitlines() == ["A-17"]


@pytest.mark.killed_at("each step")
def test_a_call_made_twice(ask, model):
    model.calls("transfer", order="A-17").says("Done.")
    ask("Send", agent="hasty")


def test_a_script_that_is_too_short(ask, model):
    model.calls("refund", order="A-17")
    ask("Pay", agent="clerk")


@pytest.mark.killed_at("before lunch")
def test_a_moment_that_is_none(ask, model):
    model.says("Hello.")
    ask("Hi", agent="clerk")


@pytest.mark.killed_at("each step")
def test_that_asks_nothing():
    pass


def test_an_agent_that_is_not_named(ask):
    ask("Hi")
