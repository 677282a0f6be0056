"""`python dev.py owners assign` hands threads of an app to an owner, by the app's own routes (docs/guides/security.md).

Each thread is one request, which may be repeated. Their sender must be an administrator to the app.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from urllib.parse import quote

from hosting.commands.running_app import RefusedError, RunningApp, add_options, exit_code
from hosting.listing import Cursors
from hosting.visible import visible_line


def main(arguments: Sequence[str]) -> int:
    """Run the command; return 0 where all threads are the owner's, 1 where one is not."""
    options = _parser().parse_args(arguments)
    if bool(options.threads) == options.all:
        print("Name threads, or give --all.", file=sys.stderr)
        return 1
    try:
        app, path = RunningApp.of(options), f"agents/{quote(options.agent, safe='')}/threads"
        threads = _threads(app, path) if options.all else options.threads
        return max([_assign(app, path, thread, options) for thread in threads], default=0)
    except (RefusedError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dev.py owners", description="Assigns an app's threads to owners.")
    assign = parser.add_subparsers(dest="command", required=True).add_parser("assign", help="hand threads to an owner")
    assign.add_argument("agent", metavar="AGENT", help="the agent's name")
    assign.add_argument("threads", metavar="THREAD", nargs="*", help="ids of threads without an owner")
    assign.add_argument("--all", action="store_true", help="all of the agent's threads without an owner")
    assign.add_argument("--issuer", required=True, help="the issuer that signs the owner in")
    assign.add_argument("--id", required=True, help="the owner's id at that issuer")
    add_options(assign)
    return parser


def _threads(app: RunningApp, path: str) -> list[str]:
    """Return the ids of the app's own threads, read before the first of them is gone."""
    threads: list[str] = []
    query = {"owner": "app", "limit": 200}
    cursor, cursors = "", Cursors()
    while cursors.is_new(cursor):
        page = app.page(path, {**query, **({"cursor": cursor} if cursor else {})}, "threads", "next_cursor")
        threads += [thread["thread_id"] for thread in page["threads"]]
        cursor = page["next_cursor"]
        if not cursor:
            return threads
    raise RefusedError("The app's list of threads repeats a page and would never end. Nothing was assigned.")


def _assign(app: RunningApp, path: str, thread: str, options: argparse.Namespace) -> int:
    owner = {"issuer": options.issuer, "id": options.id}
    try:
        status, _ = app.sent(f"{path}/{quote(thread, safe='')}/assign", method="POST", body=owner)
    except RefusedError as error:
        print(f"{visible_line(thread)}: {error}", file=sys.stderr)
        return 1
    print(f"{visible_line(thread)}: assigned" + (", the old thread is still being deleted" if status == 202 else ""))
    return 0


if __name__ == "__main__":
    sys.exit(exit_code(main))
