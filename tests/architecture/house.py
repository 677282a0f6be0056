"""The house: the rooms of `hosting/` and of its core, the floor of each, and the arrows between them."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.architecture.imports import ROOT, import_statements, names_of


@dataclass(frozen=True)
class House:
    """A package whose parts stand on floors, from the ground up; a name is that of a folder, or of a file beside them.

    The files of one floor may know each other.
    """

    package: str
    floors: tuple[tuple[str, ...], ...]

    @property
    def folder(self) -> Path:
        """The package's folder."""
        return ROOT / self.package.replace(".", "/")

    @cached_property
    def floor(self) -> dict[str, int]:
        """The floor of each part."""
        return {name: number for number, names in enumerate(self.floors) for name in names}

    @cached_property
    def files(self) -> set[str]:
        """The parts that are files."""
        return {name for name in self.floor if (self.folder / f"{name}.py").exists()}

    @property
    def rooms(self) -> set[str]:
        """The parts that are folders."""
        return set(self.floor) - self.files

    def arrows(self) -> Iterator["Arrow"]:
        """Iterate over the imports that leave a part, also those inside functions and for type checking only."""
        depth = self.package.count(".") + 1
        for path in sorted(self.folder.rglob("*.py")):
            start = path.relative_to(self.folder).parts[0].removesuffix(".py")
            for node in import_statements(path):
                names = (name for name in names_of(node) if name.startswith(f"{self.package}."))
                for end in {name.split(".")[depth] for name in names} - {start}:
                    yield Arrow(self, path, node.lineno, node, start, end)


@dataclass(frozen=True)
class Arrow:
    """One import between two parts of a house."""

    house: House
    path: Path
    line: int
    statement: ast.Import | ast.ImportFrom
    start: str
    end: str

    @property
    def is_down(self) -> bool:
        """Whether it leads to a floor below, or from a file to another one of its floor."""
        start, end = self.house.floor[self.start], self.house.floor[self.end]
        return end < start or (end == start and {self.start, self.end} <= self.house.files)

    def __str__(self) -> str:
        """The line to mend, and why."""
        line = f"{self.path.relative_to(ROOT)}:{self.line}: {ast.unparse(self.statement)}"
        floor = self.house.floor
        return f"{line}  ({self.start}, floor {floor[self.start]}, to {self.end}, floor {floor[self.end]})"


GROUND = (
    *("errors", "names", "ports", "listing", "settings", "host_settings", "invocation", "azure_log", "start_up"),
    *("tools", "options", "plan", "principal", "bearer", "visible", "exchange", "amounts", "workflows", "offline"),
    *("skills", "client_tools", "session_data", "schemas", "authorizations", "user_tokens", "issued_tokens"),
    *("entra", "upstream", "model_options", "metadata", "page_context", "run_context", "progress", "shared_state"),
    *("embeddings", "citations", "outside", "orchestrations", "words"),
)
"""The files of the lowest floor."""

HOSTING = House(
    "hosting",
    (
        GROUND,
        ("strict_json",),
        ("core",),
        ("http", "store_choice", "task_hub", "client"),
        ("feature",),
        ("features",),
        ("functions", "console", "evaluation", "testing"),
        ("app", "assembly", "commands"),
    ),
)

CORE = House(
    "hosting.core",
    (
        ("thread", "stores"),
        ("request",),
        ("telemetry", "recent", "references", "turns", "thread_log", "cells", "hooks"),
        ("agent",),
        tuple(
            sorted(
                {path.stem for path in (ROOT / "hosting" / "core").glob("[a-z]*.py")}
                - {"telemetry", "recent", "references", "turns", "thread_log", "cells", "hooks"}
            )
        ),
        ("entity",),
    ),
)
"""One durable thread, and its runs: all that every feature stands on. The verbs are files of one floor."""

FEATURES_BELOW = {"bearer"}
"""The files in which features are described, although they stand below the core."""

STILL_KNOWN: dict[str, set[str]] = {}
"""The modules of the core that import some of that or of a room above still: a list that only becomes shorter."""
