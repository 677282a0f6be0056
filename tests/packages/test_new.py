"""`durable-agent-host new`: an app of one's own, whose commands work at once."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from packages.build import ROOT, TEMPLATE, version
from tests.packages.hosted_apps import hosted, new, sent
from tests.support.interpreters import PROGRAMS

pytestmark = pytest.mark.slow


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.timeout(600)
@pytest.mark.behaviour("packages.new")
def test_the_commands_of_a_new_app_work_at_once(made: Path, started: Path) -> None:
    """Its tests pass, and it answers; the first command made the environment, and another installs nothing again."""
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
    assert (started / ".venv" / PROGRAMS).is_dir()


@pytest.mark.behaviour("packages.new")
def test_a_new_app_is_the_templates_files_with_its_name_and_a_pin(made: Path) -> None:
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
