"""Run the app on this machine, or test it, with nothing but Python 3.11 to 3.14.

    python dev.py run [FOLDER] [OPTIONS]      the app in this folder (or in FOLDER) on http://localhost:7071, started
                                              again when its files change; main.py in a FOLDER that is no Functions app
    python dev.py host COMMAND [ARGS...]      functions, send, inspect, keys or reset of the app in the current folder
    python dev.py owners assign ARGS...       assign threads of a running app to an owner
    python dev.py operations [ARGS...]        what a running app is at, and what is stuck; --repair asks for it again
    python dev.py evaluate FILE [ARGS...]     ask an agent the cases of FILE, and check its answers
    python dev.py add KIND NAME [ARGS...]     a new agent, tool, workflow, schedule or trigger, with its test
    python dev.py model [--port N]            a small real model on http://localhost:8080/v1, without an account
    python dev.py exec PROGRAM [ARGS...]      any program in the environment, in the current folder
    python dev.py test [--model] [ARGS...]    the tests, or those that ARGS name to pytest; --model: with a real model
    python dev.py test --wheel [ARGS...]      the same tests where the wheels are installed, without the tree
    python dev.py test --room NAME            what belongs to one room of hosting/, in a minute
    python dev.py test --explore [MINUTES]    what chooses at random, with new seeds, until one fails or time is over
    python dev.py test --samples FOLDER       agent-framework's own samples, hosted as they are: what came of each
    python dev.py test --url URL [--key KEY]  the endpoint tests against the app that runs there, and its figures
    python dev.py docs                        the pages as a site, in site/html
    python dev.py build [OPTIONS]             the wheels, in dist

Each makes `.venv` beside this file and installs what it needs, again only when that changed; with `uv` where that is
installed. Standard library only, and readable by Python 3.7, so that an interpreter that is too old gets a message.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
WINDOWS = os.name == "nt"
LOCAL = ROOT / "requirements-local.txt"
VENV_PYTHON = VENV / ("Scripts/python.exe" if WINDOWS else "bin/python")
UV = shutil.which("uv")
OLDEST, NEWEST = (3, 11), (3, 14)
PREFERRED = ("3.13", "3.14", "3.12", "3.11")  # first the one that infra/ deploys

# What `run` passes on to the host; None is an option without a value. docs/reference/commands.md says what each is for.
HOST_OPTIONS = {
    "port": ("N", "port to listen on; 0 takes a free port (default: the setting LocalHttpPort, or 7071)"),
    "host": ("ADDRESS", "address to listen on (default: this machine only)"),
    "auth": (None, "ask for keys, as on Azure"),
    "principal": ("NAME", "sign each request in as NAME, as App Service Authentication would"),
    "group": ("GROUP", "run only http, durable or function:NAME, as one instance of several on Azure"),
    "queue-poll": ("SECONDS", "longest time between two polls for durable messages of other processes"),
    "verbose": (None, "log each request, and more"),
}
HOST_COMMANDS = ("functions", "send", "inspect", "keys", "workers", "reset")

# How tests/azure/target.py gets which host it is; a key is better kept in the variable than typed.
TARGET_OPTIONS = {
    "url": ("AGENTS_TEST_URL", "run the endpoint tests against the app at this address"),
    "key": ("AGENTS_TEST_KEY", "with --url: a function key"),
    "mcp-key": ("AGENTS_TEST_MCP_KEY", "with --url: the system key mcp_extension"),
    "storage-log": ("AGENTS_TEST_STORAGE_LOG", "with --url: the file with Azurite's output, to count storage calls"),
    "kill": ("AGENTS_TEST_KILL", "with --url: a command that kills the app's worker, to time the takeover of its run"),
}

# Two test processes for each core, for most tests wait. Six took longer than four: each starts hosts of its own.
ON_ALL_CORES = [f"--numprocesses={min(4, 2 * (os.cpu_count() or 1))}", "--dist=worksteal"]

# With --room beside the room's own tests: the house, and the endpoints, called in this process.
BESIDE_A_ROOM = ("tests/architecture", "tests/hosting/functions")
EXPLORES = "AGENTS_TEST_EXPLORE"  # which tests/support/seeds.py reads

NO_NETWORK = "The package index cannot be reached: no network, or a proxy is needed (set HTTPS_PROXY)."
EXPLANATIONS = {
    "No space left on device": "The disk is full. Free some space and run the command again.",
    **dict.fromkeys(("Temporary failure in name resolution", "Failed to establish a new connection"), NO_NETWORK),
    "error sending request": NO_NETWORK,
    "CERTIFICATE_VERIFY_FAILED": "The index's certificate is not trusted here. Set PIP_CERT to your company's bundle.",
    "Microsoft Visual C++": "A package has to be compiled. Install the Microsoft C++ Build Tools.",
    "CMake": "A package has to be compiled. Install cmake and a C++ compiler.",
    "No module named pip": "The folder .venv is incomplete. Delete it and run the command again.",
    "No matching distribution": "The package index does not have a package. Check PIP_INDEX_URL.",
}


class SetupError(Exception):
    """Something on this machine is missing or wrong; the message says what to do about it."""


def main(arguments: list[str]) -> int:
    """The exit code of the host or of pytest; 1, with a sentence, when it could not be started."""
    try:
        try:
            return carry_out(arguments)
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # nobody reads what is printed any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except (SetupError, OSError) as error:
        advice = "" if isinstance(error, SetupError) else ". Check that you may write there and that the disk has room."
        print(f"dev.py: {error}{advice}", file=sys.stderr)
        return 1


def carry_out(arguments: list[str]) -> NoReturn:
    """Become what was typed; SetupError when it cannot be started."""
    parser = command_line()
    if not arguments:
        parser.error("No command was given. Start with: python dev.py run. --help lists all commands.")
    options, rest = parser.parse_known_args(arguments)
    refuse_unsupported_python(sys.version_info[:2])
    COMMANDS[options.command](options, rest)


def command_line() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dev.py", description="Run the app on this machine, or test it.")
    commands = parser.add_subparsers(dest="command", required=True)
    run_command = commands.add_parser("run", help="host the app on this machine", allow_abbrev=False)
    run_command.add_argument("folder", nargs="?", default=ROOT, type=Path, help="another app's folder")
    for option, (value, meaning) in HOST_OPTIONS.items():
        taken: dict[str, Any] = {"metavar": value} if value else {"action": "store_const", "const": ""}
        run_command.add_argument(f"--{option}", help=meaning, **taken)
    watching = run_command.add_mutually_exclusive_group()
    watching.add_argument("--watch", action="store_true", default=None, help="start again on changes (default)")
    watching.add_argument("--no-watch", action="store_true", help="do not start again when the app's files change")
    host_command = commands.add_parser("host", help="look at the app of the current folder, or send it a message")
    host_command.add_argument("host_command", choices=HOST_COMMANDS, metavar="|".join(HOST_COMMANDS))
    host_command.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments for that command")
    exec_command = commands.add_parser("exec", help="run any program in the environment, in the current folder")
    exec_command.add_argument("program", help="python, pip, func, ...")
    exec_command.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments for the program")
    test_command = commands.add_parser("test", help="run the tests; other arguments go to pytest", allow_abbrev=False)
    test_command.add_argument("--model", action="store_true", help="only the tests with a real model")
    test_command.add_argument("--room", metavar="NAME", help="only the tests of this folder of hosting/, as core/agent")
    test_command.add_argument("--wheel", action="store_true", help="with the library installed as a wheel")
    explored = "only the randomized tests, with new seeds and more examples, for MINUTES; one round by default"
    test_command.add_argument("--explore", metavar="MINUTES", nargs="?", type=float, const=0.0, help=explored)
    test_command.add_argument("--samples", metavar="FOLDER", help="host agent-framework's samples, and say how it went")
    for option, (_, meaning) in TARGET_OPTIONS.items():
        test_command.add_argument(f"--{option}", help=meaning)
    commands.add_parser("docs", help="build a site from the pages; a broken link is an error")
    # Their options are those of packages/, hosting/commands/ and tests/model/server.py.
    commands.add_parser("add", help="add an agent or another part to the app", add_help=False, allow_abbrev=False)
    commands.add_parser("model", help="serve a small real model on this machine", add_help=False, allow_abbrev=False)
    commands.add_parser("owners", help="assign an app's threads to an owner", add_help=False, allow_abbrev=False)
    commands.add_parser("operations", help="list queued, running and stuck runs", add_help=False, allow_abbrev=False)
    commands.add_parser("evaluate", help="ask an agent the cases of a file", add_help=False, allow_abbrev=False)
    commands.add_parser("build", help="build the wheels", add_help=False, allow_abbrev=False)
    return parser


def run(options: argparse.Namespace, rest: list[str]) -> NoReturn:
    """Become the local host of the app in the folder, which knows its port itself, or the program there."""
    folder = options.folder.resolve()
    if rest:
        raise SetupError(f"`run` does not know {' '.join(rest)}. See python dev.py run --help.")
    is_app, is_program = (folder / "host.json").is_file(), (folder / "main.py").is_file()
    if not (is_app or is_program):
        raise SetupError(f"{folder} is not a Functions app: it has no host.json. It has no main.py either.")
    given = {name: getattr(options, name.replace("-", "_")) for name in HOST_OPTIONS}
    chosen = [part for name, value in given.items() if value is not None for part in (f"--{name}", value) if part]
    watching = [f"--{name}" for name in ("watch", "no-watch") if getattr(options, name.replace("-", "_"))]
    if not is_app and (chosen or watching):
        foreign = " ".join([*chosen, *watching])
        raise SetupError(f"{folder} has no host.json: main.py there is a program, not an app. Leave {foreign} out.")
    app_needs = folder / "requirements.txt"
    install(LOCAL, *([app_needs] if folder != ROOT and app_needs.is_file() else []))
    if not is_app:
        become([str(VENV_PYTHON), "main.py"], folder)
    write_local_settings(folder)
    watched = [] if options.no_watch else ["--watch"]
    become([str(VENV_PYTHON), "-m", "devhost", "start", *watched, *chosen], folder)


def host(options: argparse.Namespace, rest: list[str]) -> NoReturn:
    """Become a command of the local host, or the evaluation that may start one, in the current folder."""
    install(LOCAL)
    of_host = ["devhost", options.host_command, *options.arguments] if options.command == "host" else []
    become([str(VENV_PYTHON), "-m", *(of_host or ["hosting.commands.evaluate"]), *rest], Path.cwd())


def ask(options: argparse.Namespace, rest: list[str]) -> NoReturn:
    """Become a command for a running app or this one; it needs nothing but Python, so nothing is installed for it."""
    module = "packages.durable_agent_host" if options.command == "add" else f"hosting.commands.{options.command}"
    become([sys.executable, "-m", module, *(["add"] if options.command == "add" else []), *rest], ROOT)


def execute(options: argparse.Namespace, rest: list[str]) -> NoReturn:
    """Become a program as the environment has it, activated for no longer than it runs."""
    install(LOCAL)
    scripts = str(VENV_PYTHON.parent)
    os.environ.update(VIRTUAL_ENV=str(VENV), PATH=os.pathsep.join([scripts, os.environ.get("PATH", "")]))
    program = shutil.which(options.program, path=os.environ["PATH"])
    if program is None:
        raise SetupError(f"There is no program {options.program} in {scripts} or on the PATH. Install it.")
    become([program, *options.arguments, *rest], Path.cwd())


def test(options: argparse.Namespace, arguments: list[str]) -> NoReturn:
    """Become pytest; with a real model, or against a running host, for the tests that are about it."""
    os.environ.update(target_variables(options))
    install(*(ROOT / f"requirements-{part}.txt" for part in (["dev", "model"] if options.model else ["dev"])))
    # The tests start some hundred Pythons: each would compile all that it imports, for 5 s in a process of pytest.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [str(VENV_PYTHON), "-m", "pytest", *chosen_tests(options, arguments), *arguments]
    if options.wheel:
        command[1:3] = ["-m", "packages.suite"]
    if options.samples is not None:
        command[1:] = ["-m", "tests.framework_samples", str(Path(options.samples).resolve()), *arguments]
    if options.explore is not None:
        sys.exit(explore(command, options.explore))
    become(command, ROOT)


def explore(command: list[str], minutes: float) -> int:
    """Run the tests with new seeds until they fail or the minutes are over; the exit code of the last round."""
    end, rounds = time.monotonic() + 60 * minutes, 0
    while True:
        rounds += 1
        show(f"Exploring: round {rounds}")
        code = exit_code_of(subprocess.Popen(command, cwd=ROOT, env={**os.environ, EXPLORES: "1"}))
        if code or time.monotonic() >= end:
            return code


def chosen_tests(options: argparse.Namespace, arguments: list[str]) -> list[str]:
    """What pytest gets before `arguments`: in one process what is measured, and what they name to be read."""
    if options.url is not None:
        return ["tests/azure"]
    if options.model:
        return ["-m", "model", "tests/model"]
    if options.room is not None:
        packages = [path.parent for path in ROOT.glob("hosting/*/**/__init__.py")]
        rooms = sorted(package.relative_to(ROOT / "hosting").as_posix() for package in packages)
        if options.room not in rooms:
            raise SetupError(f"--room is {options.room}: hosting/ has {', '.join(rooms)}.")
        return [*ON_ALL_CORES, "-m", "not slow", *dict.fromkeys([f"tests/hosting/{options.room}", *BESIDE_A_ROOM])]
    return [] if any(argument.startswith("tests") for argument in arguments) else ON_ALL_CORES


def make(options: argparse.Namespace, rest: list[str]) -> NoReturn:
    """Become what makes the site of the pages, builds the wheels, or serves the small model."""
    install(ROOT / f"requirements-{options.command}.txt")
    become([str(VENV_PYTHON), str(ROOT / MAKERS[options.command]), *rest], Path.cwd())


def target_variables(options: argparse.Namespace) -> dict[str, str]:
    """The variables for the host that is to be tested, none without one; SetupError for an option that lacks --url."""
    given = {option: getattr(options, option.replace("-", "_")) for option in TARGET_OPTIONS}
    if options.url is None:
        lonely = next((option for option, value in given.items() if value is not None), None)
        if lonely:
            raise SetupError(f"--{lonely} goes with --url, which says where the app runs.")
        return {}
    if not options.url.startswith(("http://", "https://")):
        raise SetupError(f"--url is {options.url}: it must begin with http:// or https://.")
    return {TARGET_OPTIONS[option][0]: value for option, value in given.items() if value is not None}


def refuse_unsupported_python(version: tuple[int, ...], of: str = "this is") -> None:
    """Raise SetupError, with a command that would work, unless the app runs on Python `version`."""
    if OLDEST <= version <= NEWEST:
        return
    found = next((name for name in map("python{}".format, PREFERRED) if runs(name)), None)
    install = "Install Python {0}, or uv and run `uv run -p {0} dev.py`.".format(PREFERRED[0])
    advice = f"Run {found} dev.py instead." if found else install
    raise SetupError(f"Python 3.{OLDEST[1]} to 3.{NEWEST[1]} is needed, and {of} {version[0]}.{version[1]}. {advice}")


def runs(name: str) -> bool:
    """Whether `name` is a Python here; version managers put names on the path that lead nowhere."""
    path = shutil.which(name)
    return path is not None and subprocess.run([path, "-c", ""], stderr=subprocess.DEVNULL, check=False).returncode == 0


def install(*requirements: Path) -> None:
    """Bring `requirements` into .venv, which is made if it is not there; nothing when they are in it unchanged."""
    if not os.path.lexists(VENV_PYTHON):
        create_venv()
    wanted = fingerprint(requirements)
    stamp = VENV / f"installed-{hashlib.sha256(repr(requirements).encode()).hexdigest()[:12]}"
    if stamp.is_file() and stamp.read_text() == wanted:
        return
    files = [argument for path in requirements for argument in ("-r", str(path))]
    watch(pip_install(files), f"Installing {', '.join(path.name for path in requirements)}")
    stamp.write_text(wanted)


def create_venv() -> None:
    """Make .venv; raises SetupError on a Debian whose Python came without the parts for that."""
    if UV:
        watch([UV, "venv", "--seed", "--allow-existing", "--python", sys.executable, str(VENV)], "Making .venv")
        return
    if not all(importlib.util.find_spec(part) for part in ("venv", "ensurepip")):
        package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
        raise SetupError(f"This Python cannot make virtual environments. Run `sudo apt install {package}`, or get uv.")
    watch([sys.executable, "-m", "venv", str(VENV)], "Making .venv")


def fingerprint(requirements: tuple[Path, ...]) -> str:
    """Differs whenever a requirements file, one that it includes, or the Python of .venv does."""
    texts = [text for path in requirements for text in requirement_texts(path)]
    return hashlib.sha256(repr([venv_version(), texts]).encode()).hexdigest()


def requirement_texts(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    included = [line[2:].strip() for line in text.splitlines() if line.startswith("-r")]
    return [text, *(more for name in included for more in requirement_texts(path.parent / name))]


def venv_version() -> str:
    """The version of the Python in .venv; raises SetupError when it is gone or cannot run the app."""
    question = [str(VENV_PYTHON), "-c", "import sys; print(*sys.version_info[:2])"]
    try:
        version = subprocess.check_output(question, stderr=subprocess.DEVNULL, text=True)
    except (OSError, subprocess.CalledProcessError):
        gone = f"The Python in {VENV} does not run any more. Delete that folder and run the command again."
        raise SetupError(gone) from None
    major, minor = version.split()
    refuse_unsupported_python((int(major), int(minor)), of=f"{VENV} (delete it) has")
    return version


def pip_install(arguments: list[str]) -> list[str]:
    if UV:
        return [UV, "pip", "install", "--python", str(VENV_PYTHON), *arguments]
    return [str(VENV_PYTHON), "-m", "pip", "install", "--disable-pip-version-check", *arguments]


def watch(command: list[str], doing: str) -> None:
    """Run `command` to its end, printing on one line how far it is; raises SetupError, explained, when it fails."""
    started = time.monotonic()
    last: deque[str] = deque(maxlen=200)
    show(f"{doing} ...")
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8", errors="replace"
    ) as child:
        for line in child.stdout or ():
            last.append(line.rstrip())
            show(f"{doing}: {time.monotonic() - started:.0f} s  {line.strip()}", passing=True)
    if child.returncode != 0:
        raise SetupError(explained(doing, list(last)))
    show(f"{doing}: done in {time.monotonic() - started:.0f} s")


def show(text: str, passing: bool = False) -> None:
    """Print `text`; on a terminal over the line before, and what is `passing` there only."""
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns - 1
        print("\r" + text[:width].ljust(width), end="" if passing else "\n", flush=True)
    elif not passing:
        print(text, flush=True)


def explained(doing: str, lines: list[str]) -> str:
    """What went wrong in words, below the last lines that the tool printed."""
    reason = next((EXPLANATIONS[mark] for mark in EXPLANATIONS if mark in "\n".join(lines)), "The lines above say why.")
    return "\n".join(["", *lines[-12:], "", f"{doing} failed. {reason}"])


def write_local_settings(folder: Path) -> None:
    """Copy the template to local.settings.json, unless that is there already."""
    template, settings = folder / "local.settings.json.template", folder / "local.settings.json"
    if template.is_file() and not settings.exists():
        shutil.copyfile(template, settings)
        show(f"Wrote {settings.name}: your settings for this machine")


def become(command: list[str], folder: Path) -> NoReturn:
    """Go on as `command` in `folder`, so that signals and the exit code need no one between."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))}
    sys.stdout.flush()
    if not WINDOWS:
        os.chdir(folder)
        os.execve(command[0], command, environment)
    sys.exit(exit_code_of(subprocess.Popen(command, cwd=folder, env=environment)))


def exit_code_of(child: subprocess.Popen[bytes]) -> int:
    """Wait for `child`; Ctrl-C reaches it from the console itself (Windows cannot replace a process)."""
    while child.poll() is None:
        with contextlib.suppress(KeyboardInterrupt):
            child.wait()
    return child.returncode


MAKERS = {"docs": "docs/build_site.py", "build": "packages/build.py", "model": "tests/model/server.py"}
COMMANDS = {"run": run, "host": host, "exec": execute, "test": test, "owners": ask, "operations": ask, "evaluate": host}
COMMANDS.update(model=make, docs=make, build=make, add=ask)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
