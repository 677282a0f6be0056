"""Run the app on this machine, or test it, with nothing but Python 3.11 to 3.14.

    python dev.py run [OPTIONS]           the app on http://localhost:7071, started again when its files change
    python dev.py test [ARGS...]          its tests; ARGS go to pytest
    python dev.py exec PROGRAM [ARGS...]  any program of the environment

Each makes `.venv` beside this file and installs requirements-dev.txt, again only when a requirements file changed; with
`uv` where that is installed. `python dev.py run --help` has the options.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PROGRAMS = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = str(PROGRAMS / "python")
UV = shutil.which("uv")
WHERE_WHEELS_ARE = (
    f"For a package that is not on an index, set {'UV_FIND_LINKS' if UV else 'PIP_FIND_LINKS'} to the folder of its "
    "wheel."
)
COMMANDS = {
    "run": [PYTHON, "-m", "functions_local_host", "start", "--watch"],
    "test": [PYTHON, "-m", "pytest"],
    "exec": [],
}


def main(arguments: list[str]) -> int:
    """Run the command to its end and return its exit code; 2 where there is no such command."""
    name, *rest = arguments or [""]
    if name not in COMMANDS or (name == "exec" and not rest):
        print(__doc__, file=sys.stderr)
        return 2
    if not (3, 11) <= sys.version_info[:2] <= (3, 14):
        print(f"Python 3.11 to 3.14 is needed, and this is {sys.version.split()[0]}.", file=sys.stderr)
        return 1
    settings = ROOT / "local.settings.json"
    try:
        install()
        if not settings.exists():
            shutil.copyfile(ROOT / "local.settings.json.template", settings)
    except subprocess.CalledProcessError:
        print(f"The packages could not be installed. The lines above say why. {WHERE_WHEELS_ARE}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{error}. Check that you may write there and that the disk has room.", file=sys.stderr)
        return 1
    os.environ["PATH"] = os.pathsep.join([str(PROGRAMS), os.environ.get("PATH", "")])
    command = [*COMMANDS[name], *rest]
    program = shutil.which(command[0])
    if program is None:
        print(f"There is no program {command[0]} in {PROGRAMS} or on the PATH.", file=sys.stderr)
        return 1
    if name != "exec":
        os.chdir(ROOT)
    if os.name != "nt":
        sys.stdout.flush()
        os.execv(program, command)  # so that signals and the exit code need no one between
    process = subprocess.Popen([program, *command[1:]])
    while process.poll() is None:
        with contextlib.suppress(KeyboardInterrupt):  # reaches the program from the console itself
            process.wait()
    return process.returncode


def install() -> None:
    """Bring what the requirements files ask for into .venv, which is made if it is not there."""
    texts = [path.read_bytes() for path in sorted(ROOT.glob("requirements*.txt"))]
    wanted = hashlib.sha256(b"\0".join([sys.version.encode(), *texts])).hexdigest()
    stamp = VENV / "installed"
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    if UV:
        subprocess.run([UV, "venv", "--quiet", "--allow-existing", "--python", sys.executable, str(VENV)], check=True)
        pip = [UV, "pip", "install", "--python", PYTHON]
    else:
        venv.create(VENV, with_pip=True)
        pip = [PYTHON, "-m", "pip", "install", "--disable-pip-version-check"]
    print("Installing the packages ...", flush=True)
    subprocess.run([*pip, "--quiet", "-r", str(ROOT / "requirements-dev.txt")], check=True)
    stamp.write_text(wanted)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
