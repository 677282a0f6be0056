"""What is deployed: the folder that infra/package.py makes, what it holds, and what scanners find."""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest

from infra import package
from infra.package import MAGIC_NUMBERS, PACKAGE, Rule, compile_all, make_package
from tests.support.deployed_tree import INDEX, ROOT, copy_deployed, deployed, indexed_alone, tracked_files
from tests.support.interpreters import fresh_environment, install
from tests.template.bicep import FILES
from tests.template.checks import run

RUNNING = "{}.{}".format(*sys.version_info)
AT_ANOTHER_TIME = 1_600_000_001.5
IMPORT = """
import json, os, sys
compiled = []
sys.addaudithook(lambda event, values: compiled.append(str(values[1])) if event == "compile" else None)
import function_app
folder = os.getcwd()
ours = [part.__spec__ for part in sys.modules.values() if str(getattr(part, "__file__", "")).startswith(folder)]
print(json.dumps({
    "compiled": [name for name in compiled if name.startswith(folder)],
    "without bytecode": [spec.name for spec in ours if not os.path.exists(spec.cached)],
    "modules": [spec.name for spec in ours],
}))
"""


@pytest.fixture(scope="module")
def whole_app(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This app as its package, with the bytecode of the Python that runs the tests."""
    folder = tmp_path_factory.mktemp("whole") / "app"
    package.copy_deployed(ROOT, folder)
    compile_all(folder, sys.executable)
    return folder


def app(root: Path, version: str = RUNNING) -> Path:
    """A small app, for that Python, in a folder where Python has run."""
    files = {
        ".funcignore": ".*\ninfra\n",
        "infra/app/api.bicep": f"runtime: {{\n  name: 'python'\n  version: '{version}'\n}}",
        "function_app.py": "ANSWER = 1\n",
        "agents/__init__.py": "",
        "agents/prompt.md": "Be kind.",
        "agents/__pycache__/gone.cpython-311.pyc": "old",
        ".env": "SECRET=1",
        "local.settings.json": "{}",
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


def files_of(folder: Path) -> dict[str, tuple[int, int]]:
    """Each file with its size and time."""
    return {
        path.relative_to(folder).as_posix(): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if path.is_file()
    }


def unpacked(folder: Path, target: Path) -> Path:
    """The folder by way of a zip: with other times, and read-only."""
    shutil.unpack_archive(shutil.make_archive(str(target), "zip", folder), target)
    for path in (*target.rglob("*"), target):
        os.utime(path, (AT_ANOTHER_TIME, AT_ANOTHER_TIME))
        path.chmod(0o555 if path.is_dir() else 0o444)
    return target


@pytest.mark.behaviour("template.deploys-bytecode")
@pytest.mark.slow
def test_the_deployed_app_is_imported_from_its_bytecode_and_compiles_nothing(whole_app: Path, tmp_path: Path) -> None:
    """From a folder that was zipped, is read-only, and has other times than where the bytecode was made."""
    folder = unpacked(whole_app, tmp_path / "mounted")
    before = files_of(folder)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [sys.executable, "-c", IMPORT]
    ended = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=True)
    imported = json.loads(ended.stdout)

    assert (imported["compiled"], imported["without bytecode"]) == ([], [])
    assert {"function_app", "agents.assistant", "hosting.app"} <= set(imported["modules"])
    assert files_of(folder) == before


@pytest.mark.behaviour("template.deploys-bytecode")
def test_bytecode_is_of_the_python_that_runs_there_and_is_not_compared_with_its_source(tmp_path: Path) -> None:
    """Its magic number, and then the flags of a hash that is not checked (PEP 552)."""
    printed = make_package(app(tmp_path), tmp_path / PACKAGE)
    compiled = sorted((tmp_path / PACKAGE).rglob("*.pyc"))

    assert printed == f"{tmp_path / PACKAGE}: 3 files, with bytecode of Python {RUNNING}."
    assert [path.name.partition(".")[0] for path in compiled] == ["function_app", "__init__"]
    assert {path.read_bytes()[:8] for path in compiled} == {importlib.util.MAGIC_NUMBER + bytes([1, 0, 0, 0])}
    assert int.from_bytes(importlib.util.MAGIC_NUMBER[:2], "little") == MAGIC_NUMBERS[RUNNING]


@pytest.mark.behaviour("template.deploys-bytecode")
@pytest.mark.parametrize(
    "lines",
    [
        ["*.md", "!keep.md"],
        ["docs", "/top.py"],
        ["docs/", "top.py/"],
        ["docs/inner", "a*/?.py"],
        ["**/inner/*.py", "docs/**"],
        ["docs/**/b.py", "# docs", "", "[!t]op.py"],
        ["docs/*", "!docs/inner", "\\!odd.py", "a/a"],
    ],
)
def test_funcignore_is_read_as_git_reads_such_a_file(lines: list[str], tmp_path: Path) -> None:
    paths = [
        "top.py",
        "keep.md",
        "a.md",
        "!odd.py",
        "docs/a.md",
        "docs/inner/b.py",
        "docs/inner/keep.md",
        "abc/d.py",
        "a/a/e",
    ]
    for path in paths:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("", encoding="utf-8")
    (tmp_path / ".gitignore").write_text("\n".join(lines), encoding="utf-8")
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    listing = ["git", "ls-files", "--others", "--exclude-standard"]
    listed = subprocess.run(listing, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.split()
    rules = [rule for rule in map(Rule.of, lines) if rule]

    assert sorted(package.deployed(tmp_path, rules, tmp_path / PACKAGE)) == sorted(listed)
    assert len(listed) < len(paths) + 1


@pytest.mark.behaviour("template.deploys-bytecode")
def test_azd_makes_the_folder_before_it_packages_and_deploys_that_folder() -> None:
    """The hook of the service: the one of the project does not run before `azd deploy`."""
    service = (ROOT / "azure.yaml").read_text(encoding="utf-8").partition("\nservices:\n")[2].partition("\nhooks:\n")[0]
    hooks = service.partition("\n    hooks:\n")[2]

    assert re.findall(r"^    dist: (.*)$", service, re.MULTILINE) == [PACKAGE.as_posix()]
    assert re.findall(r"^      (\w+):$", hooks, re.MULTILINE) == ["prepackage"]
    assert re.findall(r"run: (python3?) infra/package.py", hooks) == ["python3", "python"]


@pytest.mark.behaviour("template.deploys-bytecode")
def test_a_package_is_made_anew_and_nothing_is_compiled_in_the_folder_that_is_edited(tmp_path: Path) -> None:
    """A source that was edited, or is gone, leaves no bytecode behind."""
    root, folder = app(tmp_path), tmp_path / PACKAGE
    make_package(root, folder)
    edited = {"function_app.py": "ANSWER = 2\n", "agents/late.py": ""}
    for path, text in edited.items():
        (root / path).write_text(text, encoding="utf-8")
    (root / "agents" / "__init__.py").unlink()
    make_package(root, folder)
    asked = [
        sys.executable,
        "-I",
        "-c",
        "import sys; sys.path.insert(0, '.'); import function_app as app; print(app.ANSWER)",
    ]

    assert subprocess.run(asked, cwd=folder, capture_output=True, text=True, check=True).stdout == "2\n"
    assert {path.partition(".cpython")[0] for path in files_of(folder)} == {
        ".funcignore",
        "__pycache__/function_app",
        "agents/__pycache__/late",
        "agents/late.py",
        "agents/prompt.md",
        "function_app.py",
    }
    assert [path.name for path in root.rglob("*.pyc") if folder not in path.parents] == ["gone.cpython-311.pyc"]


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


# What infra sets makes the app load the clients of its model, of its storage and of its identity.
DEPLOYED = {
    "AZURE_FUNCTIONS_ENVIRONMENT": "Production",
    "AzureWebJobsStorage__accountName": "account",
    "AZURE_OPENAI_ENDPOINT": "https://account.openai.azure.com",
    "AZURE_OPENAI_MODEL": "model",
}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.behaviour("template.deploys-alone")
@pytest.mark.parametrize(
    "version", ["3.11", *(pytest.param(one, marks=pytest.mark.explore) for one in ("3.12", "3.13")), "3.14"]
)
def test_the_deployed_tree_indexes_with_its_requirements_alone(version: str, tmp_path: Path) -> None:
    """A package that only the tests bring would be missing there."""
    python = fresh_environment(version, tmp_path / "environment")
    folder = tmp_path / "app"
    copy_deployed(folder)
    install(python, "-r", str(folder / "requirements.txt"))
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | DEPLOYED
    indexed = subprocess.check_output([python, "-c", INDEX], cwd=folder, env=environ, text=True).split()

    assert {"http-assistant", "dafx-assistant", "mcptool-assistant"} <= set(indexed)


# The doctor knows an app by FunctionApp and @app in its text; ours is a subclass that registers its functions itself.
RECOGNISED = """
import azure.functions as func

app = func.FunctionApp()


@app.route(route="own")
def own(req: func.HttpRequest) -> str:
    return "own"
"""
# What it warns of that is not wrong.
EXPECTED = {
    "check_asgi_wsgi_exposure": "hosting/functions names an exception of Starlette, whose requests the host hands over",
    "check_app_insights": "infra/app/api.bicep sets the connection string, not a file of the app",
}
# What the scanners make anew again and again is made once: most of their time.
ONE_TREE_OF_EACH_FILE = """
import ast, functools
walk, ast.parse = ast.walk, functools.lru_cache(maxsize=None)(ast.parse)
ast.walk = functools.lru_cache(maxsize=None)(lambda node: tuple(walk(node)))
"""
ONE_PARSER_OF_PATHS = """
from bc_jsonpath_ng import parser
make, made = parser.ply.yacc.yacc, {}
def parser_of(module, **options):
    which = type(module), options["start"]
    return made.get(which) or made.setdefault(which, make(module=module, **options))
parser.ply.yacc.yacc = parser_of
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.behaviour("template.infra-scanned")
def test_checkov_finds_nothing_in_infra_but_the_exceptions_that_give_their_reason() -> None:
    """An exception whose check would pass is not needed any more, and is found here too."""
    options = ["-d", "infra", "--framework", "bicep", "--skip-download", "-o", "json"]
    ended = run("checkov", *options, before=ONE_PARSER_OF_PATHS)
    report = json.loads(ended.stdout)
    written = [line for path in FILES for line in re.findall(r"checkov:skip=(\w+): \w+", path.read_text("utf-8"))]

    assert report["results"]["failed_checks"] == []
    assert report["summary"]["parsing_errors"] == 0
    assert sorted(check["check_id"] for check in report["results"]["skipped_checks"]) == sorted(written)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.behaviour("template.workflow-scanned")
@pytest.mark.parametrize("folder", [".github", "packages/new_app/.github"])
def test_zizmor_finds_nothing_in_the_workflows(folder: str) -> None:
    """Without an exception; its audits that ask GitHub are left out, so that the test needs no network."""
    ended = run("zizmor", "--offline", "--no-config", "--persona", "pedantic", folder)

    assert ended.returncode == 0, ended.stdout


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.behaviour("template.doctor-clean")
def test_the_doctor_finds_nothing_wrong_with_what_is_deployed(tmp_path: Path) -> None:
    """Of the folder as .funcignore leaves it, for the plan and the Python that infra deploys to."""
    copy_deployed(tmp_path)
    shutil.copy(ROOT / ".funcignore", tmp_path)
    (tmp_path / "recognised.py").write_text(RECOGNISED)
    options = ["--profile", "deploy", "--hosting-plan", "flex-consumption", "--target-python", "3.13"]
    arguments = ["doctor", "--path", str(tmp_path), "--format", "json", *options]
    ended = run("azure-functions-doctor", *arguments, before=ONE_TREE_OF_EACH_FILE)
    found = [item for section in json.loads(ended.stdout)["results"] for item in section["items"]]

    assert {item["rule_id"] for item in found if item["status"] not in ("pass", "skip")} == set(EXPECTED)
    assert len(found) > len(EXPECTED)
