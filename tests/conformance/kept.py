"""What the pack found of each service: the outcome of every check that it offers. The rest it does not offer."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.__main__ import ALL_CHECKS

OURS: Mapping[str, str] = {check.name: "passed" for check in ALL_CHECKS}

UPSTREAM: Mapping[str, str] = {
    **dict.fromkeys(("order.kept", "state.version", "long.once"), "passed"),
    **dict.fromkeys(("kill.running", "kill.queued", "kill.conversation"), "passed"),
    "beside.order": "not tried",
}

FOUNDRY_KILLS = ("kill.conversation", "kill.approval")
"""What Foundry's hosting says to keep over a kill."""

FOUNDRY: Mapping[str, str] = {
    **dict.fromkeys(("stream.resumed", "stream.again", "cancel.running", "cancel.ended"), "passed"),
    **dict.fromkeys(("delete.gone", "delete.again", "owners.read", "owners.change", *FOUNDRY_KILLS), "passed"),
    **dict.fromkeys(("kill.running", "kill.stream", "kill.client-tool", "client-tool.refused"), "not tried"),
    **dict.fromkeys(("user-token.own", "user-token.apart", "user-token.kept"), "not tried"),
    **dict.fromkeys(("beside.order", "beside.stream", "beside.approval"), "not tried"),
    **dict.fromkeys(("approval.once", "client-tool.once"), "failed"),
    "long.once": "passed",
}

LANGGRAPH: Mapping[str, str] = {
    **dict.fromkeys(("order.kept", "approval.once", "ask.once", "stream.resumed", "stream.again"), "passed"),
    **dict.fromkeys(("cancel.running", "cancel.queued", "cancel.ended", "owners.read", "owners.change"), "passed"),
    **dict.fromkeys(("delete.gone", "delete.running", "delete.again"), "passed"),
    **dict.fromkeys(("steer.once", "steer.order", "user-token.own", "user-token.apart", "long.once"), "passed"),
    "user-token.kept": "failed",
    **dict.fromkeys(("beside.order", "beside.stream", "beside.approval", "beside.ask"), "not tried"),
    **dict.fromkeys(("kill.steer", "kill.long"), "not tried"),
    **dict.fromkeys(
        ("kill.running", "kill.queued", "kill.stream", "kill.conversation", "kill.approval", "kill.ask"), "not tried"
    ),
}

AG_UI: Mapping[str, str] = {
    **dict.fromkeys(("approval.once", "owners.read", "long.once"), "passed"),
    **dict.fromkeys(("beside.order", "beside.approval", "beside.ask"), "not tried"),
    **dict.fromkeys(("user-token.own", "user-token.apart", "user-token.kept"), "not tried"),
    **dict.fromkeys(("kill.running", "kill.conversation", "kill.approval", "ask.once", "kill.ask"), "not tried"),
}
