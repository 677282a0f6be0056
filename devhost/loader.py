"""Import the app's script and find the one app object in it (host contract 1.1)."""

from __future__ import annotations

import importlib
import os
import re
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import azure.functions as func
from azure.functions.decorators.function_app import Function as DeclaredFunction

from devhost.errors import AppLoadError

_SCRIPT_NAME = re.compile(r"[a-zA-Z0-9_][a-zA-Z0-9_\-]*\.py")


def load_declared_functions(folder: Path, script: str) -> Sequence[DeclaredFunction]:
    """Return the functions that the app declares, with the folder as current folder and first on `sys.path`.

    One app per process: the module stays imported, and asking the app for its functions works once only. Raises
    `AppLoadError` with the file, the line and what to do.
    """
    if not _SCRIPT_NAME.fullmatch(script):
        raise AppLoadError(f"PYTHON_SCRIPT_FILE_NAME must be the name of a Python file, but is {script!r}.")
    if not (folder / script).is_file():
        raise AppLoadError(f"There is no {script} in {folder}. Run the host in the folder of a Functions app.")
    os.chdir(folder)
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    module = _import_script(folder, script)
    app = _find_app(module, script)
    try:
        return list(app.get_functions())
    except Exception as error:
        raise AppLoadError(f"{script}: the app cannot list its functions: {error}") from error


def _import_script(folder: Path, script: str) -> ModuleType:
    try:
        return importlib.import_module(Path(script).stem)
    except SyntaxError as error:
        raise AppLoadError(f"{error.filename}, line {error.lineno}: {error.msg}. Correct the syntax.") from error
    except ModuleNotFoundError as error:
        advice = f"Install what brings '{error.name}' (pip install -r requirements.txt), or correct the name."
        raise AppLoadError(f"{_place(error, folder, script)}: {error}. {advice}") from error
    except (Exception, SystemExit) as error:
        text = f"{type(error).__name__}: {error}"
        raise AppLoadError(f"{_place(error, folder, script)}: {text}. Correct it and start again.") from error


def _place(error: BaseException, folder: Path, script: str) -> str:
    """Return file and line of the app's own code that failed: the last frame inside the folder."""
    inside = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if Path(frame.filename).is_relative_to(folder) and "site-packages" not in frame.filename
    ]
    return f"{inside[-1].filename}, line {inside[-1].lineno}" if inside else script


def _find_app(module: ModuleType, script: str) -> func.FunctionRegister:
    found = [name for name in vars(module) if isinstance(getattr(module, name), func.FunctionRegister)]
    if not found:
        raise AppLoadError(
            f"{script} has no app object. Create one at top level, for example app = func.FunctionApp()."
        )
    if len(found) > 1:
        names = ", ".join(found)
        raise AppLoadError(f"{script} has more than one app object or name for it: {names}. Keep one of them.")
    app: func.FunctionRegister = getattr(module, found[0])
    return app
