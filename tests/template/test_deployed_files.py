"""What .funcignore leaves of the tree: the app and its library, and that runs by itself."""

from pathlib import Path, PurePosixPath

import pytest

from tests.support.deployed_tree import copy_deployed, deployed, indexed_alone, tracked_files


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


@pytest.mark.slow
@pytest.mark.behaviour("template.deploys-without-devhost")
def test_the_deployed_tree_indexes_by_itself(tmp_path: Path) -> None:
    """Copied alone into an empty folder, the app loads and declares its functions."""
    copy_deployed(tmp_path)
    ended = indexed_alone(tmp_path)

    assert ended.stderr == ""
    assert {"http-assistant", "dafx-assistant", "mcptool-assistant"} <= set(ended.stdout.split())
