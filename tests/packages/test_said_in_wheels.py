"""What messages of the wheels name, and what a new app's files do: nothing that only a clone has."""

import re
import subprocess
import zipfile
from pathlib import Path

import pytest

from packages.build import ROOT, renamed
from tests.support.messages import messages

pytestmark = pytest.mark.behaviour("packages.said")
TRACKED = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True).splitlines()


@pytest.fixture(scope="module")
def installed(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What all wheels bring."""
    folder = tmp_path_factory.mktemp("installed")
    for path in wheels.values():
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder)
    return folder


def of_a_clone(template: Path) -> re.Pattern[str]:
    """What a text names that is in a clone and not in a new app: a file below one of its folders, or at its top."""
    there = {path.name for path in template.iterdir()}
    folders = {name.partition("/")[0] for name in TRACKED if "/" in name} - there
    files = {name for name in TRACKED if "/" not in name} - there
    names = [*(rf"{re.escape(name)}/[\w./-]*\w" for name in sorted(folders)), *map(re.escape, sorted(files))]
    return re.compile(rf"(?<![\w./-])(?:{'|'.join(names)})(?![\w-])")


@pytest.mark.slow
def test_what_wheels_print_names_nothing_that_only_a_clone_has(installed: Path) -> None:
    """No page of docs/, no sample, no file of requirements."""
    absent = of_a_clone(installed / "durable_agent_host" / "template")
    found = [
        f"{path.relative_to(installed)}:{line}: {text}"
        for path in sorted(installed.rglob("*.py"))
        for line, text in messages(path)
        if absent.search(text)
    ]

    assert found == []


@pytest.mark.slow
def test_the_files_of_a_new_app_name_nothing_that_only_a_clone_has(installed: Path) -> None:
    """Nor do their comments, because they are the user's own; .funcignore is a list of what may be there."""
    template = installed / "durable_agent_host" / "template"
    absent = of_a_clone(template)
    found = [
        f"{path.relative_to(template)}:{number}: {line}"
        for path in sorted(filter(Path.is_file, template.rglob("*")))
        if path.name != ".funcignore"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if absent.search(line)
    ]

    assert found == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("'See docs/reference/settings.md.'\n", "'See {}reference/settings.md.'\n"),
        ("f'{x}. docs/reference/a2a.md lists what is.'\n", "f'{x}. {}reference/a2a.md lists what is.'\n"),
        (
            "'docs/guides/models.md says how', 'one of docs/guides/models.md'\n",
            "'{}guides/models.md says how', 'one of {}guides/models.md'\n",
        ),
        ("x = 1  # docs/reference/data.md\n", "x = 1  # {}reference/data.md\n"),
        ("'docs/reference/settings.md', 'x/docs/reference/settings.md is it'\n", None),
    ],
)
def test_a_page_has_its_address_where_that_is_known(source: str, expected: str | None) -> None:
    """Else its name; a string that is a path and no more stays one."""
    address = "https://example.org/blob/v1/docs/"
    named = re.sub(r"\{\}([\w/-]+\.md)", r"\1 of the documentation", expected or source)

    assert renamed(source, f"{address}{{}}") == (expected or source).replace("{}", address)
    assert renamed(source) == named
