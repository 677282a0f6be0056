"""The models of a deployment: how many there are, whether they have a project, and how the app reaches them."""

import pytest

from tests.template.bicep import INFRA, config_of, parsed

MODELS = parsed(INFRA / "app" / "model.bicep")
TEXT = (INFRA / "app" / "model.bicep").read_text(encoding="utf-8")

pytestmark = pytest.mark.behaviour("template.infra-models")


def chosen(value: dict[str, dict[str, dict[str, object]]]) -> dict[str, object]:
    """The parts of `condition ? a : b`."""
    return value["operator"]["operands"]


def test_an_account_has_a_project_only_where_one_is_asked_for() -> None:
    """A project needs an account of another kind, which has an identity."""
    account = config_of(MODELS["resources"]["account"])
    project = MODELS["resources"]["project"]

    assert chosen(account["kind"]) == {"condition": "hasProject", "true_value": "AIServices", "false_value": "OpenAI"}
    assert chosen(account["identity"]["type"])["true_value"] == "SystemAssigned"
    assert account["properties"]["allowProjectManagement"] == "hasProject"
    assert project["config"]["condition"] == "hasProject"
    assert config_of(project)["identity"] == {"type": "SystemAssigned"}


def test_the_app_asks_by_the_same_protocol_with_and_without_a_project() -> None:
    """An account with a project has several addresses; the first of them is not that of Azure OpenAI."""
    assert (
        "output endpoint string = hasProject ? account.properties.endpoints['OpenAI Language Model Instance API'] "
        ": account.properties.endpoint\n"
    ) in TEXT
