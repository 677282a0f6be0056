"""A feature is one folder: what it may import, and how many other files name it."""

import inspect
from functools import cache

import pytest

from hosting import assembly
from hosting.assembly import FEATURES
from hosting.feature import Feature
from tests.architecture.house import HOSTING
from tests.architecture.imports import import_graph

FOLDER = HOSTING.folder / "features"
MOST_NAMING = 2
"""The files outside of a feature's folder that may import from it."""


@cache
def hosting_modules() -> dict[str, frozenset[str]]:
    """Return every module of `hosting` with the product modules that it imports."""
    return {name: imported for name, imported in import_graph().items() if name.startswith("hosting.")}


def naming(own: set[str]) -> list[str]:
    """Return the modules of `hosting` that import one of these and are none of them."""
    return sorted(name for name, imported in hosting_modules().items() if name not in own and imported & own)


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
@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
def test_a_feature_stands_in_its_folder(feature: type[Feature]) -> None:
    """Its class in `feature.py`, its errors and settings where they are used, its scripts in `ui`.

    It says what is wrong where it can be off.
    """
    settings = () if feature.settings is None else (feature.settings,)
    homes = {feature.__module__, *(part.__module__ for part in (*feature.errors(), *settings))}

    assert feature.__module__ == f"hosting.features.{feature.name}.feature"
    assert homes <= folder_modules(feature.name)
    assert feature.page == next((FOLDER / feature.name).glob("ui"), None)
    assert feature.absent or "is_on" not in vars(feature)


@pytest.mark.behaviour("hosting.one-folder")
@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
def test_few_files_name_a_feature(feature: type[Feature]) -> None:
    """What a reader opens to change it: the list of features, and the app, for a type that users get."""
    files = naming(folder_modules(feature.name))

    assert len(files) <= MOST_NAMING, files


@pytest.mark.behaviour("hosting.one-folder")
@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
def test_a_feature_imports_no_other_and_no_trigger(feature: type[Feature]) -> None:
    """Nor Azure: an orchestration is a generator over a small protocol."""
    own = folder_modules(feature.name)
    imported = {name for module in own for name in hosting_modules()[module]} - own

    assert not any(name.startswith("hosting.features.") for name in imported)
    assert not any(name.startswith("hosting.functions") for name in imported)
