"""The command line: `python -m devhost start | functions | send | inspect | keys | workers | reset`."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from devhost.bindings import HttpTrigger
from devhost.durable.unkind import VARIABLE as UNKIND_VARIABLE
from devhost.errors import AppLoadError, HostError, SettingsError
from devhost.forwarding import AppLog
from devhost.host import Address, Host, address_of, end_process_soon, variables_of_worker
from devhost.http.keys import Keys, describe_keys, load_keys, read_master
from devhost.http.server import bind_sockets
from devhost.http.sign_in import ENABLED, principal_name
from devhost.listing import describe_doors, describe_functions
from devhost.loader import HostedApp, load_hosted_app
from devhost.moved_clock import MovedClock
from devhost.sending import read_body, read_metadata, send
from devhost.settings import (
    GROUP_VARIABLE,
    HostSettings,
    apply_to_environment,
    read_host_settings,
    read_local_settings,
)
from devhost.watching import NOT_BY_EDITS, end_with, keep_running

DEFAULT_PORT = 7071
WORKERS_PORT = 4001
"""Where workers of the Durable Task SDK look by themselves."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0, or what the refusal's class says, after its sentence on stderr."""
    options = command_line().parse_args(arguments)
    try:
        _COMMANDS[options.command](options)
    except HostError as error:
        if not (isinstance(error, AppLoadError) and error.is_printed):
            print(f"Error: {error}", file=sys.stderr)
        return _exit_code(error, options)
    return 0


def _exit_code(error: HostError, options: argparse.Namespace) -> int:
    """Return the refusal's own, and to a host that watches this one what no change of a file mends as such."""
    is_watched = options.command == "start" and options.watched_by is not None
    return NOT_BY_EDITS if is_watched and not error.is_mended_by_edits else error.exit_code


def command_line() -> argparse.ArgumentParser:
    """Return the parser of all commands and their options."""
    parser = argparse.ArgumentParser("python -m devhost", description="Hosts the Functions app in the current folder.")
    parser.add_argument("--version", action=_PrintVersion, nargs=0, help="print the version of the package")
    commands = parser.add_subparsers(dest="command", required=True)
    start = commands.add_parser("start", help="run the app until Ctrl-C")
    start.add_argument("--port", type=_port, help=f"0 for a free port (default: local.settings.json, {DEFAULT_PORT})")
    start.add_argument("--host", default="127.0.0.1", help="address to listen on (default: loopback)")
    start.add_argument("--verbose", action="store_true", help="log each request, and more")
    start.add_argument("--watch", action="store_true", help="start again when the app's files change")
    start.add_argument("--auth", action="store_true", help="ask for keys, as on Azure, which the command keys prints")
    start.add_argument(
        "--principal",
        type=_principal,
        metavar="NAME",
        help="sign each request in as NAME, as App Service Authentication would",
    )
    start.add_argument("--group", help="run only http, durable or function:NAME, as one instance of several on Azure")
    start.add_argument(
        "--queue-poll",
        type=_poll_seconds,
        default=1.0,
        metavar="SECONDS",
        help="longest time between two polls for durable messages of other processes (default: 1)",
    )
    start.add_argument("--watched-by", type=int, help=argparse.SUPPRESS)
    start.add_argument("--time-ahead", type=Path, metavar="FILE", help=argparse.SUPPRESS)
    commands.add_parser("functions", help="list the app's functions without running them")
    message = commands.add_parser("send", help="deliver a message to a function of Service Bus, Event Grid and so on")
    message.add_argument("function", help="the function's name")
    message.add_argument("--body", required=True, metavar="TEXT|@FILE", help="the message's body, or a file with it")
    message.add_argument(
        "--metadata", action="append", default=[], metavar="NAME=VALUE", help="a member or property; may be repeated"
    )
    message.add_argument("--session", metavar="ID", help="the session of a Service Bus message")
    message.add_argument("--port", type=_port, help=f"the host's port (default: local.settings.json, {DEFAULT_PORT})")
    message.add_argument("--host", default="127.0.0.1", help="the host's address (default: loopback)")
    inspect = commands.add_parser("inspect", help="list durable instances and entities, also while a host runs")
    inspect.add_argument("instance", nargs="?", help="an instance's id or an entity's, @name@key (default: all)")
    keys = commands.add_parser("keys", help="print the keys that --auth asks for")
    keys.add_argument("--all", action="store_true", help="also the keys of single functions")
    workers = commands.add_parser("workers", help="run the durable engine for workers of the Durable Task SDK, no app")
    workers.add_argument(
        "--port", type=_port, default=WORKERS_PORT, help=f"0 for a free port (default: {WORKERS_PORT})"
    )
    commands.add_parser("reset", help="delete the durable state of the app, .devhost/")
    return parser


