"""Prints the reason if the start of an app fails, and its warnings: one sentence each, with the page to read.

And it keeps the garbage collector from a start, which it would make a tenth longer.

Theory. Azure's host hands on what is printed while it loads an app. Log records and the exception of that time it
drops: it says "0 functions loaded", and each route is 404. Whatever stops a start, in this library, in your modules or
for want of a package, leaves the script that the host imports (`function_app.py`). So the end of that import is the
one place to look: Python notes it on the module's spec, and this module has the spec print what the import ended by.
It does so from when it is imported, which any module of ours does; a script that imports it first has all the others
covered. It needs nothing but the standard library. Where no host runs the app, a traceback is shown instead.
"""

from __future__ import annotations

import gc
import inspect
import os
import re
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from pathlib import Path

SET_BY_HOSTS = ("AzureWebJobsScriptRoot", "WEBSITE_SITE_NAME", "WEBSITE_INSTANCE_ID")
"""Core Tools, the host's container images and the local host of this project set the first; Flex Consumption only the
second, App Service the other two."""

ENVIRONMENT = "AZURE_FUNCTIONS_ENVIRONMENT"
"""The setting in which Core Tools and the local host say "Development"; any other value is production."""

CODE = "configuration"
"""The code of this library's refusals at a start."""

MOST_CHARACTERS = 1000
_PAGES = (
    (r"AGENT_[A-Z]|AzureWebJobs", "docs/reference/settings.md"),
    (r"OPENAI_", "docs/guides/models.md"),
    (r"host\.json", "docs/reference/deployment.md"),
)
"""Pages by the subject of a refusal; docs/reference/hosting.md has the others."""


_DEPLOYED_PAGE = "docs/guides/deploying.md"
"""For an error of the app's own code, which its author sees at once on their own machine."""


def warn(sentence: str) -> None:
    """Print a warning of the start, which is to name the setting or the page."""
    print(sentence, file=sys.stderr, flush=True)


@contextmanager
def reported() -> Iterator[None]:
    """Print the exception that ends the block, and raise it again: the host calls this after the import."""
    try:
        yield
    except Exception as error:
        _print(error, Path.cwd())
        raise


def report_import(kind: type[_ReportedSpec] | None = None) -> bool:
    """Have the current import, the outermost of this thread, print its exception if it fails; return whether it is new.

    `kind` says what else its end does.
    """
    frame, spec = inspect.currentframe(), None
    while frame := frame and frame.f_back:
        found = frame.f_globals.get("__spec__") if frame.f_code.co_name == "<module>" else None
        if type(found) is ModuleSpec and getattr(found, "_initializing", False):
            spec = found
    if spec is not None:
        spec.__class__ = kind or _ReportedSpec
    return spec is not None


class _ReportedSpec(ModuleSpec):
    """The spec of a module that is imported; `_initializing` is set to False at the end, however the import ends."""

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        if name == "_initializing" and not value:
            self.__class__ = ModuleSpec  # type: ignore[assignment]
            error = sys.exc_info()[1]
            if error is not None and self.name not in sys.modules:  # else it is one around the import
                _print(error, Path(self.origin or "").parent)


class _UncollectedSpec(_ReportedSpec):
    """The same, and nothing is collected until the end of the import.

    What an import makes is code and classes: some 100,000 objects that stay. The collector would walk all of them
    again and again while they are made, and later in the middle of requests. So they are left out of its walks for
    good. A threshold of 0 stops it, and not `gc.disable`: what the app itself says to the collector meanwhile holds.
    """

    def __setattr__(self, name: str, value: object) -> None:
        try:
            super().__setattr__(name, value)
        finally:
            if name == "_initializing" and not value and not gc.get_threshold()[0]:
                gc.freeze()
                gc.set_threshold(*_THRESHOLDS)


def _print(error: BaseException, folder: Path) -> None:
    if any(os.environ.get(name) for name in SET_BY_HOSTS):
        print(why_no_start(error, folder), file=sys.stderr, flush=True)


def why_no_start(error: BaseException, folder: Path) -> str:
    """Return why the app in the folder does not start: the place, the cause and the remedy, in one line."""
    text = " ".join(str(getattr(error, "msg", None) or error).split())[:MOST_CHARACTERS]
    is_refusal = getattr(error, "code", None) == CODE
    if not is_refusal:
        text = f"{type(error).__name__}: {text}" if text else type(error).__name__
    text = text if text.endswith((".", "!", "?")) else f"{text}."
    if isinstance(error, ModuleNotFoundError):
        text += " Add its package to requirements.txt, or correct the name."
    page = "docs/reference/hosting.md" if is_refusal else _DEPLOYED_PAGE
    page = next((found for named, found in _PAGES if re.search(named, text)), page)
    where = _place(error, folder)
    is_without_page = "docs/" in text or (page == _DEPLOYED_PAGE and os.environ.get(ENVIRONMENT) == "Development")
    return f"The app does not start: {where}{text}" + ("" if is_without_page else f" See {page}.")


def _place(error: BaseException, folder: Path) -> str:
    """Return the last line of the app's own code on the way to the error; empty where there is none."""
    lines = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    if isinstance(error, SyntaxError) and error.filename:
        lines.append((error.filename, error.lineno))
    own = [(Path(file).relative_to(folder), line) for file, line in lines if _is_own(Path(file), folder)]
    return f"{own[-1][0].as_posix()}, line {own[-1][1]}: " if own else ""


def _is_own(file: Path, folder: Path) -> bool:
    """Return whether a file is the author's: in the folder, in no installed package, and in no library beside them."""
    if not file.is_relative_to(folder) or "site-packages" in file.parts:
        return False
    return not any((folder / above / "py.typed").is_file() for above in file.relative_to(folder).parents if above.name)


_THRESHOLDS = gc.get_threshold()
if report_import(_UncollectedSpec):
    gc.set_threshold(0, *_THRESHOLDS[1:])
