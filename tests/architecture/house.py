"""The house: which rooms `hosting/` has, on which floor each stands, and the arrows between them."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.architecture.imports import ROOT, names_of, statements

FLOORS: tuple[tuple[str, ...], ...] = (
    (
        "errors",
        "names",
        "ports",
        "listing",
        "settings",
        "host_settings",
        "invocation",
        "azure_log",
        "start_up",
        "tools",
        "plan",
        "principal",
        "bearer",
        "visible",
        "exchange",
        "amounts",
        "budgets",
        "limits",
        "embeddings",
        "memory",
        "offline_answers",
        "offline_model",
        "offline_tools",
        "offline_values",
        "schedules",
        "webhooks",
        "workflow_copies",
        "workflows",
    ),
    ("thread", "stores"),
    ("request",),
    ("runner",),
    ("service",),
    ("entity", "http"),
    ("functions", "console"),
    ("app", "tail", "owners", "operations", "commands"),
)
"""From the ground up. A name is that of a room, or of a file beside the rooms; those files may know each other."""

FLOOR = {name: number for number, names in enumerate(FLOORS) for name in names}
CORE = ("thread", "stores", "runner", "service", "entity")
"""One durable thread, and its runs: all that every feature stands on."""

ABOVE_THE_CORE = {"request", "bearer", "budgets", "embeddings", "limits", "memory", "schedules", "webhooks"}
"""The room that parses requests, and the files in which features are described, although they stand below the core."""

STILL_KNOWN = {
    "hosting.entity.called_run": {"hosting.request.fields", "hosting.request.response_format"},
    "hosting.entity.thread_entity": {"hosting.request.contents", "hosting.request.fields"},
    "hosting.runner.agent_runner": {"hosting.request.response_format"},
    "hosting.runner.format_fallback": {"hosting.request.response_format"},
    "hosting.runner.owner_minutes": {"hosting.limits"},
    "hosting.runner.spending": {"hosting.budgets"},
    "hosting.service.approvals": {"hosting.request.json_schema", "hosting.request.response_format"},
    "hosting.service.limiting": {"hosting.limits"},
    "hosting.service.memories": {"hosting.memory"},
    "hosting.service.schedule": {"hosting.request.schedule_call", "hosting.schedules"},
    "hosting.service.schedules": {"hosting.request.schedule_call", "hosting.schedules"},
    "hosting.service.services": {"hosting.webhooks"},
    "hosting.service.webhooks": {"hosting.webhooks"},
}
"""The modules of the core that import some of that still: a list that only becomes shorter."""

FILES = {name for name in FLOOR if (ROOT / "hosting" / f"{name}.py").exists()}
ROOMS = set(FLOOR) - FILES


@dataclass(frozen=True)
class Arrow:
    """One import between rooms, or between a room and a file beside them."""

    path: Path
    line: int
    text: str
    start: str
    end: str

    @property
    def is_down(self) -> bool:
        """Whether it leads to a floor below; the files beside the rooms are one place to each other."""
        return FLOOR[self.end] < FLOOR[self.start] or {self.start, self.end} <= FILES

    def __str__(self) -> str:
        """The line to mend, and why."""
        where = f"{self.path.relative_to(ROOT)}:{self.line}"
        return (
            f"{where}: {self.text}  ({self.start}, floor {FLOOR[self.start]}, to {self.end}, floor {FLOOR[self.end]})"
        )


def room_of(module: str) -> str:
    """Return the room of a module of `hosting`, or the name of the file."""
    return module.split(".")[1]


def arrows() -> Iterator[Arrow]:
    """Iterate over the imports that leave a room, also those inside functions and for type checking only."""
    for path in sorted((ROOT / "hosting").rglob("*.py")):
        start = path.relative_to(ROOT / "hosting").parts[0].removesuffix(".py")
        for node in statements(path):
            if isinstance(node, ast.Import | ast.ImportFrom):
                for end in {room_of(name) for name in names_of(node) if name.startswith("hosting.")} - {start}:
                    yield Arrow(path, node.lineno, ast.unparse(node), start, end)