class _PrintVersion(argparse.Action):
    """Looks the version up where it is asked for, because no start should wait for that."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import PackageNotFoundError, version

        try:
            print(f"functions-local-host {version('functions-local-host')}")
        except PackageNotFoundError:
            print("functions-local-host, run from its sources")
        parser.exit()


def _port(text: str) -> int:
    if text.isascii() and text.isdigit() and int(text) <= 65535:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a port; give a number from 0 to 65535")


def _poll_seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if 0.01 <= seconds <= 30:
        return seconds
    raise argparse.ArgumentTypeError(f"{text!r} is not a polling interval; give seconds from 0.01 to 30")


def _principal(text: str) -> str:
    try:
        return principal_name(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _start(options: argparse.Namespace) -> None:
    if options.watch:
        _start_watching(options)
        return
    if options.watched_by is not None:
        end_with(options.watched_by)
    folder = Path.cwd()
    if options.group:
        # As a variable, so that the app sees it too, as on Azure.
        os.environ[GROUP_VARIABLE] = options.group
    local = read_local_settings(folder)
    apply_to_environment(local, os.environ)
    if options.principal:
        os.environ.update([ENABLED])
    settings = read_host_settings(folder, os.environ)
    app_log = _set_up_logging(settings, verbose=options.verbose)
    sockets = bind_sockets(options.host, _first(options.port, local.port, DEFAULT_PORT))
    address = address_of(options.host, sockets)
    os.environ.update(variables_of_worker(address, folder, os.environ))
    app = load_hosted_app(settings, os.environ)
    if any(function.http_style == "fastapi" for function in app.index.functions):
        from devhost.http.fastapi_mode import set_up_access_log

        set_up_access_log()
    keys = _keys_of(app) if options.auth else None
    host = Host(
        app,
        address,
        verbose=options.verbose,
        keys=keys,
        cors=local.cors,
        queue_poll_seconds=options.queue_poll,
        principal=options.principal,
        clock=None if options.time_ahead is None else MovedClock(options.time_ahead),
    )
    try:
        _run(host.run(sockets, lambda: _announce(app, address, keys, options)))
    except HostError as error:
        end_process_soon(_exit_code(error, options))
        raise
    print("Stopped.", flush=True)
    app_log.is_stopped = True
    end_process_soon(0)


def _start_watching(options: argparse.Namespace) -> None:
    """Run `start` as a child on one port, whatever was asked for, so that its address stays."""
    folder = Path.cwd()
    sockets = bind_sockets(options.host, _first(options.port, read_local_settings(folder).port, DEFAULT_PORT))
    port = address_of(options.host, sockets).port
    for bound in sockets:
        bound.close()
    flags = [f"--{name}" for name in ("auth", "verbose") if getattr(options, name)]
    valued = ("group", "principal")
    flags += [f"--{name}={getattr(options, name)}" for name in valued if getattr(options, name)]
    flags += ["--queue-poll", str(options.queue_poll)]
    stop, asked = threading.Event(), []

    def ask(number: int, _: object) -> None:
        asked.append(number)
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, ask)
    flags += ["--watched-by", str(os.getpid())]
    command = ["-m", str(__package__), "start", "--host", options.host, "--port", str(port), *flags]
    if not keep_running(command, folder, stop, lambda: asked[:1] == [signal.SIGINT]):
        raise SystemExit(HostError.exit_code)


def _first(*values: int | None) -> int:
    return next(value for value in values if value is not None)


def _set_up_logging(settings: HostSettings, *, verbose: bool) -> AppLog:
    app_log = AppLog(settings.log_levels, verbose=verbose)
    logging.basicConfig(
        level=logging.DEBUG if verbose else min(settings.log_levels.by_rule.values()), handlers=[app_log]
    )
    logging.getLogger("uvicorn.error").setLevel(logging.INFO if verbose else logging.WARNING)
    return app_log


def _announce(app: HostedApp, address: Address, keys: Keys | None, options: argparse.Namespace) -> None:
    principal, unkind = options.principal, os.environ.get(UNKIND_VARIABLE)
    part = f" (group {app.group.name})" if app.group.name else ""
    lines = [
        f"Local Functions host, for development only: {address.origin}{part}",
        *([f"Each request is signed in as {principal}, or by X-Local-Principal: NAME."] if principal else []),
        *(["Keys are asked for; the command keys prints them."] if keys else []),
        *([f"{UNKIND_VARIABLE}={unkind}: the durable engine does what Azure's may do."] if unkind else []),
        "",
        *(f"{line}\n" for line in app.introduction.lines),
        *describe_functions(app, address.origin, is_whole=options.verbose),
        *describe_doors(app, address.origin, keys),
    ]
    print("\n".join(lines), flush=True)


def _run(work: Coroutine[Any, Any, None]) -> None:
    """Run on uvloop where it is installed, on asyncio's own loop otherwise: requests cost less on it."""
    try:
        import uvloop
    except ImportError:
        asyncio.run(work)
    else:
        uvloop.run(work)


