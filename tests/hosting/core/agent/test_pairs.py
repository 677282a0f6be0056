"""Calls and results as a provider takes them, whatever stands in the conversation."""

from __future__ import annotations

from agent_framework import Content, Message
from hypothesis import given, settings
from hypothesis import strategies as st

from hosting.core.agent.pairs import whole, whole_before_open
from tests.support.seeds import repeated


def call(call_id: str | None, name: str = "look") -> Content:
    """Return a call of a tool."""
    content = Content.from_function_call("x", name, arguments={})
    content.call_id = call_id
    return content


def result(call_id: str | None, text: str = "seen") -> Content:
    """Return the result of a call."""
    content = Content.from_function_result("x", result=text)
    content.call_id = call_id
    return content


def shape(messages: list[Message]) -> list[tuple[str, list[str]]]:
    """Return the roles, and each content as its id and text."""
    return [
        (
            message.role,
            [content.text or f"{content.call_id}: {content.result or content.type}" for content in message.contents],
        )
        for message in messages
    ]


def test_results_without_a_call_and_messages_without_contents_are_left_out() -> None:
    messages = [Message("tool", [result("a")]), Message("user", ["hi"]), Message("assistant", [])]

    assert shape(list(whole(messages))) == [("user", ["hi"])]


def test_ids_that_are_empty_or_there_twice_are_made_whole_with_their_results_in_order() -> None:
    """Some servers of models give none, others count anew in each turn."""
    messages = [
        Message("assistant", [call(""), call(None)]),
        Message("tool", [result("", "one"), result(None, "two")]),
        Message("assistant", [call("c1")]),
        Message("tool", [result("c1", "three")]),
        Message("assistant", [call("c1")]),
        Message("tool", [result("c1", "four")]),
    ]

    assert shape(list(whole(messages))) == [
        ("assistant", ["call_0_0: function_call", "call_0_1: function_call"]),
        ("tool", ["call_0_0: one", "call_0_1: two"]),
        ("assistant", ["c1: function_call"]),
        ("tool", ["c1: three"]),
        ("assistant", ["call_4_0: function_call"]),
        ("tool", ["call_4_0: four"]),
    ]


def test_a_result_stands_right_behind_its_call() -> None:
    """Also where a message of the user came between them."""
    messages = [Message("assistant", [call("a")]), Message("user", ["wait"]), Message("tool", [result("a")])]

    assert [message.role for message in whole(messages)] == ["assistant", "tool", "user"]


def test_the_calls_of_the_newest_turn_stay_open_where_they_are_decided_on() -> None:
    """The framework makes them, and puts their results in."""
    turn = [Message("user", ["hi"]), Message("assistant", [call("a")])]

    made = whole_before_open([*turn, Message("user", ["again"]), Message("assistant", [call("b")])])

    assert [message.role for message in made] == ["user", "assistant", "tool", "user", "assistant"]


CONTENTS = st.one_of(
    st.builds(call, st.sampled_from(["a", "b", "", None])),
    st.builds(result, st.sampled_from(["a", "b", "", None])),
    st.just("text").map(Content.from_text),
)
MESSAGES = st.lists(
    st.builds(Message, st.sampled_from(["user", "assistant", "tool"]), st.lists(CONTENTS, max_size=3)), max_size=6
)


@settings(max_examples=repeated(40, exploring=1000))
@given(MESSAGES)
def test_whatever_was_stored_is_sent_in_pairs(messages: list[Message]) -> None:
    """Each call has one result, right behind it; what is whole once is whole for good."""
    made = whole(messages)

    calls = [content.call_id for message in made for content in message.contents if content.type == "function_call"]
    results = [content.call_id for message in made for content in message.contents if content.type == "function_result"]
    assert all(calls)
    assert len(set(calls)) == len(calls)
    assert sorted(map(str, calls)) == sorted(map(str, results))
    assert whole(made) is made
