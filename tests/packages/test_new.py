"""`durable-agent-host new`: an app of one's own, whose commands work at once."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from packages.build import ROOT, TEMPLATE, version
from tests.packages.hosted_apps import BARE, hosted, new, sent
from tests.support.interpreters import PROGRAMS

pytestmark = pytest.mark.slow


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.timeout(600)
@pytest.mark.behaviour("packages.new")
def test_the_commands_of_a_new_app_work_at_once(made: Path, where_wheels_are: pytest.MonkeyPatch) -> None:
    """Its tests pass, and it answers; the second command installs nothing again."""
    tested = subprocess.run(
        [sys.executable, "dev.py", "test", "-q"], cwd=made, capture_output=True, text=True, check=False
    )
    with hosted([sys.executable, "dev.py", "run", "--port", "0"], made, dict(os.environ)) as origin:
        answer = sent(f"{origin}/api/agents/assistant/run", b"What is the weather in Rome?")
    listed = subprocess.check_output(
        [sys.executable, "dev.py", "exec", "functions-local-host", "functions"], cwd=made, text=True
    )

    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert "4 passed" in tested.stdout
    assert answer == "The weather in Rome: sunny, 26 °C."
    assert "Installing" not in listed
    assert "mcptool-assistant" in listed
    assert (made / ".venv" / PROGRAMS).is_dir()


@pytest.mark.behaviour("packages.new")
@pytest.mark.parametrize("has_uv", [True, False])
def test_packages_that_no_index_has_are_said_to_be_named_by_a_variable(
    made: Path, tmp_path: Path, has_uv: bool
) -> None:
    """The one that the installing tool reads."""
    app = Path(shutil.copytree(made, tmp_path / "app", ignore=shutil.ignore_patterns(".venv")))
    (app / "requirements-dev.txt").write_text("durable-agent-host==99.1\n", encoding="utf-8")
    path = str(Path(sys.executable).parent) if has_uv else str(tmp_path)
    environ = {**BARE, "PATH": path, "UV_NO_INDEX": "1", "PIP_NO_INDEX": "1"}
    ended = subprocess.run(
        [sys.executable, "dev.py", "test"], cwd=app, env=environ, capture_output=True, text=True, check=False
    )
    name = "UV_FIND_LINKS" if has_uv else "PIP_FIND_LINKS"

    assert ended.returncode == 1
    assert ended.stderr.endswith(f"For a package that is not on an index, set {name} to the folder of its wheel.\n")


@pytest.mark.behaviour("packages.new")
def test_a_new_app_is_the_templates_files_with_its_name_and_a_pin(made: Path) -> None:
    """And none of the library's: that is the pin's."""
    of_template = {name for name in TEMPLATE if (ROOT / name).is_file()}
    needed = (made / "requirements.txt").read_text(encoding="utf-8").splitlines()
    own = "\n".join(path.read_text(encoding="utf-8") for path in [made / "function_app.py", *made.glob("agents/*.py")])

    assert of_template <= files(made)
    assert {path.name for path in (made / "infra" / "app").iterdir()} == {
        path.name for path in (ROOT / "infra" / "app").iterdir()
    }
    assert (made / ".devcontainer" / "devcontainer.json").read_bytes() == (
        ROOT / ".devcontainer" / "devcontainer.json"
    ).read_bytes()
    assert needed[-1] == f"durable-agent-host=={version()}"
    assert "\nname: my-agents\n" in (made / "azure.yaml").read_text(encoding="utf-8")
    assert json.loads((made / "host.json").read_text("utf-8"))["extensions"]["mcp"]["serverName"] == "my-agents"
    assert re.findall(r"^from (?:hosting|state|devhost|durable_agent_host\.).*", own, re.MULTILINE) == []
    assert "from durable_agent_host import AgentFunctionApp" in own
    assert not {"hosting", "state", "devhost"} & {path.name for path in made.iterdir()}


@pytest.mark.behaviour("packages.new")
def test_the_editors_of_a_new_app_start_its_own_host(made: Path) -> None:
    """The environment is made before the debugger starts; the workflow's actions are those of the template."""
    launch = json.loads((made / ".vscode" / "launch.json").read_text(encoding="utf-8"))["configurations"]
    tasks = {task["label"]: task for task in json.loads((made / ".vscode" / "tasks.json").read_text("utf-8"))["tasks"]}
    used = re.compile(r"uses: (\S+)")
    workflow, of_template = (
        set(used.findall((root / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")))
        for root in (made, ROOT)
    )

    assert launch[0]["module"] == "functions_local_host"
    assert tasks[launch[0]["preLaunchTask"]]["command"].startswith("python dev.py exec ")
    assert workflow <= of_template


@pytest.mark.behaviour("packages.new")
def test_the_workflow_of_a_new_app_checks_it(both_installed: Path, made: Path) -> None:
    """By the command that it has there, which finds nothing in an app as it was made."""
    workflow = (made / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    command = re.findall(r"- run: python dev.py exec (durable-agent-host check.*)", workflow)
    program, *arguments = command[0].split()
    checked = [str(both_installed / program), *arguments]
    ended = subprocess.run(checked, cwd=made, capture_output=True, text=True, check=False)

    assert len(command) == 1
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.behaviour("packages.new")
def test_a_minimal_app_has_nothing_to_deploy_it_with(both_installed: Path, tmp_path: Path) -> None:
    """The app, its tests and its command."""
    ended = new(both_installed, tmp_path, "small", "--minimal")

    assert ended.returncode == 0, ended.stderr
    assert {name.partition("/")[0] for name in files(tmp_path / "small")} == {
        *(
            ".funcignore",
            ".gitignore",
            ".template.json",
            "AGENTS.md",
            "README.md",
            "agents",
            "dev.py",
            "function_app.py",
            "host.json",
        ),
        *("local.settings.json.template", "requirements-dev.txt", "requirements.txt", "tests"),
    }


@pytest.mark.behaviour("packages.new")
def test_a_container_is_made_of_what_is_deployed(both_installed: Path, tmp_path: Path) -> None:
    """Only by its option; the image has the worker's settings of infra/, and none of the files that stay here."""
    ended = new(both_installed, tmp_path, "boxed", "--minimal", "--container")
    recorded = json.loads((tmp_path / "boxed" / ".template.json").read_text(encoding="utf-8"))
    image = (tmp_path / "boxed" / "Dockerfile").read_text(encoding="utf-8")
    ignored = (tmp_path / "boxed" / ".dockerignore").read_text(encoding="utf-8").splitlines()
    deployed = (ROOT / "infra" / "app" / "api.bicep").read_text(encoding="utf-8")
    worker = dict(re.findall(r"(PYTHON_\w+): '(\w+)'", deployed))

    assert ended.returncode == 0, ended.stderr
    assert {"Dockerfile", ".dockerignore"} <= recorded["files"].keys()
    assert dict(re.findall(r"(PYTHON_\w+)=(\w+)", image)) == worker
    assert len(worker) == 3
    assert not {"agents", "function_app.py", "host.json", "requirements.txt"} & set(ignored)
    assert {"local.settings.json", "tests", "**/.*"} <= set(ignored)


@pytest.mark.behaviour("packages.new")
def test_a_folder_with_files_is_left_as_it_is(both_installed: Path, tmp_path: Path) -> None:
    """Whose they are is not known; a repository without files is no such folder."""
    (tmp_path / "mine" / ".git").mkdir(parents=True)
    first = new(both_installed, tmp_path, "mine", "--minimal")
    (tmp_path / "mine" / "host.json").write_text("mine", encoding="utf-8")
    again = new(both_installed, tmp_path, "mine")

    assert first.returncode == 0, first.stderr
    assert again.returncode == 1
    assert again.stderr == f"{tmp_path / 'mine'} has files already. Name an empty or new folder.\n"
    assert (tmp_path / "mine" / "host.json").read_text(encoding="utf-8") == "mine"
