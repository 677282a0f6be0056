"""infra/ is read here, not deployed: what a Bicep parser sees in its files must fit together, and be closed."""

import re
from typing import Any

import pytest

from infra.choices import refused
from tests.template.bicep import FILES, INFRA, MAIN, config_of, module_file, parsed

TEXT = MAIN.read_text(encoding="utf-8")


def modules() -> dict[str, dict[str, Any]]:
    """The modules of main.bicep."""
    found: dict[str, dict[str, Any]] = parsed(MAIN)["modules"]
    return found


def written(module: str) -> str:
    """A module as main.bicep has it."""
    return re.findall(rf"^module {module} '.*?^}}", TEXT, re.MULTILINE | re.DOTALL)[0]


def given(module: str) -> dict[str, str]:
    """The parameters that main.bicep gives a module, each as it is written there."""
    return dict(re.findall(r"^    (\w+): (.*)$", written(module), re.MULTILINE))


def properties(place: str) -> Any:
    """What a resource is given: `file.resource`, in infra/app."""
    file, resource = place.split(".")
    return config_of(parsed(INFRA / "app" / f"{file}.bicep")["resources"][resource])


def chosen(value: Any) -> Any:
    """The parts of `condition ? a : b`."""
    return value["operator"]["operands"]


@pytest.mark.behaviour("template.infra-parses")
def test_every_bicep_file_parses_and_uses_what_it_declares() -> None:
    """A parameter or a variable that nothing refers to is a choice that does nothing."""
    for path in FILES:
        text, tree = path.read_text(encoding="utf-8"), parsed(path)
        declared = [*tree["parameters"], *tree.get("variables", {})]

        assert [name for name in declared if len(re.findall(rf"\b{name}\b", text)) < 2] == [], path


@pytest.mark.behaviour("template.infra-parses")
def test_every_module_gets_its_parameters_and_gives_the_outputs_that_main_takes() -> None:
    """All parameters of our modules are required; nothing else checks this before a deployment."""
    files = {name: parsed(module_file(module)) for name, module in modules().items()}
    taken = set(re.findall(r"(\w+)!?\.outputs\.(\w+)", TEXT))

    for name, module in modules().items():
        assert set(config_of(module)["params"]) == set(files[name]["parameters"]), name
    assert taken - {(name, output) for name, tree in files.items() for output in tree.get("outputs", {})} == set()


@pytest.mark.behaviour("template.infra-without-keys")
def test_a_parameter_that_carries_a_key_is_secure() -> None:
    """Else its value stands in the history of deployments; the compiler warns of the names that it knows."""
    open_keys = [
        (path.name, name)
        for path in FILES
        for name, declared in parsed(path)["parameters"].items()
        if re.search("Key$|password|secret|accountkey|acctkey", name, re.IGNORECASE)
        if declared["type"] in ("string", "object")
        if {"type": "secure"} not in declared["decorators"]
    ]

    assert open_keys == []


OF_IDENTITIES = {
    "storage.account": {"allowSharedKeyAccess": False, "allowBlobPublicAccess": False},
    "cosmos.account": {"disableKeyBasedMetadataWriteAccess": True, "disableLocalAuth": True},
    "model.account": {"disableLocalAuth": True},
    "monitoring.insights": {"DisableLocalAuth": True},
    "api.noPasswordOverFtp": {"allow": False},
    "api.noPasswordOverScm": {"allow": False},
    "api.app": {"httpsOnly": True},
}


@pytest.mark.behaviour("template.infra-without-keys")
def test_services_take_identities_only() -> None:
    written = {place: properties(place)["properties"] for place in OF_IDENTITIES}

    assert {place: {name: written[place][name] for name in names} for place, names in OF_IDENTITIES.items()} == (
        OF_IDENTITIES
    )


CLOSED = {"condition": "isPrivate", "true_value": "Disabled", "false_value": "Enabled"}
CLOSING = {
    **{f"{name}:publicNetworkAccess": CLOSED for name in ("storage.account", "scheduler.scheduler", "cosmos.account")},
    **{f"{name}:publicNetworkAccess": CLOSED for name in ("search.service", "model.account")},
    **{f"monitoring.{name}:publicNetworkAccessForIngestion": CLOSED for name in ("workspace", "insights")},
    "scheduler.scheduler:ipAllowlist": {**CLOSED, "true_value": ["networkRange"], "false_value": ["0.0.0.0/0"]},
    "api.app:publicNetworkAccess": {"condition": "isPublic", "true_value": "Enabled", "false_value": "Disabled"},
}


