"""Console blocks of Markdown: what a reader types after `$ `, and what comes.

In the output, a line `...` stands for any lines, and `...` in a line for anything there. A command goes on in the next
line after a backslash.
"""

import asyncio
import re
from dataclasses import dataclass

BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
VARYING = (
    (re.compile(r"localhost:\d+"), "localhost:PORT"),
    (re.compile(r"\b[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}\b"), "ID"),
    (re.compile(r"\b\d+ s\b"), "SECONDS"),
    (re.compile(r'"at": "[^"]*"'), '"at": TIME'),
    (re.compile(r"^id: [\d.]+$"), "id: POSITION"),
)


@dataclass(frozen=True)
class Step:
    """One command and the lines that it is said to print."""

    command: str
    output: tuple[str, ...]


def steps_in(markdown: str) -> list[Step]:
    return [step for block in BLOCK.findall(markdown) for step in steps_of_block(block)]


def steps_of_block(block: str) -> list[Step]:
    lines = block.replace("\\\n", " ").rstrip("\n").splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
    ends = [*starts[1:], len(lines)]
    return [
        Step(lines[start][2:], without_blank_end(lines[start + 1 : end]))
        for start, end in zip(starts, ends, strict=True)
    ]


def without_blank_end(lines: list[str]) -> tuple[str, ...]:
    return tuple("\n".join(lines).rstrip().splitlines())


def is_shown(shown: tuple[str, ...], printed: tuple[str, ...]) -> bool:
    """Whether `printed` is what `shown` says, ids, times and ports apart."""
    pattern = "".join("(?:.*\n)*" if line == "..." else f"{line_pattern(line)}\n" for line in shown)
    return re.fullmatch(pattern, "".join(masked(line) + "\n" for line in printed)) is not None


def line_pattern(line: str) -> str:
    return ".*".join(re.escape(part) for part in masked(line).split("..."))


def masked(line: str) -> str:
    for pattern, replacement in VARYING:
        line = pattern.sub(replacement, line)
    return line.rstrip()


async def typed(step: Step, origin: str, guard_seconds: float = 30) -> tuple[str, ...]:
    """What a shell prints for the step's command, sent to the host at `origin`."""
    command = step.command.replace("http://localhost:7071", origin)
    process = await asyncio.create_subprocess_shell(
        command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    printed, _ = await asyncio.wait_for(process.communicate(), guard_seconds)
    return without_blank_end(printed.decode().splitlines())
