"""What .funcignore leaves of the tree: the app and its library, and that runs by itself."""

from pathlib import Path, PurePosixPath

import pytest

from infra import package
from infra.package import Rule
from tests.support.deployed_tree import ROOT, copy_deployed, deployed, indexed_alone, tracked_files


@pytest.mark.behaviour("template.deploys-without-devhost")
def test_only_the_app_and_its_library_are_deployed() -> None:
    """A new folder at the top is deployed only when this list says so."""
    assert {path.parts[0] for path in deployed(tracked_files())} == {
        "agents",
        "function_app.py",
        "host.json",
        "hosting",
        "requirements.txt",
        "state",
    }


@pytest.mark.behaviour("template.deploys-without-devhost")
def test_secrets_of_this_machine_are_never_deployed() -> None:
    """Settings, keys and databases that lie in a developer's folder."""
    left = [".agents/log.sqlite", ".devhost/engine.sqlite", ".env", "local.settings.json", ".venv/bin/python"]

    assert deployed([PurePosixPath(path) for path in left]) == []


@pytest.mark.behaviour("skills.deployed")
def test_a_skill_is_deployed_with_all_that_is_in_its_folder(tmp_path: Path) -> None:
    """Its pages, scripts and references, whatever they are called; so are prompts beside the agents."""
    skill = ["SKILL.md", "README.md", "LICENSE", "scripts/count.py", "docs/units.md", "tests/cases.json"]
    kept = [*(f"skills/counting/{name}" for name in skill), "agents/skills/counting/SKILL.md", "agents/prompt.md"]
    for path in [*kept, "README.md", "docs/page.md", "samples/skill/SKILL.md"]:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("")
    rules = map(Rule.of, (ROOT / ".funcignore").read_text(encoding="utf-8").splitlines())

    assert sorted(package.deployed(tmp_path, [rule for rule in rules if rule], tmp_path / "dist")) == sorted(kept)
    assert deployed([PurePosixPath(path) for path in kept]) == [PurePosixPath(path) for path in kept]


@pytest.mark.slow
@pytest.mark.behaviour("template.deploys-without-devhost")
def test_the_deployed_tree_indexes_by_itself(tmp_path: Path) -> None:
    """Copied alone into an empty folder, the app loads and declares its functions."""
    copy_deployed(tmp_path)
    ended = indexed_alone(tmp_path)

    assert ended.stderr == ""
    assert {"http-assistant", "dafx-assistant", "mcptool-assistant"} <= set(ended.stdout.split())