@pytest.mark.behaviour("template.infra-closed")
def test_one_parameter_closes_every_service() -> None:
    places = {name: name.split(":") for name in CLOSING}

    assert {name: chosen(properties(place)["properties"][setting]) for name, (place, setting) in places.items()} == (
        CLOSING
    )


@pytest.mark.behaviour("template.infra-closed")
def test_every_service_that_is_closed_has_its_way_in_from_the_network() -> None:
    """Each module with `isPrivate` gets it from the one parameter, and an endpoint is made under the same choice."""
    endpoints = [name for name, module in modules().items() if "-PrivateEndpoint" in module["detail"]["path"]]
    closed = [name for name in modules() if "isPrivate" in given(name)]
    reached = re.findall(r"(?:accountId|[sS]torageName): .*?(\w+)!?\.outputs", "\n".join(map(written, endpoints)))
    conditions = {name: written(name).partition("= if (")[2].partition(")")[0] for name in endpoints}

    assert {given(name)["isPrivate"] for name in closed} == {"vnetEnabled"}
    assert {name.replace("monitoringScope", "monitoring") for name in reached} == {*closed, "api"}
    assert [name for name, condition in conditions.items() if "vnetEnabled" not in condition] == []


@pytest.mark.behaviour("template.infra-package-apart")
def test_the_apps_own_identity_has_no_role_where_its_package_is() -> None:
    """What the app may do to its data, it may not do to its code: another account, another identity."""
    storage = properties("api.app")["properties"]["functionAppConfig"]["deployment"]["storage"]
    package = parsed(INFRA / "app" / "package.bicep")
    assignments = [one for one in package["resources"].values() if one["type"].endswith("/roleAssignments")]

    assert given("roles")["storageName"] == given("api")["storageName"] == "storage.outputs.name"
    assert given("package")["storageName"] == "packageStorage.outputs.name"
    assert storage["value"] == "packageUrl"
    assert (
        storage["authentication"]["userAssignedIdentityResourceId"] == "packageIdentityId" != given("api")["identityId"]
    )
    assert [config_of(one)["scope"] for one in assignments] == ["container"]


@pytest.mark.behaviour("template.infra-models")
def test_an_account_has_a_project_only_where_one_is_asked_for_and_the_app_asks_both_alike() -> None:
    """A project needs an account of another kind, whose first address is not that of Azure OpenAI."""
    account, text = properties("model.account"), (INFRA / "app" / "model.bicep").read_text(encoding="utf-8")

    assert chosen(account["kind"]) == {"condition": "hasProject", "true_value": "AIServices", "false_value": "OpenAI"}
    assert chosen(account["identity"]["type"])["true_value"] == "SystemAssigned"
    assert parsed(INFRA / "app" / "model.bicep")["resources"]["project"]["config"]["condition"] == "hasProject"
    assert (
        "output endpoint string = hasProject ? account.properties.endpoints['OpenAI Language Model Instance API'] "
        ": account.properties.endpoint\n"
    ) in text


@pytest.mark.behaviour("template.infra-compiles")
@pytest.mark.parametrize("name", ["closed", "plain"])
def test_a_set_of_a_new_apps_workflow_gives_what_main_needs(name: str) -> None:
    """The compiler would say so too; it is on few machines that run this."""
    declared = {name: bool(default) for name, default in re.findall(r"^param (\w+) \w+( = )?", TEXT, re.MULTILINE)}
    text = (INFRA / "sets" / f"{name}.bicepparam").read_text(encoding="utf-8")
    needed = {name for name, has_default in declared.items() if not has_default}

    assert "using '../main.bicep'" in text
    assert needed <= set(re.findall(r"^param (\w+) = ", text, re.MULTILINE)) <= declared.keys()


FITTING = {
    "AZURE_ENV_NAME": "trial",
    "AZURE_LOCATION": "Sweden Central",
    "DURABLE_BACKEND": "scheduler",
    "STORAGE_REDUNDANCY": "GZRS",
    "ZONE_REDUNDANT": "true",
    "VNET_ENABLED": "true",
    "PUBLIC_APP": "false",
    "FURTHER_MODELS": "gpt-5=20, gpt-5-nano",
    "FOUNDRY_PROJECT": "true",
    "DEPLOYMENT_NUMBER": "2",
    "ALERT_EMAIL": "ops@example.com",
    "BUDGET_START": "2027-01-01",
}


