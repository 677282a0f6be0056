"""infra/ and host.json against the code, the plan and the tables of docs/: settings, roles, limits, and costs."""

import json
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from agents.assistant import create_assistant
from agents.models import SETTINGS as MODEL_SETTINGS
from agents.models import create_chat_client
from hosting.app import AgentFunctionApp
from hosting.assembly import SETTINGS
from hosting.core.agent.time_limits import MARGIN_SECONDS
from hosting.errors import ConfigurationError
from hosting.settings import Settings
from tests.support.page_tables import rows
from tests.template.bicep import INFRA, MAIN, ROOT, config_of, parsed, setting_names

API = INFRA / "app" / "api.bicep"
ROLES = (INFRA / "app" / "rbac.bicep").read_text(encoding="utf-8")
LIBRARY_SETTINGS = {str(field.alias) for part in SETTINGS for field in part.model_fields.values()}
PARAMETERS = json.loads((INFRA / "main.parameters.json").read_text(encoding="utf-8"))["parameters"]
IS_KEY = re.compile("KEY|SECRET|PASSWORD|TOKEN$")
# Who reads a setting that is not ours, by the host's and the libraries' own pages.
READ_BY_OTHERS = {
    "APPLICATIONINSIGHTS_AUTHENTICATION_STRING": "the host",
    "APPLICATIONINSIGHTS_CONNECTION_STRING": "the host",
    "AZURE_FUNCTIONS_ENVIRONMENT": "the host, and hosting/settings.py",
    "AZURE_CLIENT_ID": "azure-identity, for which identity it is",
    "AzureFunctionsJobHost__extensions__durableTask__hubName": "the host, over host.json",
    "AzureFunctionsJobHost__extensions__durableTask__storageProvider__connectionStringName": "the host, over host.json",
    "AzureFunctionsJobHost__extensions__durableTask__storageProvider__type": "the host, over host.json",
    "AzureWebJobsStorage__accountName": "the host",
    "AzureWebJobsStorage__clientId": "the host",
    "AzureWebJobsStorage__credential": "the host",
    "DURABLE_TASK_SCHEDULER_CONNECTION_STRING": "the durable extension",
    "Logging__LogLevel__Microsoft.AspNetCore": "the host's web server, and the durable extension's",
    "PYTHON_ENABLE_INIT_INDEXING": "the Python worker",
    "PYTHON_ISOLATE_WORKER_DEPENDENCIES": "the Python worker",
    "PYTHON_THREADPOOL_THREAD_COUNT": "the Python worker",
}
# What is given of a model that is deployed with the app.
DEPLOYED = ("AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_MODEL")
# Azure's ids of its built-in roles.
BUILT_IN = {
    "Search Service Contributor": "7ca78c08-252a-4471-8644-bb5ff32d4ba0",
    "Search Index Data Contributor": "8ebe5a00-799e-43f5-93ac-243d3dce84a7",
    "Cognitive Services OpenAI User": "5e0bd9bd-7b93-4f28-af87-19fc36ad61bd",
    "Cosmos DB Built-in Data Contributor": "00000000-0000-0000-0000-000000000002",
    "Durable Task Data Contributor": "0ad04412-c4d5-4796-b79c-f76d14c8d402",
    "Monitoring Metrics Publisher": "3913510d-42f4-4e42-8a64-420c390055eb",
    "Storage Blob Data Owner": "b7e6dc6d-f1e8-4753-8033-0f276bb0955b",
    "Storage Queue Data Contributor": "974c5e8b-45b9-4653-ba55-5f855dd0fb88",
    "Storage Table Data Contributor": "0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3",
}


def as_deployed() -> dict[str, str]:
    """The host's settings as api.bicep writes them, with something where it says how to find the value."""
    written = parsed(API)["variables"]["hostSettings"]["value"]
    return {name: value if isinstance(value, str) and "." not in value else "given" for name, value in written.items()}


def settings_of_the_app() -> set[str]:
    """The names that api.bicep sets, those included that main.bicep hands it."""
    return setting_names(parsed(API)["variables"]) | setting_names(parsed(MAIN)["modules"]["api"])


@pytest.mark.behaviour("template.infra-settings")
def test_every_app_setting_of_infra_is_read_by_somebody() -> None:
    """A name that nobody reads is a misspelling, and the deployment would not tell."""
    ours = LIBRARY_SETTINGS | set(MODEL_SETTINGS)

    assert settings_of_the_app() - ours == set(READ_BY_OTHERS)


