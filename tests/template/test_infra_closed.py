"""infra/ as a security review reads it: who reaches what, and what is left open to nobody."""

import re

import pytest

from tests.template.bicep import INFRA, MAIN, config_of, parsed


def given(module: str) -> dict[str, str]:
    """The parameters that main.bicep gives a module, each as it is written there."""
    block = re.findall(rf"^module {module} '.*?^}}", MAIN.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)[0]
    return dict(re.findall(r"^    (\w+): (.*)$", block, re.MULTILINE))


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


@pytest.mark.behaviour("template.infra-package-apart")
def test_the_packages_identity_reaches_its_one_container() -> None:
    """Not the account, and as one that reads and writes, not as its owner."""
    tree = parsed(INFRA / "app" / "package.bicep")
    assignments = [one for one in tree["resources"].values() if one["type"].endswith("/roleAssignments")]

    assert [config_of(one)["scope"] for one in assignments] == ["container"]
    assert tree["variables"]["blobContributor"]["value"] == "ba92f5b4-2d11-453d-a403-e96b0029c9fe"
