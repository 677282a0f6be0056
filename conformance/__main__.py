"""The command `durable-agents-conformance`: tries a running service, prints what came of each check.

It ends with 0 if no check failed, with 1 if one did, and with 2 if there was nothing to try.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version

import httpx

from conformance.adapters.a2a import A2aService
from conformance.adapters.ag_ui import AgUiService
from conformance.adapters.foundry import FoundryService
from conformance.adapters.langgraph import LangGraphService
from conformance.adapters.ours import OurService
from conformance.adapters.responses import ResponsesService
from conformance.adapters.upstream import UpstreamService
from conformance.caller_checks import CALLER_CHECKS
from conformance.checks import CHECKS
from conformance.kill_checks import KILL_CHECKS
from conformance.long_checks import LONG_CHECKS
from conformance.pause_checks import PAUSE_CHECKS
from conformance.port import Refused, Service
from conformance.process_checks import BESIDE_CHECKS
from conformance.report import document, table
from conformance.trial import UNREADABLE, NotTried, Result, Trial, result_of

ADAPTERS: dict[str, type[Service]] = {
    "a2a": A2aService,
    "ag-ui": AgUiService,
    "foundry": FoundryService,
    "langgraph": LangGraphService,
    "ours": OurService,
    "responses": ResponsesService,
    "upstream": UpstreamService,
}
ALL_CHECKS = (*CHECKS, *PAUSE_CHECKS, *CALLER_CHECKS, *LONG_CHECKS, *BESIDE_CHECKS, *KILL_CHECKS)
WHAT_TO_GIVE = {
    401: "Identify the caller with --header NAME: VALUE, for example x-functions-key: KEY, or with two --owner.",
    403: "This caller may not do this. Send another --header NAME: VALUE.",
    404: "Give the base URL of the service, for example http://localhost:7071/api, and its protocol with --adapter.",
}
"""By the status of the first refusal."""
SLOW = "Write a story of five hundred words. Use no tools."


def command_line() -> argparse.ArgumentParser:
    """Return what the command takes."""
    parser = argparse.ArgumentParser(
        prog="durable-agents-conformance", description="Tests an agent service's durability promises."
    )
    parser.add_argument("--version", action="version", version=_version(), help="print the version of the package")
    parser.add_argument("url", nargs="?", help="base URL of the service, for example http://localhost:7071/api")
    parser.add_argument(
        "--adapter", choices=sorted(ADAPTERS), default="ours", help="the service's protocol (default: ours)"
    )
    parser.add_argument("--agent", default="", help="the agent to call (default: the first)")
    parser.add_argument(
        "--header", action="append", default=[], metavar="NAME: VALUE", help="a header of every request"
    )
    parser.add_argument(
        "--owner",
        action="append",
        default=[],
        metavar="NAME: VALUE",
        help="a header that identifies a caller; give two callers, and the first one makes all other requests",
    )
    parser.add_argument(
        "--kill", metavar="COMMAND", help="a command that kills the service with kill -9 and starts it again"
    )
    _add_parts(parser)
    _add_messages(parser)
    _add_tokens(parser)
    parser.add_argument(
        "--patience", type=float, default=60.0, metavar="SECONDS", help="longest wait for one answer (default: 60)"
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="CHECK",
        help="run only this check, or all kill checks with 'kill'",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--list", action="store_true", help="list the checks and how each works")
    return parser


def _add_parts(parser: argparse.ArgumentParser) -> None:
    """Add the options that name a part of the service, or its limit."""
    parser.add_argument("--beside", metavar="URL", help="base URL of another process of the same service")
    parser.add_argument("--stored", metavar="COMMAND", help="a command that prints all that the service stores")
    parser.add_argument(
        "--closed", default="", metavar="AGENT", help="an agent that takes no tools of callers, as its author chose"
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="how long the service lets one request, or one attempt at a run, take",
    )


def _add_messages(parser: argparse.ArgumentParser) -> None:
    """Add the options that name a message, by what it leads to."""
    parser.add_argument("--plain", default="Hello.", metavar="MESSAGE", help="a message with a quick answer")
    parser.add_argument("--slow", default=SLOW, metavar="MESSAGE", help="a message whose answer takes some seconds")
    parser.add_argument(
        "--approval", default="", metavar="MESSAGE", help="a message that leads to a tool call with approval"
    )
    parser.add_argument(
        "--ask", default="", metavar="MESSAGE", help="a message that leads to a tool that asks a person for a text"
    )
    parser.add_argument(
        "--edit",
        default="",
        metavar="MESSAGE",
        help="a message that leads to a tool call with approval, which may be repeated, and whose text the answer says",
    )
    parser.add_argument("--work", default="", metavar="MESSAGE", help="a message that leads to a slow tool call")
    parser.add_argument(
        "--tool",
        default="",
        metavar="MESSAGE",
        help="a message that leads to a call of the caller's conformance_lookup",
    )

    parser.add_argument(
        "--default",
        default="",
        metavar="MESSAGE",
        help="a message that leads to a tool that asks a person, has a default after some seconds, and says its answer",
    )
    parser.add_argument(
        "--long",
        default="",
        metavar="MESSAGE",
        help="a message that leads to a row of slow tool calls, of each of which the answer has step-1, step-2, ...",
    )


def _add_tokens(parser: argparse.ArgumentParser) -> None:
    """Add the options for tools that work with the token of their caller."""
    parser.add_argument(
        "--behalf",
        default="",
        metavar="MESSAGE",
        help="a message that makes a tool work with the caller's token, and say whose it is",
    )
    parser.add_argument(
        "--says",
        action="append",
        default=[],
        metavar="WORD",
        help="what the answer to --behalf says for the first --owner, and again for the second",
    )
    parser.add_argument(
        "--token-header",
        default="authorization",
        metavar="NAME",
        help="the header of --owner that has the token (default: authorization)",
    )


def _version() -> str:
    try:
        return f"durable-agents-conformance {version('durable-agents-conformance')}"
    except PackageNotFoundError:
        return "durable-agents-conformance, run from its sources"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command."""
    options = command_line().parse_args(arguments)
    checks = [check for check in ALL_CHECKS if not options.only or _is_named(check.name, options.only)]
    if options.list:
        print("\n".join(f"{check.name:18} {check.promise}\n{'':18} {check.how}" for check in checks))
        return 0
    try:
        refuse_bad_options(options)
        results = asyncio.run(tried(options, [check.name for check in checks]))
    except Refused as error:
        print(f"Nothing was tried: {error}. {WHAT_TO_GIVE.get(error.status, '')}".rstrip(), file=sys.stderr)
        return 2
    except NotTried as lack:
        print(f"Nothing was tried: {lack}", file=sys.stderr)
        return 2
    except UNREADABLE as error:
        print(f"Nothing was tried: {options.url} does not answer in a readable form: {error!r}", file=sys.stderr)
        return 2
    now = datetime.now(UTC).isoformat(timespec="seconds")
    about = {"url": options.url, "adapter": options.adapter, "at": now}
    print(json.dumps(document(results, **about), indent=2) if options.json else table(results))
    return 1 if any(result.outcome == "failed" for result in results) else 0


