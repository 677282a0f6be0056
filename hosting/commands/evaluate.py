"""`python dev.py evaluate FILE` asks an agent the cases of a file, and checks its answers (docs/guides/evaluation.md).

Without `--url` it runs the app of a folder on a local host of its own, which ends with the command.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hosting.client.connection import RemoteAgentError
from hosting.client.remote_agent import RemoteAgent
from hosting.commands.running_app import RefusedError, RunningApp, add_options, exit_code
from hosting.errors import HostingError
from hosting.evaluation.cases import EvaluationFileError, read_evaluation
from hosting.evaluation.evaluating import EvaluationResult, evaluate
from hosting.evaluation.reports import junit, table
from hosting.names import new_id
from hosting.testing.local_app import LocalApp, LocalAppError

_MOST_REPETITIONS, _MOST_PARALLEL = 100, 64


def main(arguments: Sequence[str]) -> int:
    """Run the command; return 0 where every case passed, 1 where one did not, or where it could not begin."""
    options = _parser().parse_args(arguments)
    warnings.filterwarnings("ignore", message=r"\[EVALS\]")  # for programmers: the interface is new
    try:
        evaluation = read_evaluation(options.file)
        with _address(options) as url:
            options.url = url
            app = RunningApp.of(options)
            agent = RemoteAgent(url, options.agent or _only_agent(app), headers=app.headers)
            work = evaluate(agent, evaluation, options.id, repetitions=options.repetitions, parallel=options.parallel)
            result = asyncio.run(work)
        _report(result, options.junit)
        return 0 if result.passed else 1
    except (RefusedError, LocalAppError, EvaluationFileError, ValueError) as error:
        print(error, file=sys.stderr)
    except (HostingError, RemoteAgentError) as error:
        print(error.detail, file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dev.py evaluate", description="Asks an agent the cases of a file, and checks its answers."
    )
    parser.add_argument("file", metavar="FILE", type=Path, help="cases as JSON Lines, or a Python file with CASES")
    parser.add_argument("--agent", metavar="NAME", help="the agent (default: the app's only one)")
    parser.add_argument("--app", metavar="FOLDER", type=Path, default=Path(), help="the app to start (this folder)")
    add_options(parser, starts_an_app=True)
    number = f"how often each case is run, at most {_MOST_REPETITIONS} (default: 1)"
    parser.add_argument("--repetitions", metavar="N", type=_up_to(_MOST_REPETITIONS), default=1, help=number)
    number = f"how many runs at once, at most {_MOST_PARALLEL} (default: 1)"
    parser.add_argument("--parallel", metavar="N", type=_up_to(_MOST_PARALLEL), default=1, help=number)
    parser.add_argument("--junit", metavar="FILE", type=Path, help="write the results as JUnit's XML too")
    parser.add_argument("--id", default=new_id(), help="go on with the evaluation of this id (default: a new one)")
    return parser


def _up_to(most: int) -> Callable[[str], int]:
    """Return the reader of a number from 1 to `most`."""

    def number(text: str) -> int:
        if text.isascii() and text.isdigit() and 1 <= int(text) <= most:
            return int(text)
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number from 1 to {most}")

    return number


@contextmanager
def _address(options: argparse.Namespace) -> Iterator[str]:
    if options.url is not None:
        yield options.url
        return
    with LocalApp(options.app.resolve()) as url:
        yield url


def _only_agent(app: RunningApp) -> str:
    names = [str(agent["name"]) for agent in app.page("agents", {}, "agents")["agents"]]
    if len(names) != 1:
        raise RefusedError(f"The app has {len(names)} agents: {', '.join(names)}. Name one by --agent.")
    return names[0]


def _report(result: EvaluationResult, file: Path | None) -> None:
    for line in table(result):
        print(line)
    if file is not None:
        try:
            file.write_text(junit(result), encoding="utf-8")
        except OSError as error:
            raise RefusedError(f"{file} cannot be written: {error.strerror}.") from None


if __name__ == "__main__":
    sys.exit(exit_code(main))
