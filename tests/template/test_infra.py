"""infra/ is read here, not deployed: what a Bicep parser sees in its files must fit together, and be closed."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.template.bicep import FILES, INFRA, MAIN, config_of, module_file, parsed

TEXT = MAIN.read_text(encoding="utf-8")
each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)


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
@each_file
def test_every_bicep_file_parses_and_uses_what_it_declares(path: Path) -> None:
    """A parameter or a variable that nothing refers to is a choice that does nothing."""
    text, tree = path.read_text(encoding="utf-8"), parsed(path)
    declared = [*tree["parameters"], *tree.get("variables", {})]

    assert [name for name in declared if len(re.findall(rf"\b{name}\b", text)) < 2] == []


@pytest.mark.behaviour("template.infra-parses")
def test_every_module_gets_its_parameters_and_gives_the_outputs_that_main_takes() -> None:
    """All parameters of our modules are required; nothing else checks this before a deployment."""
    files = {name: parsed(module_file(module)) for name, module in modules().items()}
    taken = set(re.findall(r"(\w+)!?\.outputs\.(\w+)", TEXT))

    for name, module in modules().items():
        assert set(config_of(module)["params"]) == set(files[name]["parameters"]), name
    assert taken - {(name, output) for name, tree in files.items() for output in tree.get("outputs", {})} == set()


@pytest.mark.behaviour("template.infra-without-keys")
@each_file
def test_a_parameter_that_carries_a_key_is_secure(path: Path) -> None:
    """Else its value stands in the history of deployments; the compiler warns of the names that it knows."""
    open_keys = [
        name
        for name, declared in parsed(path)["parameters"].items()
        if re.search("Key$|password|secret|accountkey|acctkey", name, re.IGNORECASE)
        if declared["type"] in ("string", "object")
        if {"type": "secure"} not in declared["decorators"]
    ]

    assert open_keys == []


@pytest.mark.behaviour("template.infra-without-keys")
@pytest.mark.parametrize(
    ("place", "setting", "value"),
    [
        ("storage.account", "allowSharedKeyAccess", False),
        ("storage.account", "allowBlobPublicAccess", False),
        ("cosmos.account", "disableKeyBasedMetadataWriteAccess", True),
        ("cosmos.account", "disableLocalAuth", True),
        ("model.account", "disableLocalAuth", True),
        ("monitoring.insights", "DisableLocalAuth", True),
        ("api.noPasswordOverFtp", "allow", False),
        ("api.noPasswordOverScm", "allow", False),
        ("api.app", "httpsOnly", True),
    ],
)
def test_services_take_identities_only(place: str, setting: str, value: bool) -> None:
    assert properties(place)["properties"][setting] is value


@pytest.mark.behaviour("template.infra-closed")
@pytest.mark.parametrize(
    ("place", "setting", "flag", "if_true", "if_false"),
    [
        ("storage.account", "publicNetworkAccess", "isPrivate", "Disabled", "Enabled"),
        ("scheduler.scheduler", "publicNetworkAccess", "isPrivate", "Disabled", "Enabled"),
        ("scheduler.scheduler", "ipAllowlist", "isPrivate", ["networkRange"], ["0.0.0.0/0"]),
        ("cosmos.account", "publicNetworkAccess", "isPrivate", "Disabled", "Enabled"),
        ("search.service", "publicNetworkAccess", "isPrivate", "Disabled", "Enabled"),
        ("model.account", "publicNetworkAccess", "isPrivate", "Disabled", "Enabled"),
        ("monitoring.workspace", "publicNetworkAccessForIngestion", "isPrivate", "Disabled", "Enabled"),
        ("monitoring.insights", "publicNetworkAccessForIngestion", "isPrivate", "Disabled", "Enabled"),
        ("api.app", "publicNetworkAccess", "isPublic", "Enabled", "Disabled"),
    ],
)
def test_one_parameter_closes_every_service(
    place: str, setting: str, flag: str, if_true: object, if_false: object
) -> None:
    choice = chosen(properties(place)["properties"][setting])

    assert choice == {"condition": flag, "true_value": if_true, "false_value": if_false}


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