def everywhere(service: str) -> frozenset[str]:
    """Azure has each service in two regions."""
    return frozenset({"swedencentral", "westeurope"})


@pytest.mark.behaviour("template.infra-choices")
@pytest.mark.parametrize("given", [{}, FITTING, {"AZURE_LOCATION": "westeurope", "OPENAI_API_KEY": "k"}])
def test_choices_that_can_be_meant_are_taken(given: dict[str, str]) -> None:
    assert list(refused(given, everywhere)) == []


@pytest.mark.behaviour("template.infra-choices")
@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        (
            {"AZURE_LOCATION": "North Pole", "ZONE_REDUNDANT": "", "STORAGE_REDUNDANCY": "", "DURABLE_BACKEND": ""},
            "AZURE_LOCATION is northpole, which does not have Flex Consumption. Choose another with azd env set "
            "AZURE_LOCATION NAME: swedencentral, westeurope. That is Azure's list where az is signed in, else one of "
            "infra/choices.py that grows old.",
        ),
        (
            {"STORAGE_REDUNDANCY": ""},
            "ZONE_REDUNDANT is true and STORAGE_REDUNDANCY is LRS, so what is stored would be in one zone. Set "
            "STORAGE_REDUNDANCY to ZRS or GZRS.",
        ),
        (
            {"VNET_ENABLED": "false"},
            "PUBLIC_APP is false and VNET_ENABLED is not true, so the app would be reached from everywhere. Set "
            "VNET_ENABLED to true, or PUBLIC_APP to true.",
        ),
        (
            {"FURTHER_MODELS": "gpt-5=many"},
            "FURTHER_MODELS is 'gpt-5=many', and each of them is NAME or NAME=CAPACITY, with commas between them. Set "
            "it as in gpt-5=20,gpt-5-nano.",
        ),
        (
            {"OPENAI_BASE_URL": "http://server/v1", "FURTHER_MODELS": ""},
            "OPENAI_BASE_URL names a model of your own, so none is deployed, and FOUNDRY_PROJECT does nothing. Remove "
            "one of them.",
        ),
        (
            {"FILE_INDEX": "search", "CUSTOMER_MANAGED_KEY": "true"},
            "FILE_INDEX is search and CUSTOMER_MANAGED_KEY is true: the texts in Azure AI Search would not be "
            "under that key. Leave FILE_INDEX out, which keeps the index in the storage account.",
        ),
        (
            {"DEPLOYMENT_NUMBER": "no-2"},
            "DEPLOYMENT_NUMBER is 'no-2', and names of vaults and accounts take digits and small letters of it, four "
            "at most. Set it to 2.",
        ),
        (
            {"BUDGET_START": "2027-01-15"},
            "BUDGET_START is '2027-01-15', which is not the first day of a month. Set it as in 2027-01-01.",
        ),
        (
            {"ALERT_EMAIL": ""},
            "BUDGET_START is set and ALERT_EMAIL is not, so there would be no budget. Set ALERT_EMAIL.",
        ),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_choice_that_nobody_can_mean_is_refused_with_what_to_do(changed: dict[str, str], sentence: str) -> None:
    assert list(refused({**FITTING, **changed}, everywhere)) == [sentence]


@pytest.mark.behaviour("template.infra-choices")
@pytest.mark.parametrize(
    ("copies", "region", "is_refused"),
    [
        ("LRS", "italynorth", False),
        ("GRS", "italynorth", True),
        ("GRS", "westus", False),
        ("ZRS", "italynorth", False),
        ("ZRS", "westus", True),
        ("GZRS", "italynorth", True),
        ("GZRS", "westus3", False),
    ],
)
def test_copies_are_refused_where_storage_has_none_such(copies: str, region: str, is_refused: bool) -> None:
    """In other zones where there are none, in a paired region where there is none."""
    said = list(refused({"AZURE_LOCATION": region, "STORAGE_REDUNDANCY": copies}, lambda service: None))

    assert [sentence.partition(",")[0] for sentence in said] == [f"STORAGE_REDUNDANCY is {copies}"] * is_refused
