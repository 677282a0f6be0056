"""What an app asks for: the pin, its extras, and whether a deployment installs the same twice."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from importlib.metadata import version

from packages.durable_agent_host.checks.app import PROJECT, PYTHONS, REQUIREMENTS, AppFolder, Found, lock_file
from packages.durable_agent_host.from_upstream import KEPT, NAMESPACE, THEIRS

_FOR_DEVELOPMENT = ("functions-local-host", "pytest")
_EXTRAS = (
    ("AGENT_LOG", ("redis://", "rediss://"), "redis"),
    ("AGENT_ARCHIVE", ("cosmos",), "cosmos"),
)
"""Settings whose values need an extra of the package."""
_BROUGHT_BY = {"auth": {"pyjwt"}, "cosmos": {"azure-cosmos"}, "redis": {"redis"}}


def pin_missing(app: AppFolder) -> Iterator[Found]:
    """`pin-missing`."""
    if app.pin is None:
        yield REQUIREMENTS, f"{PROJECT} is not in it. Add {PROJECT}=={version(PROJECT)}."


def pin_loose(app: AppFolder) -> Iterator[Found]:
    """`pin-loose`."""
    if app.pin and not app.pin.is_held:
        yield (
            app.pin.place,
            f"{PROJECT} can be another version at each deployment. Write {PROJECT}=={version(PROJECT)}.",
        )


def pin_outdated(app: AppFolder) -> Iterator[Found]:
    """`pin-outdated`."""
    own = version(PROJECT)
    if app.pin and app.pin.is_held and _numbers(app.pin.version) < _numbers(own):
        yield app.pin.place, f"{PROJECT} is {app.pin.version[2:]}, and this is {own}. Run `durable-agent-host upgrade`."


def unpinned(app: AppFolder) -> Iterator[Found]:
    """`unpinned`."""
    for one in app.requirements:
        if one.name and one.name != PROJECT and not one.is_held:
            yield one.place, f"{one.name} can be another version at each deployment. Write {one.name}==VERSION."


def unlocked(app: AppFolder) -> Iterator[Found]:
    """`unlocked`."""
    for python in sorted({number for _, number in app.runtimes}):
        if python in PYTHONS and app.text(lock_file(python)) is None:
            yield (
                REQUIREMENTS,
                "the versions of indirect packages may differ between deployments, because there is no "
                f"{lock_file(python)}. Run `durable-agent-host lock`.",
            )


def lock_outdated(app: AppFolder) -> Iterator[Found]:
    """`lock-outdated`."""
    for path in sorted(app.folder.glob(lock_file("3.*"))):
        locked = {one.name: one.version for one in app.requirements_of(path.name)}
        others = [
            one.name
            for one in app.requirements
            if one.name and (one.name not in locked or (one.is_held and locked[one.name] != one.version))
        ]
        if others and all(" --hash=" in one.text for one in app.requirements_of(path.name)):
            yield path.name, f"it does not lock {others[0]} as requirements.txt has it. Run `durable-agent-host lock`."


def local_requirement(app: AppFolder) -> Iterator[Found]:
    """`local-requirement`."""
    for one in app.requirements:
        path = one.text.removeprefix("-e").removeprefix("--editable").strip()
        if one.text.startswith(("-e", "--editable")) or path.startswith((".", "/", "file:")):
            yield one.place, f"{one.text!r} is a path of this machine. Copy the package into the app, or name an index."


def development_only(app: AppFolder) -> Iterator[Found]:
    """`development-only`."""
    for one in app.requirements:
        if one.name in _FOR_DEVELOPMENT:
            yield one.place, f"{one.name} is for this machine. Move it to requirements-dev.txt, which is not deployed."


def upstream_package(app: AppFolder) -> Iterator[Found]:
    """`upstream-package`."""
    advice = f"`{PROJECT} new FOLDER --from-upstream PATH` moves an app over"
    for one in app.requirements:
        if one.name.replace("-", "_") in THEIRS:
            yield one.place, f"{one.name} is Microsoft's host of agents. Leave it out; {advice}."
    for name, node in app.nodes():
        if isinstance(node, ast.ImportFrom) and node.module:
            named = {alias.name for alias in node.names}
            if node.module.split(".")[0] in THEIRS or (node.module == NAMESPACE and named & set(KEPT)):
                yield (
                    f"{name}:{node.lineno}",
                    f"it imports from {node.module}. Import from durable_agent_host; {advice}.",
                )


def extra_missing(app: AppFolder) -> Iterator[Found]:
    """`extra-missing`."""
    if app.pin is None:
        return
    named = {one.name for one in app.requirements}
    literals = [*app.settings.items(), *((name, value) for _, name, value in app.deployed)]
    wanted = [
        (extra, setting)
        for setting, beginnings, extra in _EXTRAS
        if any(name == setting and value.startswith(beginnings) for name, value in literals)
    ]
    wanted += [
        ("auth", f"bearer_token in {name}")
        for name, node in app.nodes()
        if isinstance(node, ast.ImportFrom) and any(alias.name == "bearer_token" for alias in node.names)
    ]
    for extra, why in wanted:
        if extra not in app.pin.extras and not _BROUGHT_BY[extra] & named:
            yield app.pin.place, f"{why} needs the extra {extra}. Write {_with(app.pin.extras, extra)}."


def _with(extras: Sequence[str], extra: str) -> str:
    return f"{PROJECT}[{','.join(sorted({*extras, extra}))}]=={version(PROJECT)}"


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", text)[:3])
