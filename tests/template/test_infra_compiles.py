"""infra/ by the compiler's rules that a parser can see, for the compiler itself is on few machines that run this."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.template.bicep import FILES, INFRA, MAIN, config_of, parsed, tree_of
from tests.template.start_of_deployment import unknown_at_start

# Children of an app that Azure names: by the name the compiler knows what one holds, so it must be written out.
NAMED_BY_AZURE = {
    "Microsoft.Web/sites/basicPublishingCredentialsPolicies": {"ftp", "scm"},
    "Microsoft.Web/sites/config": {"appsettings"},
}


@pytest.mark.behaviour("template.infra-compiles")
def test_loops_conditions_and_names_need_nothing_that_only_the_deployment_brings() -> None:
    """The compiler refuses them, and with them the whole deployment (BCP178 and its like)."""
    small = "resource account 'A/b@2024-01-01' existing = {\n  name: 'account'\n}\n"
    loop, name = "output o array = [for item in account.properties.hosts: item]", "  name: account.listKeys()"
    found = ["o, loop: account.properties", "r, name: listKeys()"]

    assert unknown_at_start(tree_of(f"{small}resource r 'A/b@2024-01-01' = {{\n{name}\n}}\n{loop}\n"))[::-1] == found
    assert {path.name: unknown_at_start(parsed(path)) for path in FILES} == {path.name: [] for path in FILES}


@pytest.mark.behaviour("template.infra-compiles")
def test_outputs_of_a_module_that_is_a_choice_are_taken_with_the_mark_that_says_so() -> None:
    """`module!.outputs`, and of no other: without it the compiler warns (BCP318), and warnings hide warnings."""
    chosen = {name for name, module in parsed(MAIN)["modules"].items() if "condition" in module["config"]}
    taken = set(re.findall(r"\b(\w+)(!?)\.outputs\.", MAIN.read_text(encoding="utf-8")))

    assert {name for name, mark in taken if mark} == chosen & {name for name, _ in taken}
    assert {name for name, mark in taken if not mark} & chosen == set()


@pytest.mark.behaviour("template.infra-compiles")
def test_a_resource_that_azure_names_has_its_name_written_out() -> None:
    """In a loop it has none that the compiler could know, which then leaves its properties unchecked (BCP225)."""
    resources = [resource for path in FILES for resource in parsed(path).get("resources", {}).values()]
    names = {kind: [config_of(one).get("name") for one in resources if one["type"] == kind] for kind in NAMED_BY_AZURE}

    assert {kind: set(given) for kind, given in names.items()} == NAMED_BY_AZURE
    assert [one["type"] for one in resources if "loop_type" in one["config"] and one["type"] in NAMED_BY_AZURE] == []


@pytest.mark.behaviour("template.infra-compiles")
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bicep") is None, reason="no bicep on the path: the files are parsed, not compiled")
def test_the_bicep_compiler_takes_the_files_without_a_warning(tmp_path: Path) -> None:
    """What the parser cannot see: types, and properties that a resource does not have."""
    command = ["bicep", "build", str(INFRA / "main.bicep"), "--outfile", str(tmp_path / "main.json")]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stderr) == (0, "")