def refuse_bad_options(options: argparse.Namespace) -> None:
    """Raise `NotTried` for what cannot be tried by these options, with the value and what to give."""
    if not _is_address(options.url or ""):
        raise NotTried(
            f"the URL is {options.url!r}: give the base URL of the service, for example http://localhost:7071/api"
        )
    for name in options.only:
        if not any(_is_named(check.name, [name]) for check in ALL_CHECKS):
            raise NotTried(f"--only is {name!r}, which is not a check: --list prints all")
    for option, lines in (("--header", options.header), ("--owner", options.owner)):
        for line in lines:
            if not line.partition(":")[0].strip() or ":" not in line:
                raise NotTried(f"{option} is {line!r}: give NAME: VALUE")
    if len(options.owner) not in (0, 2):
        raise NotTried(f"--owner is given {len(options.owner)} times: give two callers, or none")
    if len({name for line in options.owner for name in headers_of([line])}) > 1:
        raise NotTried(f"--owner is {options.owner[0]!r} and {options.owner[1]!r}: use the same header name for both")
    if len(options.says) not in (0, 2):
        raise NotTried(f"--says is given {len(options.says)} times: give a word for each of the two callers, or none")
    if not 0 <= options.limit < math.inf:
        raise NotTried(f"--limit is {options.limit:g}: give seconds above 0")
    if options.beside is not None and not _is_address(options.beside):
        raise NotTried(f"--beside is {options.beside!r}: give the base URL of another process of the service")
    if not 0 < options.patience < math.inf:
        raise NotTried(f"--patience is {options.patience:g}: give seconds above 0")


