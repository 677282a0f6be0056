"""The app, loaded and indexed: everything that can be wrong with it is refused here, before anything runs (1.1).

Its script is imported, and the one app object in it asked for its functions.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, TextIO

import azure.functions as func
from azure.functions.decorators.function_app import Function as DeclaredFunction

from devhost.errors import AppLoadError, FunctionLoadError, sentence
from devhost.groups import Group, find_group
from devhost.http.routes import RouteTable, build_routes
from devhost.index import FunctionIndex, build_index
from devhost.mcp.catalog import Catalog, find_catalog
from devhost.settings import FILE as HOST_FILE
from devhost.settings import HostSettings
from devhost.signature import place_of
from devhost.timers import Timer, find_timers

_SCRIPT_NAME = re.compile(r"[a-zA-Z0-9_][a-zA-Z0-9_\-]*\.py")


@dataclass(frozen=True)
class Introduction:
    """What the app object says of itself in an attribute `introduction`, which any app may have.

    It is a mapping: `lines` to print at start-up, the functions to leave out of the list there (`details`), the
    `request` to try first, as the name of its function and the text to send, and the functions that answer with its
    `openapi` document and with a `page` for a browser. `doors` are addresses for clients by their titles: of each the
    function, and what follows in the path.
    """

    lines: tuple[str, ...] = ()
    details: frozenset[str] = frozenset()
    request: tuple[str, str] | None = None
    openapi: str | None = None
    page: str | None = None
    doors: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, app: object) -> Introduction:
        """Return what the app says; nothing for most apps."""
        shown = getattr(app, "introduction", None)
        if not isinstance(shown, Mapping):
            return cls()
        function, text = shown.get("request") or ("", "")
        request = (str(function), str(text)) if function else None
        lines, details = tuple(shown.get("lines", ())), frozenset(shown.get("details", ()))
        return cls(lines, details, request, shown.get("openapi"), shown.get("page"), shown.get("doors", {}))


@dataclass(frozen=True)
class HostedApp:
    """One Functions app, ready to be served; routes and timers are those that this host's group listens for."""

    settings: HostSettings
    group: Group
    index: FunctionIndex
    routes: RouteTable
    mcp: Catalog
    timers: tuple[Timer, ...]
    introduction: Introduction


def load_hosted_app(settings: HostSettings, environ: Mapping[str, str]) -> HostedApp:
    """Import the app of the settings' folder and return it; raise `HostError` with what to mend."""
    return load_imported_app(lambda: _imported(settings.folder, settings.script), settings, environ)


def load_imported_app(
    imported: Callable[[], ModuleType], settings: HostSettings, environ: Mapping[str, str]
) -> HostedApp:
    """Return the app of the module that `imported` returns; raises as `load_hosted_app` does."""
    declared, introduction = _declared_functions(imported, settings.folder, settings.script)
    try:
        return _indexed(declared, introduction, settings, environ)
    except FunctionLoadError as error:
        handlers = {str(function.get_function_name()): function.get_user_function() for function in declared}
        place = place_of(handlers[error.function_name])
        raise FunctionLoadError(error.function_name, error.reason, place) from error


def _indexed(
    declared: Sequence[DeclaredFunction],
    introduction: Introduction,
    settings: HostSettings,
    environ: Mapping[str, str],
) -> HostedApp:
    index = build_index(declared, settings, environ)
    group = find_group(settings.group, index)
    # All of it is read, whatever the group: what is wrong with an app must not depend on who hosts it.
    routes, timers = build_routes(index, settings.route_prefix), find_timers(index)
    return HostedApp(
        settings,
        group,
        index,
        RouteTable(route for route in routes.routes if group.listens_for(route.function)),
        find_catalog(index),
        tuple(timer for timer in timers if group.listens_for(timer.function)),
        introduction,
    )


