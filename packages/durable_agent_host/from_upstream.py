"""`new --from-upstream PATH`: an app that uses Microsoft's package becomes one that uses this.

Sources are changed where they import that package, by the positions of the syntax tree: nothing else of a file changes.
What a user has to change by hand is said, one sentence for each place.
"""

from __future__ import annotations

import ast
import io
import json
import re
import shutil
import tokenize
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from packages.durable_agent_host.source_text import SourceText, UnreadableSourceError

OURS = "durable_agent_host"
PROJECT = "durable-agent-host"
THEIRS = ("agent_framework_azurefunctions", "agent_framework_durabletask")
NAMESPACE = "agent_framework.azure"
"""Of agent-framework: it has the names of both packages above, and those of connectors, which stay."""
KEPT = ("AgentCallbackContext", "AgentFunctionApp", "AgentResponseCallbackProtocol", "WorkflowHitlContext")
"""What both packages have under one name."""
INSTEAD = {
    "DurableAIAgent": "It is only a type: the result of app.get_agent(context, name) needs no import",
    "DurableAIAgentClient": "Use AgentClient, as docs/guides/console.md says",
    "DurableAIAgentOrchestrationContext": "Call worker.get_agent(context, name), as docs/guides/console.md says",
    "DurableAIAgentWorker": "Use AgentWorker, as docs/guides/console.md says",
    "DurableWorkflowClient": "Call the workflow by app.get_agent(context, name), or over HTTP",
    "INHERIT": "Leave out the option that has it",
    "runtime_status_name": "Write status.runtime_status.name",
}
OPTIONS = {
    "entity_id": "add_agent has no entity_id: an agent's entity is dafx-<agent name>. Leave it out",
    "workflow_name": "add_agent has no workflow_name: give WorkflowBuilder(name=...). Leave it out",
}
LEFT_BEHIND = shutil.ignore_patterns(
    *(".git", ".venv", "venv", ".azure", ".devhost", ".agents", ".python_packages", "node_modules", "__pycache__"),
    *(
        "*.py[cod]",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        "__azurite_db*",
        "__blobstorage__",
        "__queuestorage__",
    ),
)
"""What is made again, or is another repository's."""


@dataclass
class Moved:
    """An app's files, rewritten: each path below the app's folder with its bytes, and what is left to do."""

    files: dict[str, bytes] = field(default_factory=dict)
    rewritten: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


def move(source: Path, pin: str, of_template: Callable[[str], str]) -> Moved:
    """Read the app in `source`; `of_template` returns a file of the template, with which the user's is merged."""
    moved = Moved()
    for path in app_files(source):
        name, content = path.relative_to(source).as_posix(), path.read_bytes()
        if path.suffix == ".py":
            changed, left = rewritten(content, name)
            moved.left += left
        elif name == "requirements.txt":
            changed, left = _required(content.decode("utf-8-sig"), pin)
            moved.left += left
        elif name == "host.json":
            changed = _merged_host(content, of_template(name), moved.left)
        else:
            changed = content
            moved.left += _said_elsewhere(path, name)
        if changed != content:
            moved.rewritten.append(name)
        moved.files[name] = changed
    if "requirements.txt" not in moved.files:
        moved.left.append(
            f"requirements.txt: there is none in {source}. The new one has {pin} alone; add what else you use."
        )
    return moved


def uses_upstream(source: Path) -> bool:
    """Tell whether a Python file of the folder names Microsoft's package, or a name of it."""
    named = re.compile(rb"agent_framework_azurefunctions|agent_framework_durabletask|AgentFunctionApp")
    return any(path.suffix == ".py" and named.search(path.read_bytes()) for path in app_files(source))


def app_files(folder: Path) -> Iterator[Path]:
    """Iterate over the files of an app, without what is made again, environments and links."""
    names = sorted(path.name for path in folder.iterdir())
    left = LEFT_BEHIND(str(folder), names)
    for name in names:
        path = folder / name
        if name in left or path.is_symlink() or (path / "pyvenv.cfg").is_file():
            continue
        if path.is_dir():
            yield from app_files(path)
        elif path.is_file():
            yield path


