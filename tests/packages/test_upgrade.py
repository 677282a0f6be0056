"""`durable-agent-host upgrade`: an app of an older version is brought to this one, by real wheels of both."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from packages.build import version
from tests.packages.hosted_apps import BARE

pytestmark = [pytest.mark.slow, pytest.mark.behaviour("packages.upgrade")]

OLD = "0.0.9"
CHANGED = {
    "host.json": ('"maxConcurrentEntityFunctions": 500', '"maxConcurrentEntityFunctions": 100'),
    "README.md": ("`run` prints the address", "`run` says the address"),
    "api.http": ("\n", "\n# before\n"),
    "azure.yaml": ("language: python", "language: py"),
    "dev.py": ("Installing the packages ...", "Installing ..."),
}
"""What the template of the old version has instead."""


@pytest.fixture(scope="module")
def old_wheel(wheels: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel of an older version: this one's, with other files in its template."""
    name = f"durable_agent_host-{OLD}-py3-none-any.whl"
    path = tmp_path_factory.mktemp("old") / name
    metadata, listed = f"durable_agent_host-{OLD}.dist-info", []
    with zipfile.ZipFile(wheels["durable_agent_host"]) as now, zipfile.ZipFile(path, "w") as old:
        for entry in now.namelist():
            content = now.read(entry)
            target = entry.replace(f"durable_agent_host-{version()}.dist-info", metadata)
            file = entry.removeprefix("durable_agent_host/template/")
            if file == "infra/abbreviations.json" or target.endswith("/RECORD"):
                continue
            if target.endswith("/METADATA"):
                content = content.replace(f"Version: {version()}\n".encode(), f"Version: {OLD}\n".encode())
            elif file in CHANGED:
                assert CHANGED[file][0].encode() in content
                content = content.replace(CHANGED[file][0].encode(), CHANGED[file][1].encode(), 1)
            old.writestr(target, content)
            listed.append(f"{target},,")
        old.writestr("durable_agent_host/template/gone.txt", "gone")
        old.writestr(f"{metadata}/RECORD", "\n".join([*listed, f"{metadata}/RECORD,,", ""]))
    return path


@pytest.fixture(scope="module")
def made(both_installed: Path, old_wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An app that the old version's command made."""
    parent = tmp_path_factory.mktemp("made")
    install = [sys.executable, "-m", "uv", "pip", "install", "-q", "--no-deps", "--target", str(parent / "old")]
    subprocess.run([*install, str(old_wheel)], check=True)
    command = [str(both_installed / "python"), "-m", "durable_agent_host", "new", str(parent / "app")]
    subprocess.run(command, env={**BARE, "PYTHONPATH": str(parent / "old")}, check=True)
    return parent / "app"


@pytest.fixture
def app(made: Path, tmp_path: Path) -> Path:
    """The same in a repository, so that what was written is seen."""
    folder = Path(shutil.copytree(made, tmp_path / "app"))
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    return folder


def upgrade(programs: Path, app: Path, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [str(programs / "durable-agent-host"), "upgrade", *arguments]
    settings = {**BARE, "PATH": os.pathsep.join([str(Path(sys.executable).parent), BARE["PATH"]]), **environ}
    return subprocess.run(command, cwd=app, env=settings, capture_output=True, text=True, check=False)


def commit(app: Path) -> None:
    subprocess.run(["git", "add", "-A"], cwd=app, check=True)
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *who, "commit", "-q", "-m", "mine"], cwd=app, check=True)


def written(app: Path) -> dict[str, str]:
    """What differs from the last commit, by git's letters."""
    listed = subprocess.check_output(["git", "status", "--porcelain", "-uall"], cwd=app, text=True)
    return {line[3:]: line[:2].strip() for line in listed.splitlines()}