@pytest.mark.behaviour("template.infra-settings")
def test_a_setting_of_the_code_that_infra_leaves_out_has_its_row_in_docs() -> None:
    """Whoever runs the app on Azure sets it there, by hand."""
    pages = "\n".join(
        (ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("reference/settings.md", "guides/models.md")
    )
    left_out = (LIBRARY_SETTINGS | set(MODEL_SETTINGS)) - settings_of_the_app()

    assert left_out - set(re.findall(r"^\| `(\w+)` \|", pages, re.MULTILINE)) == set()


@pytest.mark.behaviour("template.infra-settings")
def test_a_deployment_without_a_choice_has_a_model_and_starts() -> None:
    """With the offline model it would be refused: infra says that it is in production."""
    offline, deployed = ({**as_deployed(), **dict.fromkeys(names, "https://a.example")} for names in ((), DEPLOYED))

    assert parsed(MAIN)["parameters"]["deployedModel"]["default"]
    assert AgentFunctionApp(agents=[create_assistant(create_chat_client(deployed))], environ=deployed).agents
    with pytest.raises(ConfigurationError, match="not for production"):
        AgentFunctionApp(agents=[create_assistant(create_chat_client(offline))], environ=offline)


@pytest.mark.behaviour("template.infra-secrets")
def test_a_key_is_a_secret_of_the_vault_and_the_app_has_a_reference_to_it() -> None:
    """What main.bicep was given goes to the vault or, where it is a reference already, to the app; never to both."""
    main, secrets = MAIN.read_text(encoding="utf-8"), parsed(INFRA / "app" / "secrets.bicep")
    made = {
        config_of(one)["name"]: config_of(one)["properties"]["value"]
        for one in secrets["resources"].values()
        if one["type"].endswith("/secrets")
    }
    text = (INFRA / "app" / "secrets.bicep").read_text(encoding="utf-8")
    referred = re.findall(
        r"(\w+): '@Microsoft.KeyVault\(SecretUri=\${vault.properties.vaultUri}secrets/([\w-]+)\)'", text
    )

    keys = {"openAiKey": "OPENAI_API_KEY", "threadLog": "AGENT_LOG", "webhookKey": "AGENT_WEBHOOK_SECRET"}
    given = {name: one["value"] for name, one in PARAMETERS.items()}

    assert made == {setting.lower().replace("_", "-"): key for key, setting in keys.items()}
    assert referred == [(setting, setting.lower().replace("_", "-")) for setting in keys.values()]
    assert {key: given[key] for key in keys} == {key: f"${{{setting}=}}" for key, setting in keys.items()}
    assert {name for name in LIBRARY_SETTINGS | set(MODEL_SETTINGS) if IS_KEY.search(name)} == {
        "AZURE_OPENAI_API_KEY",  # of an endpoint of one's own, which the app asks by its identity
        "OPENAI_API_KEY",
        "AGENT_WEBHOOK_SECRET",
    }
    assert {name for name, _ in referred} <= settings_of_the_app()
    for key in keys:
        stored = f"stores{key[0].upper()}{key[1:]}"
        assert f"var {stored} = !empty({key}) && !startsWith({key}, '@Microsoft.KeyVault(')\n" in main
        assert re.findall(rf"    {key}: (.*)", main) == [f"{stored} ? {key} : ''", f"{stored} ? '' : {key}"]
    assert "var publicAccess = isPrivate ? 'Disabled' : 'Enabled'\n" in text
    assert "    publicNetworkAccess: publicAccess\n" in text
    assert "Key Vault Secrets User" in text
    assert "4633458b-17de-408a-b874-0445c86b69e6" in text


@pytest.mark.behaviour("template.infra-secrets")
def test_what_cannot_be_purged_has_the_deployments_number_in_its_name() -> None:
    """Else `azd up` after `azd down` finds the name taken. A vault's name has 24 letters at most."""
    text, prefixes = MAIN.read_text(encoding="utf-8"), json.loads((INFRA / "abbreviations.json").read_text("utf-8"))
    numbered = re.findall(r"'\${abbreviations\.(\w+)}(\w*)\${token}\${deploymentNumber}'", text)
    purgeless = [
        path.stem
        for path in (INFRA / "app").glob("*.bicep")
        if "enablePurgeProtection: true" in path.read_text("utf-8")
    ]

    assert sorted(purgeless) == ["encryption", "secrets"]
    assert numbered == [("keyVault", ""), ("openAi", ""), ("keyVault", "s")]
    assert max(len(prefixes["keyVault"] + more) for kind, more in numbered if kind == "keyVault") + 13 + 4 <= 24


@pytest.mark.behaviour("template.infra-roles")
def test_every_service_that_the_app_talks_to_has_its_role_and_there_is_no_other() -> None:
    """By Azure's own ids; a wrong one is an app that starts and then is refused everything."""
    assert set(re.findall(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", ROLES)) == set(BUILT_IN.values())
    assert [name for name in BUILT_IN if name not in ROLES] == []


@pytest.mark.behaviour("template.infra-roles")
def test_each_role_is_given_on_one_resource_and_never_on_the_group() -> None:
    """The least that is needed: a role on the resource group would reach what is put there later."""
    assignments = re.findall(r"^resource (\w+) 'Microsoft.Authorization/roleAssignments@", ROLES, re.MULTILINE)
    scopes = re.findall(r"^  scope: (\w+)$", ROLES, re.MULTILINE)

    assert len(scopes) == len(assignments)
    assert set(scopes) == {"storage", "insights", "taskHub", "search", "modelAccount"}


HOST: dict[str, Any] = json.loads((ROOT / "host.json").read_text(encoding="utf-8"))
DURABLE: dict[str, Any] = HOST["extensions"]["durableTask"]
STORAGE: dict[str, Any] = DURABLE["storageProvider"]
FRONT_END_IDLE_SECONDS = 230
MOST_BUFFERED = 1000  # AzureStorageOptions.ControlQueueBufferThreshold, its page
LARGEST_BODY_BYTES = 100 * 1024 * 1024


def seconds(text: str) -> float:
    hours, minutes, rest = map(float, text.split(":"))
    return timedelta(hours=hours, minutes=minutes, seconds=rest).total_seconds()


def largest(setting: str) -> float:
    """The greatest value that `hosting.settings` takes for a setting."""
    bounds = [getattr(part, "le", None) for part in Settings.model_fields[setting].metadata]
    return float(next(bound for bound in bounds if bound is not None))


@pytest.mark.behaviour("template.plan-limits")
def test_every_limit_is_possible_on_the_plan_and_they_fit_together() -> None:
    """A default run and its margin end before the function, and the longest wait before the front end cuts it.

    A body that is too large gets our 413 and no empty 500 of the host. Entities share the orchestrators' limit on
    Azure Storage, and 200 runs must not wait for each other.
    """
    limits = {name: DURABLE[f"maxConcurrent{name}Functions"] for name in ("Activity", "Entity", "Orchestrator")}

    assert Settings().run_timeout_seconds + MARGIN_SECONDS < seconds(HOST["functionTimeout"])
    assert largest("wait_seconds") < FRONT_END_IDLE_SECONDS
    assert largest("max_body_bytes") <= LARGEST_BODY_BYTES
    assert min(limits.values()) >= 200
    assert max(limits.values()) <= STORAGE["controlQueueBufferThreshold"] <= MOST_BUFFERED


DEPLOYMENT = (ROOT / "docs" / "reference" / "deployment.md").read_text(encoding="utf-8")
COSTS = (ROOT / "docs" / "reference" / "costs.md").read_text(encoding="utf-8")
DAYS, QUEUES, SECONDS_OF_A_DAY, MEMORY_GB = 30, 5, 86_400, 2
COUNTED = ("batches", "queries", "reads", "kB up", "kB down")


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Each key of nested objects as a dotted path, with its value as host.json has it."""
    for key, part in value.items():
        if isinstance(part, dict):
            yield from leaves(part, f"{path}{key}.")
        else:
            yield f"{path}{key}", str(part).lower() if isinstance(part, bool) else str(part)


def numbers(first: str, column: int = 1) -> dict[str, float]:
    return {cells[0]: float(cells[column].replace(",", "")) for cells in rows(COSTS, first)}


@pytest.mark.behaviour("template.host-json-explained")
def test_every_line_of_host_json_is_explained_with_its_value() -> None:
    """In the file's order or another; none is left out and none is of another version."""
    host = json.loads((ROOT / "host.json").read_text(encoding="utf-8"))

    assert {cells[0].strip("`"): cells[1] for cells in rows(DEPLOYMENT, "key")} == dict(leaves(host))


@pytest.mark.parametrize(("column", "turns"), [(1, 1_000), (2, 1_000_000)])
@pytest.mark.behaviour("template.costs-add-up")
def test_the_sums_of_a_month_follow_from_the_prices_and_from_what_a_turn_uses(column: int, turns: int) -> None:
    """A price that is changed shows which sums are not true any more."""
    price, use, month = numbers("price"), numbers("of one turn"), turns * DAYS
    queue_call = price["queue and table operations"] / 1e4
    alone = month * use["instance seconds"] * MEMORY_GB
    always_up = 2 * MEMORY_GB * SECONDS_OF_A_DAY * DAYS
    log = {cells[0]: dict(zip(COUNTED, map(float, cells[1:]), strict=True)) for cells in rows(COSTS, "turn")}
    traffic_gb = month * (log["waited for"]["kB up"] + log["waited for"]["kB down"]) / 1e6
    sums = {
        "storage: queues and tables": month * use["queue and table operations"] * queue_call,
        "storage: the threads' log": month * operations(log["waited for"]) * price["table operations"] / 1e4,
        "the same, if each turn is streamed": month * operations(log["streamed"]) * price["table operations"] / 1e4,
        "private endpoints of storage (`VNET_ENABLED`)": 3 * 24 * DAYS * price["private endpoint hours"]
        + traffic_gb * price["private endpoint traffic"],
        "polling, where an instance is always up": QUEUES * SECONDS_OF_A_DAY * DAYS * queue_call,
        "executions": max(0, month * use["executions"] - price["free executions"]) * price["executions"] / 1e6,
        "two instances kept warm (`ALWAYS_READY_INSTANCES`)": always_up * price["always-ready time"],
        "instance time": (min(alone, always_up) - price["free instance time"]) * price["instance time"],
    }

    assert {name: round(value, 2) for name, value in sums.items()} == numbers("a month", column)


def operations(use: dict[str, float]) -> float:
    """How many operations of the log a turn costs, whatever each does."""
    return sum(use[kind] for kind in COUNTED[:3])
