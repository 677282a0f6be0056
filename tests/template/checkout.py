"""A small checkout for the tests of dev.py: the real dev.py, and a host that tells how it was started."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ".venv/Scripts/python.exe" if os.name == "nt" else ".venv/bin/python"

HOST = """
import json, os, sys
print(json.dumps({"arguments": sys.argv[1:], "folder": os.getcwd(), "python": sys.prefix}))
sys.exit(7)
"""


@dataclass(frozen=True)
class Checkout:
    """A folder with dev.py and requirements files that ask for nothing, so that installing takes no time."""

    folder: Path

    def dev(
        self, *arguments: str, python: str = sys.executable, folder: Path | None = None, **environ: str
    ) -> subprocess.CompletedProcess[str]:
        """Run dev.py in `folder` to its end, without uv and with the variables `environ` in addition."""
        environment = {**os.environ, "PATH": "", **environ}
        command = [python, str(self.folder / "dev.py"), *arguments]
        return subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
        )

    def write(self, path: str, text: str) -> Path:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file


def new_checkout(folder: Path) -> Checkout:
    checkout = Checkout(folder)
    shutil.copy(ROOT / "dev.py", checkout.write("dev.py", ""))
    checkout.write("devhost/__init__.py", "")  # a folder without it gives way to any package of that name on the path
    checkout.write("devhost/__main__.py", HOST)
    checkout.write("requirements.txt", "")
    checkout.write("requirements-local.txt", "-r requirements.txt\n")
    checkout.write("host.json", "{}")
    checkout.write("local.settings.json.template", '{"Values": {}}')
    return checkout
