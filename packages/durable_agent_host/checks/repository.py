"""What of an app goes where: secrets that git keeps, and files that a deployment takes along."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from fnmatch import fnmatch

from packages.durable_agent_host.checks.app import SETTINGS, AppFolder, Found

_SECRETS = (SETTINGS, ".env")
_NEVER_DEPLOYED = (*_SECRETS, ".venv", ".git")
_SECRET_NAME = re.compile(r"(_|^)(API_?KEY|KEY|SECRET|PASSWORD|TOKEN)$")
_SECRET_VALUE = re.compile(r"(AccountKey|SharedAccessKey|password)=[^;]+", re.IGNORECASE)
_SYMBOLIC = ("@Microsoft.KeyVault(", "${")


def settings_in_git(app: AppFolder) -> Iterator[Found]:
    """`settings-in-git`."""
    tracked = _git(app, "ls-files", "--", *_SECRETS)
    for name in (tracked.stdout if tracked else "").split():
        yield name, f"git tracks it, with its secrets. Run `git rm --cached {name}`, and renew those secrets."
    for name in _SECRETS:
        ignored = _git(app, "check-ignore", "-q", name)
        is_there = (app.folder / name).is_file()
        if tracked and name not in tracked.stdout.split() and is_there and ignored and ignored.returncode == 1:
            yield ".gitignore", f"git would track {name}, with its secrets. Add a line {name}."


def secret_in_git(app: AppFolder) -> Iterator[Found]:
    """`secret-in-git`."""
    template = f"{SETTINGS}.template"
    given = [(template, name, value) for name, value in (app.values(template) or {}).items()]
    for place, name, value in [*given, *app.deployed]:
        is_secret = bool(_SECRET_NAME.search(name) and value.strip()) or bool(_SECRET_VALUE.search(value))
        if is_secret and not value.startswith(_SYMBOLIC):
            advice = "Leave it empty there" if place == template else "Write @Microsoft.KeyVault(SecretUri=...)"
            yield place, f"{name} has a value that looks like a secret, and git tracks this file. {advice}."


def deployed_secrets(app: AppFolder) -> Iterator[Found]:
    """`deployed-secrets`."""
    text = app.text(".funcignore")
    if text is None:
        yield ".funcignore", "it is missing, so a deployment uploads the whole folder. Copy the template's file."
        return
    patterns = [line.strip().strip("/") for line in text.splitlines() if line.strip() and not line.startswith("#")]
    for name in _NEVER_DEPLOYED:
        if not any(fnmatch(name, pattern) for pattern in patterns):
            yield ".funcignore", f"a deployment would upload {name}. Add a line {name}."


def _git(app: AppFolder, *arguments: str) -> subprocess.CompletedProcess[str] | None:
    """Return what git said, or None where there is no git or no repository."""
    program = shutil.which("git")
    if program is None:
        return None
    command = [program, "-C", str(app.folder), *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    return None if ended.returncode > 1 else ended
