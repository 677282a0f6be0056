"""The files for editors, containers and the workflow: they name what is there."""

import json
import re
from typing import Any

import pytest

from dev import NEWEST, OLDEST
from tests.support.pages import code, page, part
from tests.template.bicep import ROOT

FILES = sorted([*(ROOT / ".vscode").glob("*.json"), *(ROOT / ".devcontainer").glob("*.json")])


def read(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((ROOT / name).read_text(encoding="utf-8"))
    return content


def test_a_debugger_starts_the_local_host_or_finds_the_task_that_starts_the_real_one() -> None:
    """A task that is not there is an error box at the first F5."""
    configurations = read(".vscode/launch.json")["configurations"]
    tasks = {task["label"] for task in read(".vscode/tasks.json")["tasks"]}

    assert {entry["preLaunchTask"] for entry in configurations if "preLaunchTask" in entry} <= tasks
    assert [entry["module"] for entry in configurations if "module" in entry] == ["devhost"]
    assert (ROOT / "devhost" / "__main__.py").is_file()


def test_the_mcp_settings_are_those_of_the_page_about_mcp() -> None:
    """In both shapes that clients read, at the endpoint of the local host."""
    shown = [json.loads(block) for block in code(part(page("docs/reference/mcp.md"), "## Connect a client"), "json")]

    assert [set(block) for block in shown] == [{"servers"}, {"mcpServers"}]
    assert read(".vscode/mcp.json") == shown[0] == {"servers": shown[1]["mcpServers"]}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_file_that_a_command_names_is_in_the_folder(path: Any) -> None:
    """The commands are those of the README."""
    named = re.findall(r"\b(dev\.py|requirements[\w-]*\.txt)\b", path.read_text(encoding="utf-8"))

    assert [name for name in named if not (ROOT / name).is_file()] == []
    assert json.loads(path.read_text(encoding="utf-8"))


def test_the_container_has_the_python_that_is_deployed_and_the_editors_extensions() -> None:
    """What works in it works on Azure."""
    container = read(".devcontainer/devcontainer.json")
    deployed = re.findall(r"version: '([\d.]+)'", (ROOT / "infra/app/api.bicep").read_text(encoding="utf-8"))

    assert f"-{deployed[0]}-" in container["image"]
    assert container["customizations"]["vscode"]["extensions"] == read(".vscode/extensions.json")["recommendations"]


def test_the_workflow_runs_the_tests_on_every_python_that_the_app_takes_and_reads_no_secret() -> None:
    """A deployment is whoever's own to set up."""
    workflow = (ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    supported = [f"{OLDEST[0]}.{minor}" for minor in range(OLDEST[1], NEWEST[1] + 1)]

    assert f"python: {json.dumps(supported)}" in workflow
    assert "- run: python dev.py test\n" in workflow
    assert "secrets." not in workflow


def test_the_deploying_workflow_shows_what_would_change_and_signs_in_without_a_secret() -> None:
    """Only main is deployed, only once `azd pipeline config` has set it up, and each job has its token alone."""
    workflow = (ROOT / ".github/workflows/azure-dev.yml").read_text(encoding="utf-8")
    preview, deploy = workflow.partition("  deploy:\n")[::2]

    assert "secrets." not in workflow
    assert "\npermissions: {}\n" in workflow
    assert "vars.AZURE_CLIENT_ID != ''" in preview
    assert "head.repo.full_name == github.repository" in preview
    assert re.findall(r"azd (provision|deploy|up)\b(.*)", preview) == [("provision", " --preview --no-prompt")]
    assert (
        "    needs: preview\n    if: github.event_name != 'pull_request' && github.ref == 'refs/heads/main'\n" in deploy
    )
    assert re.findall(r"azd (provision|deploy|up)\b(.*)", deploy) == [
        ("provision", " --no-prompt"),
        ("deploy", " --no-prompt"),
    ]
    assert [part.count("id-token: write") for part in (preview, deploy)] == [1, 1]
    assert workflow.count("--federated-credential-provider github") == 2
