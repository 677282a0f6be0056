"""What `add` reads of an app: `function_app.py`, the modules that it imports, and the agents that they make by name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from packages.durable_agent_host.adding.module import Module, UnknownShapeError

FUNCTION_APP = "function_app.py"
CLASS = "AgentFunctionApp"
LIBRARIES = ("hosting", "state", "devhost")
"""Folders of a clone that are not the app's own."""


@dataclass(frozen=True)
class Maker:
    """A call that makes an agent of a name that is written there."""

    module: Module
    call: ast.Call
    agent: str


class App:
    """The app in a folder; nothing of it is imported or run."""

    def __init__(self, folder: Path) -> None:
        """Read `function_app.py`; raises `UnknownShapeError` and `OSError`."""
        self.folder = folder
        self.main = Module(FUNCTION_APP, (folder / FUNCTION_APP).read_bytes())

    @cached_property
    def made(self) -> tuple[str, ast.Call, ast.stmt]:
        """The name of the app object, the call that makes it and its statement; raises `UnknownShapeError`."""
        names = {
            alias.asname or alias.name
            for node in self.main.tree.body
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
            if alias.name == CLASS
        }
        made = [
            (name, value, statement)
            for name, value, statement in self.main.assigned()
            if isinstance(value, ast.Call)
            and (ast.unparse(value.func) in names or ast.unparse(value.func).endswith(f".{CLASS}"))
        ]
        if len(made) != 1:
            raise UnknownShapeError(f"{FUNCTION_APP} has {len(made)} statements `app = {CLASS}(...)` at its top level")
        return made[0]

    @property
    def library(self) -> str:
        """The package that the app has the library from: `durable_agent_host`, or in a clone the folder's name."""
        _, call, _ = self.made
        name = ast.unparse(call.func)
        for node in self.main.tree.body:
            if isinstance(node, ast.ImportFrom) and any((alias.asname or alias.name) == name for alias in node.names):
                return (node.module or "").partition(".")[0]
        return name.partition(".")[0]

    @cached_property
    def modules(self) -> dict[str, Module]:
        """`function_app.py` and the modules of the app that it imports, also by others, as far as they are Python."""
        modules = {FUNCTION_APP: self.main}
        waiting = [self.main]
        while waiting:
            for path in self._imported(waiting.pop()):
                name = path.relative_to(self.folder).as_posix()
                if name not in modules:
                    try:
                        modules[name] = Module(name, path.read_bytes())
                    except (UnknownShapeError, OSError):
                        continue
                    waiting.append(modules[name])
        return modules

    def _imported(self, module: Module) -> Iterator[Path]:
        names = set[str]()
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                package = list(Path(module.name).parts[: -node.level]) if node.level else []
                base = ".".join([*package, *([node.module] if node.module else [])])
                names |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
        for name in sorted(names):
            if name.partition(".")[0] not in LIBRARIES and all(part.isidentifier() for part in name.split(".")):
                path = self.folder.joinpath(*name.split("."))
                yield from (file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file())

    @cached_property
    def makers(self) -> list[Maker]:
        """The calls that make agents by a name that is written: `Agent(name="...")`, `client.as_agent(name="...")`."""
        return [
            Maker(module, call, str(keyword.value.value))
            for module in self.modules.values()
            for call in module.calls()
            if ast.unparse(call.func).lower().endswith("agent")
            for keyword in call.keywords
            if keyword.arg == "name"
            and isinstance(keyword.value, ast.Constant)
            and isinstance(keyword.value.value, str)
        ]

    def client(self) -> str:
        """Return the name in `function_app.py` of the chat client; raises `UnknownShapeError` unless it is sure."""
        _, made, _ = self.made
        assigned = {
            name for name, value, _ in self.main.assigned() if isinstance(value, ast.Call) and value is not made
        }
        handed = {
            argument.id
            for call in self.main.calls()
            for argument in [
                *call.args,
                *(each.value for each in call.keywords if each.arg in ("client", "chat_client")),
            ]
            if isinstance(argument, ast.Name) and argument.id in assigned
        }
        called = {name for name in assigned if name.endswith("client")}
        for names in (handed & called, handed, called):
            if len(names) == 1:
                return names.pop()
        raise UnknownShapeError(f"{FUNCTION_APP} has no chat client, or several: {', '.join(sorted(called)) or 'none'}")
