"""A feature is one folder: what it may import, and how many other files name it."""

import inspect
from functools import cache

import pytest

from hosting import assembly
from hosting.assembly import FEATURES
from tests.architecture.house import HOSTING
from tests.architecture.imports import import_graph

FOLDER = HOSTING.folder / "features"
MOST_NAMING = 2
"""The files outside of a feature's folder that may import from it."""


@cache
def hosting_modules() -> dict[str, frozenset[str]]:
    """Return every module of `hosting` with the product modules that it imports."""
    return {name: imported for name, imported in import_graph().items() if name.startswith("hosting.")}


def folder_modules(feature: str) -> set[str]:
    """Return the modules of a feature's folder."""
    folder = f"hosting.features.{feature}"
    return {name for name in hosting_modules() if name == folder or name.startswith(f"{folder}.")}


@pytest.mark.behaviour("hosting.one-folder")
def test_each_folder_is_a_feature_that_the_app_has() -> None:
    folders = {path.parent.name for path in FOLDER.glob("*/__init__.py")}

    assert {feature.name for feature in FEATURES} == folders
    assert len(FEATURES) == len(folders)
    assert all(f"{feature.__name__}(" in inspect.getsource(assembly) for feature in FEATURES)


@pytest.mark.behaviour("hosting.one-folder")
def test_a_feature_stands_in_its_folder() -> None:
    """Its class in `feature.py`, its errors and settings where they are used, its scripts in `ui`.

    It says what is wrong where it can be off.
    """
    for feature in FEATURES:
        settings = () if feature.settings is None else (feature.settings,)
        homes = {feature.__module__, *(part.__module__ for part in (*feature.errors(), *settings))}

        assert feature.__module__ == f"hosting.features.{feature.name}.feature"
        assert homes <= folder_modules(feature.name)
        assert feature.page == next((FOLDER / feature.name).glob("ui"), None)
        assert feature.absent or "is_on" not in vars(feature), feature


@pytest.mark.behaviour("hosting.one-folder")
def test_a_feature_imports_no_other_and_no_trigger_and_few_files_name_it() -> None:
    """Nor Azure: an orchestration is a generator over a small protocol.

    What a reader opens to change a feature is the list of features, and the app, for a type that users get.
    """
    for feature in FEATURES:
        own = folder_modules(feature.name)
        imported = {name for module in own for name in hosting_modules()[module]} - own
        outside = [name for name, known in hosting_modules().items() if name not in own and known & own]

        assert not any(name.startswith(("hosting.features.", "hosting.functions")) for name in imported), feature
        assert len(outside) <= MOST_NAMING, outside
