"""Each page of a wire names all that the official SDK does: no field, operation or event is left to a guess."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest
from openai.resources.conversations import Conversations
from openai.resources.conversations.items import Items
from openai.resources.models import Models
from openai.resources.responses import InputItems, Responses
from openai.types.conversations import (
    conversation_create_params,
    conversation_update_params,
    item_create_params,
    item_list_params,
)
from openai.types.responses import input_item_list_params, response_retrieve_params

from hosting.features.ag_ui.requests import FIELDS

DOCS = Path(__file__).parents[3] / "docs" / "reference"
RESPONSES, AG_UI, A2A = ((DOCS / name).read_text(encoding="utf-8") for name in ("responses.md", "ag-ui.md", "a2a.md"))

OPERATIONS: dict[Any, dict[str, str]] = {
    Responses: {
        "cancel": "POST responses/{id}/cancel",
        "compact": "POST responses/compact",
        "create": "POST responses",
        "delete": "DELETE responses/{id}",
        "retrieve": "GET responses/{id}",
    },
    InputItems: {"list": "GET responses/{id}/input_items"},
    Conversations: {
        "create": "POST conversations",
        "delete": "DELETE conversations/{id}",
        "retrieve": "GET conversations/{id}",
        "update": "POST conversations/{id}",
    },
    Items: {
        "create": "POST conversations/{id}/items",
        "delete": "DELETE conversations/{id}/items/{item}",
        "list": "GET conversations/{id}/items",
        "retrieve": "GET conversations/{id}/items/{item}",
    },
    Models: {"delete": "DELETE models/{id}", "list": "GET models", "retrieve": "GET models/{id}"},
}
"""What each method of the official client sends."""

OF_THE_CLIENT = {"connect", "input_items", "input_tokens", "items", "parse", "stream"}
"""Methods that send what others do, parts with methods of their own, and a socket, which is no HTTP request."""

PARAMETERS: dict[str, Any] = {
    "GET responses/{id}": response_retrieve_params.ResponseRetrieveParamsBase,
    "GET responses/{id}/input_items": input_item_list_params.InputItemListParams,
    "POST conversations": conversation_create_params.ConversationCreateParams,
    "POST conversations/{id}": conversation_update_params.ConversationUpdateParams,
    "GET conversations/{id}/items": item_list_params.ItemListParams,
    "POST conversations/{id}/items": item_create_params.ItemCreateParams,
}


def row(page: str, name: str) -> str:
    found = [line for line in page.splitlines() if line.startswith("|") and f"`{name}`" in line.split(" | ")[0]]
    assert found, f"no row has {name}"
    return found[0]


@pytest.mark.behaviour("responses.refused")
@pytest.mark.parametrize("resource", OPERATIONS, ids=lambda resource: resource.__name__)
def test_each_method_of_openais_client_has_its_row(resource: Any) -> None:
    methods = {name for name, _ in inspect.getmembers(resource) if not name.startswith(("_", "with_"))}

    assert methods - OF_THE_CLIENT == set(OPERATIONS[resource])
    assert all(row(RESPONSES, operation) for operation in OPERATIONS[resource].values())


@pytest.mark.behaviour("responses.refused")
@pytest.mark.parametrize("operation", PARAMETERS)
def test_each_parameter_of_openais_client_is_in_the_row_of_its_operation(operation: str) -> None:
    line = row(RESPONSES, operation)
    named = [name for name in PARAMETERS[operation].__annotations__ if f"`{name}" not in line]

    assert named == [] or "| refused:" in line


@pytest.mark.behaviour("ag-ui.refused")
def test_each_field_and_event_of_ag_uis_types_is_on_the_page() -> None:
    core = pytest.importorskip("ag_ui.core", reason="ag-ui-protocol is not installed")
    fields = {field.alias or name for name, field in core.RunAgentInput.model_fields.items()}
    unsent = ("REASONING_ENCRYPTED", "ACTIVITY", "STEP", "STATE", "SUBAGENT", "RAW", "CUSTOM")
    kinds = {kind.value for kind in core.EventType if not kind.value.startswith(unsent)}

    assert FIELDS.keys() - fields == {"availableInterrupts"}  # of clients before 1.0
    assert fields <= FIELDS.keys()
    assert {kind for kind in kinds if f"`{kind}`" not in AG_UI} == set()


@pytest.mark.slow
@pytest.mark.behaviour("a2a.refused")
def test_each_method_and_field_of_a2as_types_is_on_the_page() -> None:
    types = pytest.importorskip("a2a.types", reason="a2a-sdk is not installed")
    (service,) = types.a2a_pb2.DESCRIPTOR.services_by_name.values()
    fields = {
        f"{prefix}{field.json_name}"
        for prefix, kind in (
            ("", types.SendMessageRequest),
            ("", types.GetTaskRequest),
            ("", types.ListTasksRequest),
            ("", types.CancelTaskRequest),
            ("", types.SubscribeToTaskRequest),
            ("", types.Part),
            ("message.", types.Message),
            ("configuration.", types.SendMessageConfiguration),
        )
        for field in kind.DESCRIPTOR.fields
    }
    named = set(re.findall(r"`([\w.]+)`", A2A.partition("## Fields")[2].partition("\n## ")[0]))

    assert {method.name for method in service.methods if f"| `{method.name}` |" not in A2A} == set()
    assert fields - named == {"message", "configuration"}  # their members are there
