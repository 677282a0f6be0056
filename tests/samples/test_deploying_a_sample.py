"""What each sample's page says of Azure: its file in the place of the template's is an app that indexes by itself."""

import shutil

import pytest

from tests.samples.folders import APPS, SAMPLES
from tests.support.deployed_tree import copy_deployed, indexed_alone


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The functions of each sample's app where the template's is in what a deployment takes along: by one process, as
    most of a second goes to what each of them imports.
    """
    folder = tmp_path_factory.mktemp("deployed")
    copy_deployed(folder)
    (folder / "function_app.py").unlink()
    for name in APPS:
        shutil.copyfile(SAMPLES / name / "function_app.py", folder / f"function_app_{name}.py")
    ended = indexed_alone(folder, *(f"function_app_{name}" for name in APPS))
    complaints = [
        line for line in ended.stderr.splitlines() if "ExperimentalWarning" not in line
    ]  # the framework's own
    assert complaints == []
    return dict(zip(APPS, ended.stdout.splitlines(), strict=True))


@pytest.mark.slow
@pytest.mark.behaviour("samples.deploy")
@pytest.mark.parametrize("name", APPS)
def test_a_sample_in_the_place_of_the_template_s_app_indexes_alone(name: str, indexed: dict[str, str]) -> None:
    """With nothing but what a deployment takes along; its page says so."""
    assert "dafx-" in indexed[name]
    assert "Copy `function_app.py` over the template's" in SAMPLES.joinpath(name, "README.md").read_text("utf-8")