def _is_address(url: str) -> bool:
    try:
        address = httpx.URL(url)
    except httpx.InvalidURL:
        return False
    return address.scheme in ("http", "https") and bool(address.host) and (address.port or 80) in range(1, 65536)


async def tried(options: argparse.Namespace, names: Sequence[str]) -> list[Result]:
    """Make the checks of these names, one after another."""
    timeout = httpx.Timeout(options.patience, connect=5.0)
    async with (
        httpx.AsyncClient(base_url=options.url, timeout=timeout) as http,
        httpx.AsyncClient(base_url=options.beside or options.url, timeout=timeout) as beside,
    ):
        caller = headers_of([*options.owner[:1], *options.header])  # where there are owners, nobody is nobody
        service = ADAPTERS[options.adapter](http, options.agent, caller)
        await service.find_agent()
        trial = Trial(
            service,
            options.plain,
            options.slow,
            options.approval,
            [headers_of([owner]) for owner in options.owner],
            kill_by(options.kill) if options.kill else None,
            options.patience,
            work=options.work,
            tool=options.tool,
            ask=options.ask,
            edit=options.edit,
            default=options.default,
            long=options.long,
            limit=options.limit,
            closed=options.closed,
            behalf=options.behalf,
            says=options.says,
            token_header=options.token_header,
            stored=stored_by(options.stored) if options.stored else None,
            beside=service.beside(beside) if options.beside else None,
        )
        return [await result_of(check, trial) for check in ALL_CHECKS if check.name in names]


def headers_of(given: Sequence[str]) -> dict[str, str]:
    """Return headers of lines as curl takes them, by name in lower case; of a name that comes again, the last."""
    pairs = (line.partition(":") for line in given)
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def kill_by(command: str) -> Callable[[], Awaitable[None]]:
    """Return what runs a command of the shell to its end."""

    async def kill() -> None:
        nowhere = asyncio.subprocess.DEVNULL  # what the command starts may hold its output open
        process = await asyncio.create_subprocess_shell(command, stdin=nowhere, stdout=nowhere, stderr=nowhere)
        if code := await process.wait():
            raise NotTried(f"the command of --kill ended with {code}")

    return kill


def stored_by(command: str) -> Callable[[], Awaitable[str]]:
    """Return what runs a command of the shell and returns what it prints."""

    async def stored() -> str:
        pipe, nowhere = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        process = await asyncio.create_subprocess_shell(command, stdin=nowhere, stdout=pipe, stderr=nowhere)
        printed, _ = await process.communicate()
        if process.returncode:
            raise NotTried(f"the command of --stored ended with {process.returncode}")
        return printed.decode("utf-8", "replace")

    return stored


def _is_named(check: str, names: Sequence[str]) -> bool:
    return any(check == name or check.startswith(f"{name}.") for name in names)


def run() -> int:
    """Run the command as a shell expects of it, also when Ctrl-C or the reader of its output ends it."""
    try:
        try:
            return main()
        finally:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


if __name__ == "__main__":
    sys.exit(run())
