"""`python -m hosting.commands.tail AGENT THREAD RUN` prints a run's events from its thread's log as they come.

No app, engine or host needs to run. The app's settings name the log: those of the environment and of
`local.settings.json` in this folder, under the task hub of its `host.json`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from hosting.commands.running_app import exit_code
from hosting.core.agent.held_run import read_run
from hosting.core.broadcast import LoggedEvent
from hosting.core.stores.contract import MOST_POSITION
from hosting.core.stores.memory import MemoryThreadStore
from hosting.core.stores.sqlite import SqliteThreadStore
from hosting.core.thread.events import RunEvent
from hosting.core.thread.run import Gone, Run
from hosting.core.thread.thread_events import Deleting
from hosting.core.thread_log import ThreadLog
from hosting.errors import ConfigurationError, HostingError, ThreadDeletedError, UnknownRunError
from hosting.host_settings import task_hub
from hosting.http.streams import Frame, Frames
from hosting.names import APP, Address
from hosting.settings import read_settings
from hosting.store_choice import choose_attachments, choose_thread_store, log_path

_COMMENT = re.compile(r"^[ \t]*//.*$", re.MULTILINE)  # in the settings, as the host takes them
FIRST_PAUSE_SECONDS = 0.025
LONGEST_PAUSE_SECONDS = 1.0


def main(arguments: Sequence[str]) -> int:
    """Run the command; return 0 once the run has ended, 1 where it cannot be read."""
    parser = argparse.ArgumentParser(
        prog="python -m hosting.commands.tail", description="Print a run's events from its log."
    )
    parser.add_argument("agent", metavar="AGENT", help="the agent's name")
    parser.add_argument("thread", metavar="THREAD", help="the thread's id")
    parser.add_argument("run", metavar="RUN", help="the run's id")
    parser.add_argument("--owner", default=APP, metavar="OWNER", help="the thread's owner, if threads have owners")
    parser.add_argument("--after", type=int, default=0, metavar="ID", help="only events after this id")
    parser.add_argument("--json", action="store_true", help="one JSON object a line, instead of an event stream")
    options = parser.parse_args(arguments)
    try:
        asyncio.run(_print_tail(options))
    except (HostingError, ValueError) as error:
        print(getattr(error, "detail", error), file=sys.stderr)
        return 1
    return 0


async def tail(log: ThreadLog, address: Address, run_id: str, after: int = 0) -> AsyncIterator[Frame]:
    """Yield the run's frames after position `after` as they come, up to the last.

    This only reads: after its process died, a run has no last frame here until a process that serves its thread ends
    it. Raises `UnknownRunError`, `ThreadDeletedError`, `NewerVersionError` and `LogUnavailableError`.
    """
    run = await _run(log, address, run_id)
    frames, position, pause = Frames(run, after, time.time), run.first - 1, FIRST_PAUSE_SECONDS
    while True:
        events = await log.events(address, position, through=run.end_position or MOST_POSITION)
        for position, event in events:
            if isinstance(event, RunEvent) and event.run_id == run_id:
                for frame in frames.next(LoggedEvent(position, event)):
                    yield frame
            if frames.has_ended:
                return
            if isinstance(event, Deleting):
                raise _deleted(run_id)
        pause = FIRST_PAUSE_SECONDS if events else min(pause * 1.5, LONGEST_PAUSE_SECONDS)
        await asyncio.sleep(pause)
        if pause == LONGEST_PAUSE_SECONDS:  # a removed run adds no event
            await _run(log, address, run_id)


async def _run(log: ThreadLog, address: Address, run_id: str) -> Run:
    run = await read_run(log, address, run_id)
    if run is None:
        raise UnknownRunError(f"There is no run {run_id[:80]!r} on this thread.")
    if not isinstance(run, Run) or isinstance(run.state, Gone):
        raise _deleted(run_id)
    return run


def _deleted(run_id: str) -> ThreadDeletedError:
    return ThreadDeletedError(f"Run {run_id!r} was deleted with its thread.")


async def _print_tail(options: argparse.Namespace) -> None:
    address = Address.of(options.agent, options.thread, options.owner)
    async with _log(Path.cwd(), os.environ) as log:
        async for frame in tail(log, address, options.run, options.after):
            line = {"id": frame.id, "event": frame.event, "data": frame.fields}
            text = json.dumps(line, ensure_ascii=False).encode() + b"\n" if options.json else frame.encode()
            sys.stdout.buffer.write(text)
            sys.stdout.buffer.flush()


@asynccontextmanager
async def _log(folder: Path, environ: Mapping[str, str]) -> AsyncIterator[ThreadLog]:
    """Open the app's log; raises `ConfigurationError` where there is none that another process can read."""
    local = folder / "local.settings.json"
    if local.is_file():  # the local host reads it too; on Azure there is none
        try:
            environ = {
                **json.loads(_COMMENT.sub("", local.read_text(encoding="utf-8-sig"))).get("Values", {}),
                **environ,
            }
        except ValueError:
            raise ConfigurationError(f"{local} is not JSON.") from None
    settings, hub = read_settings(environ), task_hub(folder, environ)
    store = choose_thread_store(settings, folder, environ, hub)
    if isinstance(store, MemoryThreadStore):
        raise ConfigurationError("AGENT_LOG is 'memory', which only the app's own process can read.")
    path = log_path(settings.log, folder)
    if isinstance(store, SqliteThreadStore) and not path.is_file():
        raise ConfigurationError(f"There is no log at {path}. Run this in the app's folder, or name the log.")
    attachments = choose_attachments(settings, folder, environ)
    log = ThreadLog(store, attachments, hub)
    try:
        yield log
    finally:
        await log.close()
        await attachments.close()


if __name__ == "__main__":
    sys.exit(exit_code(main))