def _load_here() -> HostedApp:
    folder = Path.cwd()
    apply_to_environment(read_local_settings(folder), os.environ)
    return load_hosted_app(read_host_settings(folder, os.environ), os.environ)


def _functions(options: argparse.Namespace) -> None:
    """List them by path: the address is that of whichever host runs, which may be several or none."""
    print("\n".join(describe_functions(_load_here(), origin="")))


def _send(options: argparse.Namespace) -> None:
    """Send with the folder's master key where there are keys: a host without --auth does not ask for it."""
    folder = Path.cwd()
    message: dict[str, object] = {"input": read_body(options.body), "metadata": read_metadata(options.metadata)}
    if options.session is not None:
        message["session"] = options.session
    port = _first(options.port, read_local_settings(folder).port, DEFAULT_PORT)
    send(options.host, port, read_master(folder / ".devhost"), options.function, message)
    print(f"The host delivers it to {options.function}; its log says how that ends.")


def _keys(options: argparse.Namespace) -> None:
    print("\n".join(describe_keys(_keys_of(_load_here()), is_whole=options.all)))


def _keys_of(app: HostedApp) -> Keys:
    names = [function.name for function in app.index.functions if isinstance(function.trigger, HttpTrigger)]
    return load_keys(app.settings.engine_folder, names)


def _inspect(options: argparse.Namespace) -> None:
    from devhost.durable.inspection import describe_folder

    folder = read_host_settings(Path.cwd(), os.environ).engine_folder
    lines = asyncio.run(describe_folder(folder, options.instance, datetime.now(UTC)))
    print("\n".join(lines))


def _workers(options: argparse.Namespace) -> None:
    try:
        from devhost.worker_hub import serve_workers
    except ModuleNotFoundError as error:
        if error.name not in ("durabletask", "grpc"):
            raise
        raise SettingsError("The command workers needs the package durabletask: install it, then try again.") from error
    logging.basicConfig(level=logging.WARNING)

    def announce(address: str) -> None:
        print(f"Durable Task hub, for development only: {address}", flush=True)

    asyncio.run(serve_workers(Path.cwd() / ".devhost", options.port, announce))
    print("Stopped.", flush=True)


def _reset(options: argparse.Namespace) -> None:
    from devhost.durable.engine import reset

    folder = read_host_settings(Path.cwd(), os.environ).engine_folder
    reset(folder)
    print(f"Removed the durable state in {folder}.")


_COMMANDS: Mapping[str, Callable[[argparse.Namespace], None]] = {
    "start": _start,
    "functions": _functions,
    "send": _send,
    "inspect": _inspect,
    "keys": _keys,
    "workers": _workers,
    "reset": _reset,
}
