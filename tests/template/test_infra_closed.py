"""infra/ as a security review reads it: who reaches what, and what is left open to nobody."""

import re

import pytest

from tests.template.bicep import INFRA, MAIN, config_of, parsed

ENDPOINTS = [name for name, module in parsed(MAIN)["modules"].items() if "-PrivateEndpoint" in module["detail"]["path"]]


def written(module: str) -> str:
    """A module as main.bicep has it."""
    return re.findall(rf"^module {module} '.*?^}}", MAIN.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)[0]


def given(module: str) -> dict[str, str]:
    """The parameters that main.bicep gives a module, each as it is written there."""
    return dict(re.findall(r"^    (\w+): (.*)$", written(module), re.MULTILINE))


@pytest.mark.behaviour("template.infra-package-apart")
def test_the_apps_own_identity_has_no_role_where_its_package_is() -> None:
    """What the app may do to its data, it may not do to its code: another account, another identity."""
    app = parsed(INFRA / "app" / "api.bicep")["resources"]["app"]["config"]["properties"]["functionAppConfig"]

    assert given("roles")["storageName"] == given("api")["storageName"] == "storage.outputs.name"
    assert given("package")["storageName"] == "packageStorage.outputs.name"
    assert given("storage")["containers"] == "[]"
    assert app["deployment"]["storage"]["value"] == "packageUrl"
    assert (
        app["deployment"]["storage"]["authentication"]["userAssignedIdentityResourceId"]
        == "packageIdentityId"
        != given("api")["identityId"]
    )


@pytest.mark.behaviour("template.infra-closed")
@pytest.mark.parametrize(
    ("place", "flag", "if_true", "if_false"),
    [
        ("storage.account.publicNetworkAccess", "isPrivate", "Disabled", "Enabled"),
        ("scheduler.scheduler.publicNetworkAccess", "isPrivate", "Disabled", "Enabled"),
        ("scheduler.scheduler.ipAllowlist", "isPrivate", ["networkRange"], ["0.0.0.0/0"]),
        ("cosmos.account.publicNetworkAccess", "isPrivate", "Disabled", "Enabled"),
        ("search.service.publicNetworkAccess", "isPrivate", "Disabled", "Enabled"),
        ("model.account.publicNetworkAccess", "isPrivate", "Disabled", "Enabled"),
        ("monitoring.workspace.publicNetworkAccessForIngestion", "isPrivate", "Disabled", "Enabled"),
        ("monitoring.insights.publicNetworkAccessForIngestion", "isPrivate", "Disabled", "Enabled"),
        ("api.app.publicNetworkAccess", "isPublic", "Enabled", "Disabled"),
    ],
)
def test_one_parameter_closes_every_service(place: str, flag: str, if_true: object, if_false: object) -> None:
    """A service that the virtual network leaves open is one that the review finds."""
    file, resource, setting = place.split(".")
    declared = parsed(INFRA / "app" / f"{file}.bicep")["resources"][resource]
    chosen = config_of(declared)["properties"][setting]["operator"]["operands"]

    assert chosen == {"condition": flag, "true_value": if_true, "false_value": if_false}


@pytest.mark.behaviour("template.infra-closed")
def test_every_service_that_is_closed_has_its_way_in_from_the_network() -> None:
    """Each module with `isPrivate` gets it from the one parameter, and an endpoint is made under the same choice."""
    modules = parsed(MAIN)["modules"]
    closed = [name for name in modules if "isPrivate" in given(name)]
    reached = re.findall(r"(?:accountId|[sS]torageName): .*?(\w+)!?\.outputs", "\n".join(map(written, ENDPOINTS)))
    conditions = {name: written(name).partition("= if (")[2].partition(")")[0] for name in ENDPOINTS}

    assert {given(name)["isPrivate"] for name in closed} == {"vnetEnabled"}
    assert {name.replace("monitoringScope", "monitoring") for name in reached} == {*closed, "api"}
    assert [name for name, condition in conditions.items() if "vnetEnabled" not in condition] == []
