"""The command: it plans what is written, then shows it or writes it."""

from __future__ import annotations

import argparse
import ast
import builtins
import keyword
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from packages.durable_agent_host.adding.app import FUNCTION_APP, App, Maker
from packages.durable_agent_host.adding.changes import Change, OutsideError, difference, write
from packages.durable_agent_host.adding.module import Module, UnknownShapeError
from packages.durable_agent_host.adding.pieces import PIECES, Piece, rendered

_NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_LONGEST_NAME, _SHORTEST_QUEUE = 60, 3
_DEVICES = {"con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10))}
"""Names that no file has on Windows."""


class RefusedError(Exception):
    """Nothing is added; the message says why, and what to do."""


def main(arguments: Sequence[str]) -> int:
    """Add to the app, or show what would be added; return 0, or 1 if it is refused, with nothing written."""
    parser = argparse.ArgumentParser("durable-agent-host add", description="Add a part to an app, with its test.")
    parser.add_argument("kind", choices=PIECES, metavar="|".join(PIECES), help="what to add")
    parser.add_argument("name", metavar="NAME", help="its name: lower-case words, joined by underscores")
    parser.add_argument("--agent", help="the agent of a tool, a schedule or a trigger, if the app has several")
    parser.add_argument("--app", type=Path, default=Path(), metavar="FOLDER", help="the app's folder (.)")
    parser.add_argument("--dry-run", action="store_true", help="print the difference and write nothing")
    options = parser.parse_args(arguments)
    folder: Path = options.app.resolve()
    try:
        changes = plan(folder, options.kind, options.name, options.agent)
        if options.dry_run:
            print(*difference(changes), sep="\n")
            return 0
        write(folder, changes)
    except (RefusedError, OutsideError) as error:
        print(error, file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{folder} cannot be written: {error.strerror}. Nothing was changed.", file=sys.stderr)
        return 1
    print(f"Added the {options.kind} {options.name}:", "", sep="\n")
    print(
        *(f"    {name}: {'new' if change.before is None else 'changed'}" for name, change in changes.items()), sep="\n"
    )
    return 0


def plan(folder: Path, kind: str, name: str, agent: str | None = None) -> dict[str, Change]:
    """Return what becomes of which files, `function_app.py` last; raises `RefusedError`."""
    piece = PIECES[kind]
    _check_name(kind, name)
    if agent is not None and not piece.needs_agent:
        raise RefusedError(f"--agent is for {_listed([kind for kind, each in PIECES.items() if each.needs_agent])}.")
    if not (folder / FUNCTION_APP).is_file():
        raise RefusedError(f"{folder} has no {FUNCTION_APP}. Name the app's folder with --app.")
    imported = piece.name.replace("NAME", name)
    try:
        return _planned(App(folder), piece, kind, name, agent)
    except UnknownShapeError as error:
        raise RefusedError(
            f"{error}. So the {kind} was not added, and nothing was changed. Write it by hand, as "
            f"docs/guides/adding.md shows: {piece.folder}/{name}.py, `from {piece.folder}.{name} import {imported}`, "
            f"and {_use(kind, imported)}."
        ) from None


def _planned(app: App, piece: Piece, kind: str, name: str, agent: str | None) -> dict[str, Change]:
    app_name, call, statement = app.made
    imported, module = piece.name.replace("NAME", name), f"{piece.folder}.{name}"
    maker = _maker(app, agent) if piece.needs_agent else None
    changed = maker.module if maker and kind == "tool" else app.main
    if kind in ("agent", "workflow"):
        _check_free(app, name)
    texts = _texts(app, piece, kind, name, maker.agent if maker else "")
    if imported in changed.bound():
        raise RefusedError(f"{changed.name} has the name {imported} already. Choose another name.")
    if kind == "agent":
        changed.add_to_list(call, "agents", 0, f"{imported}({app.client()})")
    elif kind == "workflow":
        changed.add_to_list(call, "workflows", None, imported)
    elif kind == "tool" and maker:
        changed.add_to_list(maker.call, "tools", None, imported)
    else:
        changed.add_statement(_last_addition(app.main, app_name, statement), f"{imported}({app_name})")
    changed.add_import(module, imported)
    after = changed.changed()
    _check_result(changed, after)
    changes = {path: _new(app.folder, path, text) for path, text in texts.items()}
    return {**{path: change for path, change in changes.items() if change}, changed.name: Change(changed.before, after)}


def _texts(app: App, piece: Piece, kind: str, name: str, agent: str) -> dict[str, str]:
    """Return the new files by their paths; raises `RefusedError` for a name that their own code uses."""
    has_models = (app.folder / "agents" / "models.py").is_file()
    code, test = (rendered(text, name, agent, app.library, has_models=has_models) for text in (piece.code, piece.test))
    bound = Counter(Module(f"{name}.py", code.encode("utf-8")).bound())
    twice = [each for each, count in bound.items() if count > 1]
    if twice:
        raise RefusedError(f"The code of a {kind} uses the name {twice[0]} itself. Choose another name.")
    folder = app.folder / piece.folder
    if folder.with_suffix(".py").exists():
        raise RefusedError(
            f"{piece.folder}.py is there, and a folder {piece.folder}/ would be imported instead. Rename the file."
        )
    is_package = any(folder.glob("*.py"))  # a command that was killed may have left an empty folder
    about = {} if is_package else {f"{piece.folder}/__init__.py": f'"""{piece.about}"""\n'}
    return {**about, f"{piece.folder}/{name}.py": code, f"tests/test_{kind}_{name}.py": test}


def _new(folder: Path, name: str, text: str) -> Change | None:
    """Return a new file, or None if it is there as it would be written; raises `RefusedError` for another file."""
    path, content = folder / name, text.encode("utf-8")
    if not (path.exists() or path.is_symlink()):
        return Change(None, content)
    if path.is_file() and path.read_bytes() == content:
        return None
    raise RefusedError(f"{name} is there already. Choose another name, or remove the file.")


def _check_name(kind: str, name: str) -> None:
    shown = ascii(name[:_LONGEST_NAME])
    if not _NAME.fullmatch(name) or len(name) > _LONGEST_NAME:
        raise RefusedError(
            f"The name {shown} cannot be used. Give lower-case letters and digits, in words joined by single "
            f"underscores, as find_order: at most {_LONGEST_NAME} characters, and a letter first."
        )
    if keyword.iskeyword(name) or keyword.issoftkeyword(name) or hasattr(builtins, name):
        raise RefusedError(f"{name} is a word of Python. Choose another name.")
    if name in _DEVICES:
        raise RefusedError(f"No file on Windows can have the name {name}. Choose another name.")
    if kind == "trigger" and len(name) < _SHORTEST_QUEUE:
        raise RefusedError(
            f"{name} becomes the name of a queue, which has at least three letters. Choose a longer name."
        )


def _check_free(app: App, name: str) -> None:
    """Raise `RefusedError` if an agent or a workflow has the name; the app distinguishes no letter cases."""
    for module in app.modules.values():
        for call in module.calls():
            for argument in call.keywords:
                value = argument.value
                if argument.arg == "name" and isinstance(value, ast.Constant) and str(value.value).lower() == name:
                    raise RefusedError(f"{module.name}:{call.lineno} has the name {name} already. Choose another name.")


def _maker(app: App, agent: str | None) -> Maker:
    """Return the call that makes the agent that is meant; raises `RefusedError` or `UnknownShapeError`."""
    makers, names = app.makers, sorted({maker.agent for maker in app.makers})
    if not makers:
        raise UnknownShapeError(f"no agent with a written name is found in {FUNCTION_APP} and what it imports")
    if agent is None and len(names) > 1:
        raise RefusedError(f"The app has the agents {_listed(names)}. Choose one with --agent.")
    meant = [maker for maker in makers if agent in (None, maker.agent)]
    if not meant:
        raise RefusedError(f"There is no agent {agent!a}. Found: {_listed(names)}.")
    if len(meant) > 1:
        raise UnknownShapeError(f"the agent {meant[0].agent} is made in {len(meant)} places")
    if not meant[0].agent.isprintable() or {*meant[0].agent} & {'"', "\\"}:
        raise UnknownShapeError(f"the name of the agent {meant[0].agent!a} has quotes or signs that are not printed")
    return meant[0]


def _last_addition(main: Module, app_name: str, statement: ast.stmt) -> ast.stmt:
    """Return the last statement that hands the app to a function of this command, or the one that makes the app."""
    additions = [
        each
        for each in main.tree.body
        if isinstance(each, ast.Expr) and re.fullmatch(rf"add_\w+\({re.escape(app_name)}\)", ast.unparse(each))
    ]
    return additions[-1] if additions else statement


def _check_result(module: Module, after: bytes) -> None:
    """Raise `UnknownShapeError` unless what would be written is Python."""
    try:
        Module(module.name, after)
    except UnknownShapeError:
        raise UnknownShapeError(f"{module.name} is written in a way that this command does not know") from None


def _use(kind: str, imported: str) -> str:
    return {
        "agent": f"{imported}(CLIENT) in agents=[...] of {FUNCTION_APP}",
        "tool": f"{imported} in tools=[...] of the agent",
        "workflow": f"{imported} in workflows=[...] of {FUNCTION_APP}",
    }.get(kind, f"{imported}(app) at the end of {FUNCTION_APP}")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)