def _imported(folder: Path, script: str) -> ModuleType:
    """Return the app's module, with the folder as current folder and first on `sys.path`.

    One app per process: the module stays imported.
    """
    os.chdir(folder)
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    return importlib.import_module(Path(script).stem)


def _declared_functions(
    imported: Callable[[], ModuleType], folder: Path, script: str
) -> tuple[Sequence[DeclaredFunction], Introduction]:
    """Return the functions that the app declares, and what it says of itself.

    Asking an app for its functions works once only. Raises `AppLoadError` with the file, the line and what to do.
    """
    if not _SCRIPT_NAME.fullmatch(script):
        raise AppLoadError(f"PYTHON_SCRIPT_FILE_NAME must be the name of a Python file, but is {script!r}.")
    if not (folder / script).is_file():
        raise AppLoadError(f"There is no {script} in {folder}. Run the host in the folder of a Functions app.")
    with _explained(folder, script):
        module = imported()
    app = _find_app(module, script)
    with _explained(folder, script):
        return list(app.get_functions()), Introduction.of(app)


@contextmanager
def _explained(folder: Path, script: str) -> Iterator[None]:
    """Raise what ends the block as `AppLoadError`, which knows whether the app has printed it: once is enough."""
    errors = sys.stderr
    sys.stderr = printed = _Printed(errors)
    try:
        yield
    except (Exception, SystemExit) as error:
        message = " ".join(str(error).split())
        is_printed = bool(message) and message in " ".join("".join(printed.texts).split())
        raise AppLoadError(_explanation(error, message, folder, script), is_printed=is_printed) from error
    finally:
        sys.stderr = errors


class _Printed:
    """A stream that keeps what passes through it."""

    def __init__(self, stream: TextIO) -> None:
        self.texts: list[str] = []
        self._stream = stream

    def write(self, text: str) -> int:
        self.texts.append(text)
        return self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _explanation(error: BaseException, message: str, folder: Path, script: str) -> str:
    """Return place, cause and what to do, each once; what the error says itself to do is enough."""
    if isinstance(error, SyntaxError) and error.filename and Path(error.filename).is_file():
        return f"{error.filename}, line {error.lineno}: {sentence(error.msg)} Correct the syntax."
    if isinstance(error, json.JSONDecodeError) and error.doc == (folder / HOST_FILE).read_text():
        where = f"{folder / HOST_FILE}, line {error.lineno}: {sentence(error.msg)}"
        return f"{where} A package of the app takes neither a byte order mark nor comments there. Remove them."
    kind = "" if isinstance(error, ModuleNotFoundError) else type(error).__name__
    reason = sentence(": ".join(filter(None, [kind, message])))
    return " ".join(filter(None, [f"{_place(error, folder, script)}: {reason}", _advice(error, message, folder)]))


def _advice(error: BaseException, message: str, folder: Path) -> str:
    if not isinstance(error, ModuleNotFoundError):
        return "" if message.endswith(".") else "Correct it."
    package = (error.name or "").partition(".")[0]
    if (folder / package).is_dir() or (folder / f"{package}.py").is_file():
        return "Correct the name."
    return f"Install the package of '{error.name}' (add its package to requirements.txt), or correct the name."


def _place(error: BaseException, folder: Path, script: str) -> str:
    """Return file and line of the last frame in code that the app's author wrote."""
    stack = traceback.extract_tb(error.__traceback__)
    written = [frame for frame in stack if _is_written_here(Path(frame.filename), folder)]
    return f"{written[-1].filename}, line {written[-1].lineno}" if written else script


def _is_written_here(file: Path, folder: Path) -> bool:
    """Return whether the file is the author's own: in the folder, and in no installed package and no library.

    A library that lies in the app's folder says what it is as installed ones do, by its `py.typed` (PEP 561).
    """
    if not file.is_relative_to(folder) or "site-packages" in file.parts:
        return False
    above = file.relative_to(folder).parents
    return not any((folder / package / "py.typed").is_file() for package in above if package.name)


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
