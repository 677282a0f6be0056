"""`python -m hosting.runlog tail RUN`: a run's events, printed from its log as they come.

The log is the one that the app's settings name: those of the environment, and of `local.settings.json` in this folder.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from hosting.errors import ConfigurationError, HostingError
from hosting.ports import RunLogStore
from hosting.reply.frames import Frame
from hosting.runlog.choice import choose_store, sqlite_path
from hosting.runlog.memory import MemoryStore
from hosting.runlog.sqlite import SqliteStore
from hosting.runlog.tail import tail
from hosting.settings import read_settings

INTERRUPTED = 130


def main(arguments: Sequence[str]) -> int:
    """Run the command; return 0 once the run has ended, 1 where it cannot be read, 130 after Ctrl-C."""
    asked = _parser().parse_args(arguments)
    try:
        asyncio.run(_print_tail(asked))
    except HostingError as error:
        print(error.detail, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # whoever read the output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m hosting.runlog", description="Read run logs.")
    tails = parser.add_subparsers(required=True, metavar="tail").add_parser("tail", help="print a run's events")
    tails.add_argument("run", metavar="RUN", help="the run's id")
    tails.add_argument("--after", type=int, default=0, metavar="ID", help="only events behind this id")
    tails.add_argument("--json", action="store_true", help="one JSON object a line, instead of an event stream")
    return parser


async def _print_tail(asked: argparse.Namespace) -> None:
    store = _store(Path.cwd(), os.environ)
    try:
        async for frame in tail(store, asked.run, asked.after):
            sys.stdout.buffer.write(_line(frame) if asked.json else frame.encode())
            sys.stdout.buffer.flush()
    finally:
        await store.close()


def _line(frame: Frame) -> bytes:
    said = {"id": frame.id, "event": frame.event, "data": frame.fields}
    return json.dumps(said, ensure_ascii=False).encode() + b"\n"


def _store(folder: Path, environ: Mapping[str, str]) -> RunLogStore:
    """Return the store; raises `ConfigurationError` where there is none that another process can read."""
    named = {**_local_settings(folder), **environ}
    settings = read_settings(named)
    store = choose_store(settings, folder, named)
    if isinstance(store, MemoryStore):
        raise ConfigurationError("AGENT_RUN_LOG is 'memory', which nobody but the app's own process can read.")
    path = sqlite_path(settings, folder)
    if isinstance(store, SqliteStore) and not path.is_file():
        raise ConfigurationError(f"There is no run log at {path}. Run this in the app's folder, or name the log.")
    return store


def _local_settings(folder: Path) -> dict[str, str]:
    """Return what the local host reads too; on Azure there is no such file."""
    path = folder / "local.settings.json"
    if not path.is_file():
        return {}
    try:
        values: dict[str, str] = json.loads(path.read_text(encoding="utf-8-sig")).get("Values", {})
    except ValueError:
        raise ConfigurationError(f"{path} is no JSON.") from None
    return values


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
