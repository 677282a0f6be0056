"""Values are msgspec's structs, which generate no code: an app starts sooner and a turn costs less."""

import ast

from tests.architecture.imports import ROOT, statements

OF_USERS = "Users make it or read it, and may use the functions of `dataclasses` on it."
NOT_COMPARED = "Some of its fields take no part in comparisons, in its hash or in its text."
OF_A_CLASS = "It has a base with a metaclass of its own, or fields that only some places in the order have."
OF_A_COMMAND = "A command that asks a running app has it, and needs nothing but Python."
OF_A_MODEL = "It is a member of a pydantic model, which knows dataclasses and no structs."
DATACLASSES = {
    "AgentCallbackContext": OF_USERS,
    "Budget": OF_USERS,
    "Limit": OF_USERS,
    "OrchestrationStatus": OF_USERS,
    "Price": OF_USERS,
    "Principal": OF_USERS,
    "PrincipalRequest": OF_USERS,
    "Retry": OF_USERS,
    "ToolCall": OF_USERS,
    "WorkflowHitlContext": OF_USERS,
    "Lifespan": NOT_COMPARED,
    "Parameter": NOT_COMPARED,
    "Route": NOT_COMPARED,
    "Row": NOT_COMPARED,
    "Services": NOT_COMPARED,
    "Wait": NOT_COMPARED,
    "WebhookRules": NOT_COMPARED,
    "McpTool": OF_A_CLASS,
    "RoomForCalls": OF_A_CLASS,
    "_Calls": OF_A_CLASS,
    "A2AFeature": OF_A_CLASS,
    "ChatCompletionsFeature": OF_A_CLASS,
    "McpEndpointFeature": OF_A_CLASS,
    "AgUiFeature": OF_A_CLASS,
    "AiSdkFeature": OF_A_CLASS,
    "ResponsesFeature": OF_A_CLASS,
    "WireFeature": OF_A_CLASS,
    "RunningApp": OF_A_COMMAND,
    "Window": OF_A_COMMAND,
    "Receiver": OF_A_MODEL,
}
"""The dataclasses that are deployed with an app, with the reason. A list that only becomes shorter."""


def test_a_value_is_a_struct() -> None:
    """`class Name(Struct, frozen=True)`. Each dataclass compiles code of its own when an app starts."""
    classes = {
        node.name
        for package in ("hosting", "state")
        for path in sorted((ROOT / package).rglob("*.py"))
        for node in statements(path)
        if isinstance(node, ast.ClassDef) and any("dataclass" in ast.unparse(mark) for mark in node.decorator_list)
    }

    assert classes == DATACLASSES.keys()
