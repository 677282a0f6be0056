"""What the import of the template's app costs a new instance, beside what every app of these packages imports."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from agents.models import SETTINGS
from benchmarks.app_folder import ROOT, temporary_folder
from benchmarks.figures import Figure, NotMeasuredError, Result
from benchmarks.host_process import HostStartError
from benchmarks.measures.before import checkout
from benchmarks.measures.processor import BEFORE
from benchmarks.samples import median
from benchmarks.sizes import Sizes

APP = "import function_app"
NEEDED = "import azure.durable_functions, azurefunctions.extensions.http.fastapi, agent_framework"
DEPLOYED = ("agents", "function_app.py", "host.json", "hosting", "state")
OURS = ("hosting", "state")
IMPORT_GUARD_SECONDS = 120
_IMPORTED = re.compile(r"^import time:\s+(?P<microseconds>\d+) \|\s+\d+ \|\s*(?P<module>\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Import:
    """A statement, and the folder that it is carried out in."""

    statement: str
    folder: Path


async def measure(sizes: Sizes) -> Result:
    """Each take is a process of its own, and all imports take turns, so that a busy moment meets each.

    The packages of others have their bytecode, as an installation leaves it: `with` and `without` tell of our own.
    Ratios are within one run, so they compare machines; times within a process are the smallest of each module.
    Raises NotMeasuredError on Windows, and where the commit before is not in the clone; HostStartError where an import
    fails.
    """
    children_seconds = processor_clock()
    with checkout(BEFORE) as old, laid_out(ROOT) as new_folders, laid_out(old) as old_folders:
        imports = {
            "needed": Import(NEEDED, new_folders["without"].parent),
            **{kind: Import(APP, folder) for kind, folder in new_folders.items()},
            **{f"before, {kind}": Import(APP, folder) for kind, folder in old_folders.items()},
        }
        takes: dict[str, list[float]] = defaultdict(list)
        times: dict[str, list[Mapping[str, float]]] = defaultdict(list)
        for _ in range(sizes.imports):
            for name, subject in imports.items():
                began = children_seconds()
                carry_out(subject)
                takes[name].append(children_seconds() - began)
        for _ in range(sizes.imports):
            for name in ("needed", *new_folders):
                times[name].append(self_seconds(carry_out(imports[name], "-X", "importtime")))
    processor = {name: median(seconds) for name, seconds in takes.items()}
    return Result((*of_processor(processor), *of_modules({name: smallest(runs) for name, runs in times.items()})))


def of_processor(seconds: Mapping[str, float]) -> Iterator[Figure]:
    """Iterate over the processor time of each import, with the ratios to what is needed and to the commit before."""
    yield Figure("what all need", seconds["needed"], "s")
    for kind in ("without", "with"):
        yield Figure(f"{kind} bytecode", seconds[kind], "s")
        yield Figure(f"{kind} bytecode, over needed", seconds[kind] / seconds["needed"])
        yield Figure(f"{kind} bytecode, over {BEFORE}", seconds[kind] / seconds[f"before, {kind}"])


def of_modules(seconds: Mapping[str, Mapping[str, float]]) -> Iterator[Figure]:
    """Iterate over the time within the modules of each package of ours, beside that of all modules that are needed."""
    needed = sum(seconds["needed"].values())
    for kind in ("without", "with"):
        for package in OURS:
            own = sum(time for module, time in seconds[kind].items() if module.partition(".")[0] == package)
            yield Figure(f"{package} {kind}", own, "s")
            yield Figure(f"{package} {kind}, over needed", own / needed)


def self_seconds(printed: str) -> dict[str, float]:
    """Return the seconds within each module, those of its imports left out, as `-X importtime` printed them."""
    return {line["module"]: int(line["microseconds"]) / 1e6 for line in _IMPORTED.finditer(printed)}


def smallest(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return the least time of each module: what else the machine does only adds to one."""
    return {module: min(run[module] for run in runs if module in run) for run in runs for module in run}


def carry_out(subject: Import, *options: str) -> str:
    """Carry the import out in a new process that writes no bytecode, and return what stands on its standard error."""
    dropped = {*SETTINGS, "PYTHONPATH"}
    environ = {name: value for name, value in os.environ.items() if name not in dropped}
    command = [sys.executable, "-B", *options, "-c", subject.statement]
    ended = subprocess.run(
        command,
        cwd=subject.folder,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=IMPORT_GUARD_SECONDS,
    )
    if ended.returncode:
        raise HostStartError(f"`{subject.statement}` failed. It said:\n{ended.stderr[-2000:]}")
    return ended.stderr


@contextmanager
def laid_out(root: Path) -> Iterator[dict[str, Path]]:
    """Yield two folders with what is deployed of that tree: `without` its bytecode, and `with`."""
    with temporary_folder() as parent:
        folders = {kind: parent / kind for kind in ("without", "with")}
        for folder in folders.values():
            folder.mkdir()
            for path in map(root.joinpath, DEPLOYED):
                if path.is_dir():
                    shutil.copytree(path, folder / path.name, ignore=shutil.ignore_patterns("__pycache__"))
                else:
                    shutil.copy(path, folder)
        subprocess.run([sys.executable, "-m", "compileall", "-q", str(folders["with"])], check=True)
        yield folders


def processor_clock() -> Callable[[], float]:
    """Return a function that returns the processor seconds of all processes that this one started and that ended."""
    try:
        import resource
    except ImportError:
        raise NotMeasuredError("Windows does not say what ended processes cost.") from None

    def children_seconds() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    return children_seconds
