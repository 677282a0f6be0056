"""`durable-agent-host check`: what of an app is outdated, unsafe in production, or cannot be deployed.

It reads files, and imports, runs and asks nothing, but with `--url` an app that runs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from packages.durable_agent_host.checks import host_json, repository, requirements, running, settings, sources, triggers
from packages.durable_agent_host.checks.app import AppFolder, Found
from packages.durable_agent_host.checks.durable_sdk import durable_sdk

CHECKS: Mapping[str, Sequence[Callable[[AppFolder], Iterator[Found]]]] = {
    "outdated": (
        *(requirements.pin_missing, requirements.pin_loose, requirements.pin_outdated, requirements.unpinned),
        *(requirements.unlocked, requirements.lock_outdated),
        *(requirements.upstream_package, host_json.bundle),
    ),
    "unsafe": (
        *(sources.anonymous_http, sources.anonymous_route, host_json.anonymous_mcp, settings.anonymous_allowed),
        *(repository.settings_in_git, repository.secret_in_git, repository.deployed_secrets),
        *(host_json.older_document, host_json.host_values, triggers.batch_not_retried),
    ),
    "not deployable": (
        *(sources.app_missing, sources.shadowed_module, host_json.host_json, host_json.hub_name),
        *(host_json.function_timeout, requirements.local_requirement, requirements.development_only),
        *(requirements.extra_missing, settings.setting_wrong, settings.setting_unknown, settings.setting_missing),
        *(settings.python_version, settings.infra_missing, triggers.trigger_connection, triggers.queue_name),
    ),
}
"""Each check by the kind of what it finds. Its id is its function's name."""


def check_id(check: Callable[[AppFolder], Iterator[Found]]) -> str:
    """Return the id by which a check is named, and passed over."""
    return check.__name__.replace("_", "-")


def main(arguments: Sequence[str]) -> int:
    """Print the durable SDK and a sentence for each finding; return 1 if there is one, 2 where there is no app."""
    parser = argparse.ArgumentParser("durable-agent-host check", description="Find what to change before you deploy.")
    parser.add_argument("folder", metavar="FOLDER", type=Path, nargs="?", default=Path(), help="the app's folder (.)")
    parser.add_argument("--ignore", metavar="ID", action="append", default=[], help="a check to skip; repeatable")
    parser.add_argument("--url", help="also ask the running app at this address whether it is ready")
    options = parser.parse_args(arguments)
    folder: Path = options.folder.resolve()
    known = [check_id(check) for checks in CHECKS.values() for check in checks]
    unknown = sorted(set(options.ignore) - set(known))
    if unknown:
        print(f"There is no check {unknown[0]}. There are {', '.join(known)}.", file=sys.stderr)
        return 2
    if not folder.is_dir() or not any((folder / name).is_file() for name in ("function_app.py", "host.json")):
        print(f"{folder} is not an app: it has neither function_app.py nor host.json.", file=sys.stderr)
        return 2
    return _print(AppFolder(folder), set(options.ignore), len(known), options.url)


def _print(app: AppFolder, ignored: set[str], total: int, url: str | None) -> int:
    print(durable_sdk(app))
    count = 0
    for kind, checks in CHECKS.items():
        lines = [
            f"    {place}: {sentence} [{check_id(check)}]"
            for check in checks
            if check_id(check) not in ignored
            for place, sentence in check(app)
        ]
        if lines:
            print(f"{kind}:", *lines, sep="\n")
        count += len(lines)
    for place, sentence in running.not_ready(url) if url else ():
        print("running:", f"    {place}: {sentence} [not-ready]", sep="\n")
        count += 1
    if count:
        print("", f"{count} finding{'s' if count > 1 else ''}.", sep="\n")
        return 1
    print(f"{total - len(ignored)} checks found nothing.")
    return 0