def rewritten(content: bytes, name: str) -> tuple[bytes, list[str]]:
    """Return a source with our imports, and what is left to do in it."""
    try:
        source = _Source(content)
    except UnreadableSourceError as error:
        return content, [f"{name}: it is not readable Python ({error}), and was copied as it is."]
    source.read()
    left = [f"{name}:{source.line_after(line)}: {sentence}." for line, sentence in sorted(source.left)]
    return source.changed(), left


class _Source(SourceText):
    """One module, with what is left to do in it."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.left: list[tuple[int, str]] = []
        self._modules: dict[str, str] = {}
        """Names by which the module knows one of the packages."""

    def read(self) -> None:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and not node.level:
                self._import_from(node)
            elif isinstance(node, ast.Import):
                self._import(node)
        docstrings = set(_docstrings(self.tree))
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Attribute):
                self._attribute(node)
            elif isinstance(node, ast.Call):
                self._call(node)
            elif isinstance(node, ast.Constant) and node not in docstrings and _names_theirs(node.value):
                self._say(node, f"the string {node.value!r} names Microsoft's package. Name ours, or leave it out")

    def _import_from(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        if module == "agent_framework":
            for alias in node.names:
                if alias.name == "azure":
                    self._modules[alias.asname or "azure"] = NAMESPACE
            return
        if module != NAMESPACE and module.split(".")[0] not in THEIRS:
            return
        ours = [alias for alias in node.names if alias.name in KEPT]
        others = [alias for alias in node.names if alias.name not in KEPT]
        for alias in others:
            self._say_missing(node, module, alias.name)
        if ours and others:
            self.put_node(node, self._statements(node, module, ours, others))
        elif ours:
            self.put_node(node, _MODULE.sub(f"from {OURS}", self.text(node), count=1))

    def _statements(
        self, node: ast.ImportFrom, module: str, ours: Sequence[ast.alias], others: Sequence[ast.alias]
    ) -> str:
        """Return a statement for each package, below the comments that stood inside, over lines if it was so."""
        text, start = self.text(node), self.offset(node.lineno, 0)
        before = self.content[start : start + node.col_offset].decode("utf-8")
        lines = [_from(module, others), _from(OURS, ours)]
        if before.strip():
            return "; ".join(lines)
        separator = self.newline + before
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
        comments = [token.string for token in tokens if token.type == tokenize.COMMENT]
        is_one_line = node.lineno == node.end_lineno
        said = [token.string for token in tokens if token.type in (tokenize.NAME, tokenize.OP)]
        is_spread = said[-2:] == [",", ")"] and not is_one_line
        lines = [
            _folded(line, separator)
            if len(names) > 1 and (is_spread or (len(before + line) > _WIDEST and not is_one_line))
            else line
            for line, names in zip(lines, (others, ours), strict=True)
        ]
        return separator.join([*comments, *lines])

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            top = alias.name.split(".")[0]
            if alias.name == NAMESPACE:
                self._modules[alias.asname or NAMESPACE] = NAMESPACE
            elif top in THEIRS and alias.name == top:
                self._modules[alias.asname or top] = top
                start = self.offset(alias.lineno, alias.col_offset)
                self.put(start, start + len(top), OURS)
            elif top in THEIRS:
                self._say(node, f"{alias.name} is a module of Microsoft's package that has no counterpart")

    def _attribute(self, node: ast.Attribute) -> None:
        module = self._modules.get(ast.unparse(node.value))
        if module is None:
            return
        if module == NAMESPACE:
            if node.attr in KEPT:
                self._say(node, f"{ast.unparse(node)} is Microsoft's. Write `from {OURS} import {node.attr}`")
            else:
                self._say_missing(node, module, node.attr)
            return
        if isinstance(node.value, ast.Name) and node.value.id == module:
            start = self.offset(node.value.lineno, node.value.col_offset)
            self.put(start, start + len(module), OURS)
        if node.attr not in KEPT:
            self._say_missing(node, module, node.attr)

    def _call(self, node: ast.Call) -> None:
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called == "add_agent":
            for keyword in node.keywords:
                if keyword.arg in OPTIONS:
                    self._say(keyword.value, OPTIONS[keyword.arg])

    def _say_missing(self, node: ast.AST, module: str, name: str) -> None:
        if module == NAMESPACE:
            if name in INSTEAD:
                self._say(node, f"{name} is not in {OURS}. {INSTEAD[name]}")
            elif name not in _of_namespace():
                self._say(
                    node,
                    f"the agent-framework that {PROJECT} needs has no {NAMESPACE}.{name} any more. Use another client",
                )
        elif not (name.startswith("__") and name.endswith("__")):
            shown = "everything" if name == "*" else name
            self._say(node, f"{shown} is not in {OURS}. {INSTEAD.get(name, f'It was imported from {module}')}")

    def _say(self, node: ast.AST, sentence: str) -> None:
        self.left.append((getattr(node, "lineno", 1), sentence))


_MODULE = re.compile(r"^from\s+[\w.]+")
_WIDEST = 88
"""An import that stood on several lines and is longer on one is written a name a line, as formatters do."""


def _docstrings(tree: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            yield node.value


def _names_theirs(value: object) -> bool:
    return isinstance(value, str) and value.split(".")[0] in THEIRS


def _from(module: str, names: Sequence[ast.alias]) -> str:
    return f"from {module} import {', '.join(map(ast.unparse, names))}"


def _folded(statement: str, separator: str) -> str:
    head, _, names = statement.partition(" import ")
    lines = [f"{head} import (", *(f"    {name}," for name in names.split(", ")), ")"]
    return separator.join(lines)


def _of_namespace() -> Sequence[str]:
    return dir(import_module(NAMESPACE))


_PROJECT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_NO_PROJECTS = tuple(name.replace("_", "-") for name in THEIRS)


def _required(text: str, pin: str) -> tuple[bytes, list[str]]:
    """Return the requirements with our pin in place of their projects, and what is left to do."""
    left: list[str] = []
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        found = _PROJECT.match(line)
        project = re.sub(r"[-_.]+", "-", found[1]).lower() if found else ""
        if project == PROJECT or project in _NO_PROJECTS:
            if pin not in lines:
                lines.append(pin)
            continue
        lines.append(line)
        place = f"requirements.txt:{number}"
        if project == "agent-framework":
            left.append(
                f"{place}: agent-framework brings Microsoft's hosting packages too. Name agent-framework-core "
                "and the clients that you use."
            )
        elif line.lstrip().startswith(("-e", "--editable", ".", "/", "-r", "-c")):
            left.append(f"{place}: {line.strip()!r} names a path. Check that it is there from the new folder.")
    if pin not in lines:
        lines.append(pin)
    return ("\n".join(lines) + "\n").encode("utf-8"), left


def _merged_host(content: bytes, template: str, left: list[str]) -> bytes:
    """Return the template's host.json with the user's values over it, but for the extension bundle's version."""
    try:
        own = json.loads(content.decode("utf-8-sig"))
    except ValueError as error:
        left.append(f"host.json: it is not JSON ({error}), and the template's is there instead.")
        return template.encode("utf-8")
    base = json.loads(template)
    merged = _over(base, own)
    if "extensionBundle" in own and own["extensionBundle"] != base["extensionBundle"]:
        merged["extensionBundle"] = base["extensionBundle"]
        left.append(
            f"host.json: extensionBundle was {json.dumps(own['extensionBundle'])}. The template's is there now, "
            "because the app needs what it has."
        )
    # Without a name the hub is called as the site is, and another name would be another, empty app.
    if "hubName" not in own.get("extensions", {}).get("durableTask", {}):
        merged["extensions"]["durableTask"].pop("hubName", None)
    return (json.dumps(merged, indent=2) + "\n").encode("utf-8")


def _over(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in own.items():
        below = merged.get(key)
        merged[key] = _over(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return merged


_TEXTS = (".toml", ".cfg", ".yml", ".yaml", ".lock", ".txt", ".sh")
_NAMED = re.compile(r"agent[-_]framework[-_](?:azurefunctions|durabletask)")


def _said_elsewhere(path: Path, name: str) -> Iterator[str]:
    """Iterate over the places where a file that is no code names their projects; a lock file is said once."""
    if path.suffix not in _TEXTS and path.name != "Dockerfile":
        return
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        found = _NAMED.search(line)
        if found and path.suffix == ".lock":
            yield f"{name}: it locks {found[0]}. Create it again."
            return
        if found:
            yield f"{name}:{number}: it names {found[0]}. Name {PROJECT} instead."
