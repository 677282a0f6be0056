"""The way from a source of the tree to its text in a wheel, and of an app of Microsoft's package to one of ours."""

import ast
import re
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from packages.build import NAMES, PACKAGES, ROOT, renamed
from packages.durable_agent_host.from_upstream import rewritten
from tests.support.messages import messages

ALONE = {
    ("hosting/core/telemetry.py", "hosting"): "the scope of spans, which dashboards name",
    ("hosting/core/stores/connection.py", "hosting"): "the scope of metrics, which dashboards name",
    ("hosting/features/feedback/telemetry.py", "hosting"): "the scope of events, which dashboards name",
    ("devhost/http/admin.py", "devhost"): "what the host says its name is",
}
"""A package's name alone in a string, and why it is no module there."""


@pytest.mark.behaviour("packages.renamed")
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from hosting.app import App\n", "from durable_agent_host.app import App\n"),
        (
            "def f():\n    from state.codec import read\n",
            "def f():\n    from durable_agent_host.state.codec import read\n",
        ),
        ("import hosting.app\nhosting.app.x = 1\n", "import durable_agent_host.app\ndurable_agent_host.app.x = 1\n"),
        ("x = '''\n`state.codec` é'''; from devhost import cli\n", None),
        ("state.errors = hosting.tools\nx.hosting.app()\n", None),
        ('f"{state.errors} in hosting/app.py"\n', None),
        ("raise Lost from state\nyield_from = 'from hosting import x'\n", None),
        ('"hosting.app, state.other, x.state.codec"\n', '"durable_agent_host.app, state.other, x.state.codec"\n'),
        ("x = 1  # see hosting.commands.tail.main\n", "x = 1  # see durable_agent_host.commands.tail.main\n"),
        ('"`python -m devhost reset`"\n', '"`functions-local-host reset`"\n'),
        ('["-m", "devhost", "start"]\n', '["-m", "functions_local_host", "start"]\n'),
        ('("a", "devhost")\n', None),
    ],
)
def test_a_source_is_renamed_where_it_says_a_module(source: str, expected: str | None) -> None:
    """Variables and paths that are spelt like a package keep their names."""
    assert renamed(source) == (expected or source.replace("`state.codec`", "`durable_agent_host.state.codec`"))


@pytest.mark.behaviour("packages.renamed")
@pytest.mark.slow
@pytest.mark.parametrize("package", NAMES)
def test_a_source_in_a_wheel_is_the_trees_but_for_names(package: str, wheels: dict[str, Path]) -> None:
    """Its lines stand where they stood, it imports nothing of the tree, and else it does the same."""
    folder = NAMES[package].replace(".", "/")
    with zipfile.ZipFile(wheels[folder.partition("/")[0]]) as wheel:
        for path in sources(package):
            name = f"{folder}/{path.relative_to(ROOT / package).as_posix()}"
            if (PACKAGES / name).exists():  # the wheel has this one in place of the tree's
                continue
            old, new = path.read_text(encoding="utf-8"), wheel.read(name).decode()
            before, after = ast.parse(old), ast.parse(new)
            lines = zip(old.split("\n"), new.split("\n"), strict=True)
            changed = {number for number, (line, other) in enumerate(lines, 1) if line != other}

            assert sorted(imported(after) & NAMES.keys()) == [], path
            assert places(before) == places(after), path
            assert outline(before, changed) == outline(after, changed), path


def sources(package: str) -> list[Path]:
    """Return what is Python in a package of the tree."""
    return sorted((ROOT / package).rglob("*.py"))


def imported(tree: ast.Module) -> set[str]:
    modules = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            modules.append(node.module or "")
        elif isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
    return {module.partition(".")[0] for module in modules}


def places(tree: ast.Module) -> list[range]:
    """The lines of each statement, with those of its decorators."""
    first = (min(part.lineno for part in (one, *getattr(one, "decorator_list", ()))) for one in tree.body)
    return [range(line, (one.end_lineno or line) + 1) for line, one in zip(first, tree.body, strict=True)]


def outline(tree: ast.Module, lines: set[int]) -> list[str]:
    """What the statements at these lines do, without the modules that they import and the texts in them."""
    statements = [one for one, place in zip(tree.body, places(tree), strict=True) if not lines.isdisjoint(place)]
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.ImportFrom):
                node.module = ""
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                node.value = ""
    return [ast.dump(statement) for statement in statements]


def strings(path: Path) -> Iterator[tuple[str, bool]]:
    """Each string of a source, and whether it is a part of one with expressions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = list(ast.walk(tree))
    parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value, id(node) in parts


@pytest.mark.behaviour("packages.renamed")
@pytest.mark.slow
@pytest.mark.parametrize("package", NAMES)
def test_no_string_says_a_module_in_a_way_that_is_not_renamed(package: str) -> None:
    """Not between expressions, and not a package's name alone: `__name__` says those of any module."""
    dotted = re.compile(r"(?<![\w./-])(?:hosting|devhost|state|conformance)\.(?!md\b)[a-z_]+\.?\w+")
    for path in sources(package):
        name = path.relative_to(ROOT).as_posix()
        for text, is_part in strings(path):
            assert not (is_part and dotted.search(text) and renamed(repr(text)) != repr(text)), (name, text)
            assert text not in {"hosting", "devhost", "conformance"} or (name, text) in ALONE, (name, text)


LONG = "AgentCallbackContext, AgentFunctionApp, AgentResponseCallbackProtocol, WorkflowHitlContext"


@pytest.mark.behaviour("packages.from-upstream")
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (f"from agent_framework_azurefunctions import {LONG}\n", f"from durable_agent_host import {LONG}\n"),
        (
            "from agent_framework.azure import (\n    AgentFunctionApp,  # ours\n)\n",
            "from durable_agent_host import (\n    AgentFunctionApp,  # ours\n)\n",
        ),
        (
            "from agent_framework.azure import (AgentFunctionApp as App,\n    WorkflowHitlContext)\n",
            "from durable_agent_host import (AgentFunctionApp as App,\n    WorkflowHitlContext)\n",
        ),
        (
            f"if True:\n    from agent_framework_azurefunctions import DurableAIAgent, {LONG}\n",
            "if True:\n    from agent_framework_azurefunctions import DurableAIAgent\n"
            f"    from durable_agent_host import {LONG}\n",
        ),
        (
            "from agent_framework_azurefunctions import (\n    AgentFunctionApp,\n    DurableAIAgent,  # theirs\n"
            "    WorkflowHitlContext,\n)\n",
            "# theirs\nfrom agent_framework_azurefunctions import DurableAIAgent\n"
            "from durable_agent_host import (\n    AgentFunctionApp,\n    WorkflowHitlContext,\n)\n",
        ),
        (
            "from agent_framework_azurefunctions import (\n    AgentFunctionApp, DurableAIAgent, "
            "WorkflowHitlContext\n)\n",
            "from agent_framework_azurefunctions import DurableAIAgent\n"
            "from durable_agent_host import AgentFunctionApp, WorkflowHitlContext\n",
        ),
    ],
    ids=["one-line", "spread", "by-hand", "mixed-one-line", "mixed-spread", "mixed-by-hand"],
)
def test_an_import_keeps_its_form(source: str, expected: str) -> None:
    """On one line where it was, over lines where it was: a formatter finds nothing to do."""
    assert rewritten(source.encode(), "app.py")[0].decode() == expected


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


@pytest.mark.behaviour("packages.said")
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


@pytest.mark.behaviour("packages.said")
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


@pytest.mark.behaviour("packages.said")
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
