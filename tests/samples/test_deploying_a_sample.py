"""What each sample's page says of Azure: its file in the place of the template's is an app that indexes by itself."""

import shutil
from pathlib import Path

import pytest

from tests.samples.folders import APPS, SAMPLES
from tests.support.deployed_tree import copy_deployed, indexed_alone


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a deployment takes along, which each sample's app takes its place in: compiled by the first of them."""
    folder = tmp_path_factory.mktemp("deployed")
    copy_deployed(folder)
    return folder


@pytest.mark.slow
@pytest.mark.behaviour("samples.deploy")
@pytest.mark.parametrize("name", APPS)
def test_a_sample_in_the_place_of_the_template_s_app_indexes_alone(name: str, deployed: Path) -> None:
    """With nothing but what a deployment takes along; its page says so."""
    (deployed / "function_app.py").unlink()
    shutil.copyfile(SAMPLES / name / "function_app.py", deployed / "function_app.py")
    ended = indexed_alone(deployed)

    assert ended.stderr == ""
    assert "dafx-" in ended.stdout
    assert "Copy `function_app.py` over the template's" in SAMPLES.joinpath(name, "README.md").read_text("utf-8")
