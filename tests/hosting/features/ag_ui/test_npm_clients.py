"""AG-UI's client for JavaScript, of 1.0 and of before, over a socket to a real host."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.wire_client import WireClient

pytestmark = [
    pytest.mark.slow,
    *(pytest.mark.behaviour(name) for name in ("ag-ui.npm-clients", "ag-ui.asked-again", "ag-ui.agrees")),
]


@pytest.mark.parametrize(("package", "cancelled"), [("@ag-ui/client", "cancelled"), ("client-before", "run_cancelled")])
async def test_the_client_does_all_that_the_wire_serves(
    pytestconfig: pytest.Config, tmp_path: Path, package: str, cancelled: str
) -> None:
    """Chats, asks again, edits, runs tools, sends a run again, a picture, approves, is cancelled, gets errors."""
    got = await WireClient(pytestconfig, tmp_path, __file__, "ag-ui-node").prints(package)
    chat = [
        *(["user", "my name is Ada", []], ["assistant", "echo: my name is Ada", []]),
        *(["user", "recall", []], ["assistant", "my name is Ada | recall", []]),
    ]

    hands = [
        ["assistant", "One moment.", ["where"]],
        ["tool", "here", []],
        ["assistant", "", ["look"]],
        ["tool", "saw 1", []],
        ["assistant", "told: here | saw 1", []],
        *(["user", "thanks", []], ["assistant", "echo: thanks", []]),
    ]

    context, blue = got.pop("context"), {"color": "blue", "shapes": [1]}

    assert [len(messages) for messages in context] == [2, 3]
    assert context[0][0].endswith('[{"description": "The page.", "value": "/home"}]')
    assert (context[0][1], context[1][0]) == ("user: hello", "user: hello")
    assert got == {
        "chat": chat,
        "again": chat,
        "regenerated": ["one", "echo: one", "recall", "one | recall"],
        "edited": ["one", "echo: one", "say two", "two"],
        "lagging": ["one", "echo: one", "say two", "two", "recall", "one | say two | recall"],
        "both": ["one", "echo: one", "say two", "two", "recall", "one | say two | recall", "count", "7"],
        "tools": [["user", []], ["assistant", ["thread_name"]], ["tool", []], ["assistant", []]],
        "picture": "user text:see data:data:image/png;base64,iVBORw0KGgo=",
        "asked": ["tool_call", [True]],
        "approved": [["tool", "refunded 7", []], ["assistant", "told: refunded 7", []]],
        "pending": 0,
        "hands": hands,
        "state": [blue, blue, '{"color": "red", "shapes": [1]} | painted blue'],
        "changes": ["~/", 50, [["replace", "/color", "green"], ["replace", "/color", "~/"]]],
        "cancelled": [cancelled],
        "failed": ["run_failed"],
        "refused": [400, "RUN_ERROR", "not_served"],
        "options": {"temperature": 0.5, "max_tokens": 20},
    }


@pytest.mark.parametrize("package", ["@ag-ui/client", "client-before"])
async def test_each_feature_of_the_client_is_served(pytestconfig: pytest.Config, tmp_path: Path, package: str) -> None:
    """What it is made with, copies, subscribers, middleware, leaving and coming back, and answers of each kind."""
    client = WireClient(pytestconfig, tmp_path, __file__, "ag-ui-node")
    got = await client.prints(package, script="features.mjs")

    assert got == {
        "made": ['{"color": "red"}', {"color": "red"}, ["assistant", "tool", "assistant"]],
        "sent": [["home", "made-1", {"any": "thing"}]],
        "copy": ["blue", "red", 4],
        "kinds": [
            *("RUN_FINISHED", "RUN_STARTED"),
            *("TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "TEXT_MESSAGE_START"),
        ],
        "calls": ["user", "initialized", "assistant", "finalized"],
        "middleware": "echo: changed",
        "aborted": 1,
        "again": "echo: sleep 0.5",
        "detached": 1,
        "detached_again": "echo: sleep 0.5",
        "nowhere": 404,
        "asked": ["May refund be called?", ["approved", "editedArgs", "reason"]],
        "decided": ["The call was not approved, so it was not made.", "refunded 9"],
    }
