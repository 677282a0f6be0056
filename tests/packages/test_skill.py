"""The skill of the wheel and the AGENTS.md of a new app: found, copied, and followed word by word in a fresh app."""

import re
import subprocess
import zipfile
from pathlib import Path

import pytest

from packages.build import ROOT
from packages.durable_agent_host.skill import SKILL, main
from tests.packages.recipes import Follower
from tests.support.console_blocks import Step

pytestmark = pytest.mark.behaviour("packages.skill")
RECIPES = sorted((SKILL / "references").glob("*.md"))
AGENTS = ROOT / "packages" / "new_app" / "AGENTS.md"
KILLED_EVERYWHERE = [path for path in RECIPES if '"each step"' in path.read_text(encoding="utf-8")]
"""Recipes whose tests kill the app, which takes a start each time."""
SOME_KILLS = "--killed-at-most=2"
FROM_ABOVE = ("from-agent-framework-azurefunctions",)
"""Recipes that begin in the folder above an app."""


@pytest.mark.slow(seconds=8)
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("recipe", "kills"),
    [
        *(pytest.param(recipe, SOME_KILLS, id=recipe.stem) for recipe in RECIPES),
        *(pytest.param(path, "", id=f"{path.stem}-all-kills", marks=pytest.mark.explore) for path in KILLED_EVERYWHERE),
    ],
)
def test_a_recipe_does_what_it_shows(recipe: Path, kills: str, fresh: Path, environ: dict[str, str]) -> None:
    """Each command and each file of it, in a fresh app. It ends with an app whose tests pass, here at some kills.

    That each of them is made is shown in test_plugin.py and test_newcomers_walk.py.
    """
    environ = {**environ, "PYTEST_ADDOPTS": kills}
    follower = Follower(fresh.parent if recipe.stem in FROM_ABOVE else fresh, environ)
    follower.follow(recipe.read_text(encoding="utf-8"))

    assert [command for command in follower.typed if "durable-agent-host" in command] != []
    if recipe.stem not in FROM_ABOVE:
        assert "python dev.py test" in follower.typed


@pytest.mark.slow(seconds=12)
@pytest.mark.timeout(600)
def test_the_commands_of_agents_md_work_in_a_new_app(fresh: Path, environ: dict[str, str]) -> None:
    """In their order; then all tests pass, those that were added too."""
    commands = re.findall(r"^ {4}(\S.*)$", AGENTS.read_text(encoding="utf-8"), re.MULTILINE)
    assert commands[:2] == ["python dev.py test", "python dev.py run"]
    follower = Follower(fresh, environ)
    for command in [*commands, "python dev.py test"]:
        follower.type(Step(command, ("...",)))
    follower.follow("")  # ends what runs

    assert (fresh / "AGENTS.md").read_bytes() == AGENTS.read_bytes()
    assert len(list((fresh / "tests").glob("test_*.py"))) == 6


@pytest.mark.slow
def test_the_wheel_has_the_skill_where_the_command_says(both_installed: Path, wheels: dict[str, Path]) -> None:
    printed = subprocess.check_output([str(both_installed / "durable-agent-host"), "skill"], text=True)
    installed = Path(printed.strip())
    with zipfile.ZipFile(wheels["durable_agent_host"]) as archive:
        packed = [name for name in archive.namelist() if "/skills/" in name]

    assert {path.relative_to(installed): path.read_bytes() for path in installed.rglob("*.md")} == {
        path.relative_to(SKILL): path.read_bytes() for path in SKILL.rglob("*.md")
    }
    assert len(packed) == len(RECIPES) + 1


def test_a_copy_is_made_once_and_never_over_a_changed_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / ".claude" / "skills"
    assert [main(["--copy", str(folder)]), main(["--copy", str(folder)])] == [0, 0]
    copied = folder / "durable-agents"
    assert capsys.readouterr().out == f"{copied}\n" * 2
    assert {path.name for path in copied.rglob("*.md")} == {path.name for path in SKILL.rglob("*.md")}
    (copied / "SKILL.md").write_text("mine", encoding="utf-8")

    assert main(["--copy", str(folder)]) == 1
    assert (copied / "SKILL.md").read_text(encoding="utf-8") == "mine"
    assert capsys.readouterr().err.endswith("Remove it, and copy again.\n")
