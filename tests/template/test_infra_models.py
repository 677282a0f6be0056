"""The models of a deployment: how many there are, whether they have a project, and how the app reaches them."""

import re

import pytest

from tests.template.bicep import INFRA, MAIN, config_of, parsed

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


def test_every_address_of_a_project_is_looked_up_in_the_network() -> None:
    """The app asks at the first; people who work in the project use all three."""
    endpoint = re.findall(r"^module modelEndpoint .*?^}", MAIN.read_text("utf-8"), re.MULTILINE | re.DOTALL)[0]
    always, with_project = re.findall(r"union\((\[.*?]), foundryProject \? (\[.*?]) : \[]\)", endpoint, re.DOTALL)[0]

    assert re.findall(r"'([\w.]+)'", always) == ["privatelink.openai.azure.com"]
    assert re.findall(r"'([\w.]+)'", with_project) == [
        "privatelink.cognitiveservices.azure.com",
        "privatelink.services.ai.azure.com",
    ]


def test_further_models_are_deployed_one_after_the_other_where_the_first_is_processed() -> None:
    """An account refuses a second change while one is under way."""
    further = MODELS["resources"]["furtherDeployments"]
    config = config_of(further["config"])

    assert further["decorators"] == [{"type": "batchSize", "argument": 1}]
    assert further["config"]["loop_type"]["detail"]["array_name"] == "further"
    assert config["sku"]["name"] == config_of(MODELS["resources"]["deployment"])["sku"]["name"] == "residency"
    assert config["dependsOn"] == ["deployment"]
    assert config_of(MODELS["resources"]["project"])["dependsOn"] == ["deployment", "furtherDeployments"]