def replace(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_an_app_that_nobody_changed_becomes_that_of_this_version(
    both_installed: Path, app: Path, tmp_path: Path
) -> None:
    """File by file what `new` writes today, and each difference is shown; a second time there is nothing to do."""
    commit(app)
    tried = upgrade(both_installed, app, "--dry-run")
    untouched = written(app)
    ended = upgrade(both_installed, app)
    again = upgrade(both_installed, app)
    subprocess.run([str(both_installed / "durable-agent-host"), "new", str(tmp_path / "new" / "app")], check=True)
    files = {path.relative_to(app) for path in app.rglob("*") if path.is_file() and ".git" not in path.parts}

    assert (ended.returncode, ended.stderr, untouched) == (0, "", {})
    assert written(app) == {
        **dict.fromkeys([*CHANGED, "requirements.txt", "requirements-dev.txt", ".template.json"], "M"),
        "infra/abbreviations.json": "??",
        "gone.txt": "D",
    }
    assert tried.stdout == ended.stdout.replace("Brought", "Would bring")
    assert ended.stdout.startswith(f"Brought {app} from {OLD} to {version()}:\n\n    requirements.txt: the pin is ")
    assert '\n-      "maxConcurrentEntityFunctions": 100,\n+      "maxConcurrentEntityFunctions": 500,' in ended.stdout
    assert {str(name): (app / name).read_bytes() for name in files} == {
        str(name): (tmp_path / "new" / "app" / name).read_bytes() for name in files
    }
    assert again.stdout == f"{app} is of {version()} already.\n"


@pytest.mark.parametrize("base", ["index", "nowhere"])
def test_what_the_user_changed_is_shown_three_ways_and_left(
    both_installed: Path, app: Path, old_wheel: Path, base: str
) -> None:
    """The old template comes from the app's environment or from its package; without it two ways are shown."""
    replace(app / "host.json", '"routePrefix": "api"', '"routePrefix": "mine"')
    replace(app / "README.md", "`run` says the address", "`run` tells the address")
    (app / "azure.yaml").unlink()
    (app / "dev.py").write_text("# mine\n", encoding="utf-8")
    ours = "requests==2\nDurable_Agent-Host[redis] == {} # ours"
    replace(app / "requirements.txt", f"durable-agent-host=={OLD}", ours.format(OLD))
    commit(app)
    environ = {"UV_NO_INDEX": "1", **({"UV_FIND_LINKS": str(old_wheel.parent)} if base == "index" else {})}
    ended = upgrade(both_installed, app, **environ)

    assert ended.returncode == 0, ended.stderr
    assert written(app) == {
        **dict.fromkeys(["api.http", "requirements.txt", "requirements-dev.txt", ".template.json"], "M"),
        "infra/abbreviations.json": "??",
        "gone.txt": "D",
    }
    assert ours.format(version()) in (app / "requirements.txt").read_text("utf-8")
    assert "    azure.yaml: the template changed it. You deleted it, so it stays deleted.\n" in ended.stdout
    if base == "nowhere":
        assert f"durable-agent-host {OLD} could not be installed" in ended.stderr
        assert "    host.json: the template has another version. Yours stays as it is.\n" in ended.stdout
        return
    assert ended.stderr == ""
    both = "you and the template changed it, so it stays. They"
    assert f"    host.json: {both} fit together: `--merge host.json`" in ended.stdout
    assert f"    README.md: {both} conflict in 1 places: `--merge" in ended.stdout
    assert "+++ host.json (the template's change)\n" in ended.stdout
    assert "+++ host.json (the result of --merge host.json)\n" in ended.stdout


def test_what_the_user_names_is_merged(both_installed: Path, app: Path, made: Path) -> None:
    """Both changes stand in the file; where they conflict, marked."""
    replace(app / "host.json", '"routePrefix": "api"', '"routePrefix": "mine"')
    replace(app / "README.md", "`run` says the address", "`run` tells the address")
    shutil.copytree(made.parent / "old", app / ".venv" / "lib" / "python3.11" / "site-packages")
    ended = upgrade(both_installed, app, "--merge", "host.json", "--merge", "README.md")
    host = json.loads((app / "host.json").read_text(encoding="utf-8"))["extensions"]
    readme = (app / "README.md").read_text(encoding="utf-8")

    assert "    README.md: merged, with 1 conflicts to resolve.\n    api.http" in ended.stdout
    assert (host["http"]["routePrefix"], host["durableTask"]["maxConcurrentEntityFunctions"]) == ("mine", 500)
    parts = ("<<<<<<< yours\n`run` tells", "`run` prints the address", ">>>>>>> template")
    assert sorted(parts, key=readme.index) == list(parts)


@pytest.mark.parametrize(
    ("pin", "why"),
    [
        ("requests==1", "pins no durable-agent-host in requirements.txt"),
        ("durable-agent-host==99.1", f"is of 99.1, and this is {version()}."),
    ],
)
def test_an_app_of_another_kind_or_of_a_later_version_is_left(
    both_installed: Path, app: Path, pin: str, why: str
) -> None:
    for name in ("requirements.txt", "requirements-dev.txt"):
        (app / name).write_text(pin, encoding="utf-8")
    commit(app)
    ended = upgrade(both_installed, app)

    assert (ended.returncode, ended.stdout, written(app)) == (1, "", {})
    assert why in ended.stderr


@pytest.mark.parametrize("way", ["parent", "folder link"])
def test_a_record_that_leads_out_of_the_app_changes_nothing(
    both_installed: Path, app: Path, tmp_path: Path, way: str
) -> None:
    """Somebody else may have written it: what it names beside the app is not removed, written or shown."""
    beside = tmp_path / "beside"
    beside.mkdir()
    (beside / "abbreviations.json").write_text("what others have\n", encoding="utf-8")
    path = app / ".template.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    known = hashlib.sha256(b"what others have\n").hexdigest()
    name = "../beside/abbreviations.json"
    if way == "folder link":
        shutil.move(app / "infra", tmp_path / "moved")
        (app / "infra").symlink_to(beside)
        name = "infra/abbreviations.json"
    path.write_text(json.dumps({**record, "files": {**record["files"], name: known}}), encoding="utf-8")
    commit(app)
    ended = upgrade(both_installed, app)

    assert (ended.returncode, ended.stdout) == (1, "")
    assert "leads out of" in ended.stderr
    assert "what others have" not in ended.stderr
    assert (beside / "abbreviations.json").read_text(encoding="utf-8") == "what others have\n"
    assert written(app) == {}
