"""The command line: `python -m benchmarks [NAME ...] [--quick]`."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Coroutine, Sequence
from subprocess import SubprocessError
from typing import Any, TypeVar

from benchmarks.catalogue import MEASURES, ON_REQUEST
from benchmarks.figures import NotMeasuredError, Result
from benchmarks.host_process import HostStartError
from benchmarks.machine import describe_machine
from benchmarks.sizes import FULL, QUICK, Sizes
from benchmarks.table import render
from benchmarks.turns import WrongAnswerError

MEASURE_GUARD_SECONDS = 900

T = TypeVar("T")


def main(arguments: Sequence[str]) -> int:
    """Print the table and return 0, whatever the bars say; 1 when a host or an answer was wrong, told after the table.

    What was measured before that is in the table all the same.
    """
    options = command_line().parse_args(arguments)
    names = options.names or [name for name in MEASURES if name not in ON_REQUEST]
    print(describe_machine(), end="\n\n", flush=True)
    results: dict[str, Result] = {}
    failure = taken(names, QUICK if options.quick else FULL, results)
    print(render(results))
    if failure is not None:
        print(f"benchmarks: {failure}", file=sys.stderr)
    return 1 if failure is not None else 0


def taken(names: Sequence[str], sizes: Sizes, results: dict[str, Result]) -> Exception | None:
    """Put the results into `results`, measure by measure; return what ended it before its end, if something did."""
    try:
        run(take(names, sizes, results))
    except (HostStartError, WrongAnswerError, OSError, SubprocessError) as error:
        return error
    return None


def command_line() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m benchmarks", description="Measure the app on a host of its own.")
    parser.add_argument("names", nargs="*", type=measure_name, metavar="NAME", help=f"one of {', '.join(MEASURES)}")
    parser.add_argument("--quick", action="store_true", help="a few turns each: does it run, not how fast")
    return parser


def measure_name(text: str) -> str:
    if text not in MEASURES:
        raise argparse.ArgumentTypeError(f"{text!r} is no measure; there are {', '.join(MEASURES)}")
    return text


async def take(names: Sequence[str], sizes: Sizes, results: dict[str, Result]) -> None:
    """Put the results into `results`; a measure that this system cannot take is told and left out."""
    for name in names:
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        try:
            results[name] = await asyncio.wait_for(MEASURES[name](sizes), MEASURE_GUARD_SECONDS)
        except NotMeasuredError as reason:
            print(f"{name}: not measured. {reason}", file=sys.stderr)
        except TimeoutError:
            raise TimeoutError(f"The measure {name} took longer than {MEASURE_GUARD_SECONDS} s.") from None


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run on uvloop where it is installed: the less the client costs, the more of a figure is the host's."""
    try:
        import uvloop
    except ImportError:
        return asyncio.run(work)
    result: T = uvloop.run(work)
    return result
