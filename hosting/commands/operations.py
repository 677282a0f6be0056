"""`python dev.py operations` shows an app's queued, running and stuck runs (docs/guides/operations.md).

Theory. It asks over HTTP, as an administrator where the app knows its callers. What it does for `--repair` are requests
that anybody may repeat: to read a run has its thread's entity look after it, and a deletion goes on where it is asked
for again. A run that only seems stuck is looked at twice: its process shows a sign of life meanwhile.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from hosting.commands.running_app import RefusedError, RunningApp, add_options, exit_code
from hosting.visible import visible_line

Found = dict[str, Any]
_MOST_WATCHED_SECONDS = 3600


def main(arguments: Sequence[str]) -> int:
    """Run the command; return 0 where nothing is stuck or all was asked for again, 1 where not."""
    options = _parser().parse_args(arguments)
    try:
        app = RunningApp.of(options)
        query = {"hours": options.hours, **({} if options.owner is None else {"owner": options.owner})}
        page = _look(app, query)
        for line in _summary(page):
            print(line)
        stuck = page["stuck"]
        if any(finding["code"] == "silent" for finding in stuck):
            time.sleep(options.watch)
            later = [_seen(finding) for finding in _look(app, query)["stuck"]]
            stuck = [finding for finding in stuck if _seen(finding) in later]
        return max([_shown(app, finding, repairs=options.repair) for finding in stuck], default=0)
    except (RefusedError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="dev.py operations", description="Lists queued, running and stuck runs.")
    parser.add_argument(
        "--hours", type=int, default=1, help="only threads that changed within this many hours (default: %(default)s)"
    )
    parser.add_argument("--owner", help="only this owner's threads, and all of them that have open runs")
    parser.add_argument("--repair", action="store_true", help="retry stuck runs and deletions")
    parser.add_argument(
        "--watch",
        type=_watched,
        default=30.0,
        metavar="SECONDS",
        help="how long to wait for a sign of life of a silent run, at most 3600 (default: %(default)s)",
    )
    add_options(parser)
    return parser


def _watched(text: str) -> float:
    with suppress(ValueError):
        if 0 <= (seconds := float(text)) <= _MOST_WATCHED_SECONDS:
            return seconds
    raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number of seconds from 0 to {_MOST_WATCHED_SECONDS:,}")


def _look(app: RunningApp, query: Mapping[str, object]) -> Found:
    return app.page("operations", query, "agents", "complete", "looked_at", "stuck")


def _summary(page: Found) -> Iterator[str]:
    for agent in page["agents"]:
        oldest = f" since {agent['oldest_queued_at']}" if agent["queued"] else ""
        ends = "".join(f", {count} {code}" for code, count in sorted(agent["today"]["failures"].items()))
        ends += f", {agent['today']['cancelled']} cancelled" if agent["today"]["cancelled"] else ""
        yield (
            f"{agent['agent']}: {agent['running']} running, {agent['queued']} queued{oldest}, "
            f"{agent['taken_over']} taken over; today {agent['today']['runs']} ended{ends}"
        )
    if not page["complete"]:
        yield f"These numbers count only the {page['looked_at']} threads that changed last."


def _seen(finding: Found) -> tuple[str, ...]:
    return tuple(str(finding[name]) for name in ("agent", "owner", "thread_id", "run_id", "seen"))


def _shown(app: RunningApp, finding: Found, *, repairs: bool) -> int:
    """Print a stuck run or deletion, retry it on request, and return the exit code."""
    subject = f"run {finding['run_id']} of thread" if finding["run_id"] else "thread"
    thread_id, reason = visible_line(finding["thread_id"]), finding["reason"]
    print(f"{finding['agent']}, {subject} {thread_id}, owner {finding['owner']}, since {finding['since']}: {reason}")
    if not repairs:
        return 1
    thread = f"{finding['kind']}s/{quote(finding['agent'])}/threads/{quote(finding['thread_id'], safe='')}"
    place = f"{thread}/runs/{finding['run_id']}" if finding["run_id"] else thread
    try:
        status, answer = app.sent(place, {"owner": finding["owner"]}, "GET" if finding["run_id"] else "DELETE")
    except RefusedError as error:
        print(f"  {error}", file=sys.stderr)
        return 1
    print(f"  retried: {answer['status'] if answer else 'deleted' if status == 204 else 'under way'}")
    return 0


if __name__ == "__main__":
    sys.exit(exit_code(main))
