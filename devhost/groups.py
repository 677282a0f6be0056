"""Which of an app's functions one host listens for, as Flex Consumption parts an app among its instances.

Every instance indexes all functions, so the durable client may start and signal what another instance runs. It starts
the listeners of one group only: `http`, `durable`, `blob`, or `function:NAME` for a function that is in none of these.
MCP's endpoint is in every instance, with all that the app offers, and a call runs where it arrives. Without a group one
host does it all.
"""

from __future__ import annotations

from dataclasses import dataclass

from devhost.bindings import DurableTrigger, HttpTrigger
from devhost.errors import SettingsError
from devhost.index import Function, FunctionIndex
from devhost.settings import GROUP_VARIABLE

DURABLE = "durable"
_COMMON = ("http", DURABLE, "blob")
_ANYWHERE = "mcp"


@dataclass(frozen=True)
class Group:
    """The group that a host was started for; None listens for all functions."""

    name: str | None = None

    @property
    def works_alone(self) -> bool:
        return self.name is None

    @property
    def works_on_messages(self) -> bool:
        """Return whether this host runs orchestrations, activities and entities, and does not only send to them."""
        return self.name in (None, DURABLE)

    def listens_for(self, function: Function) -> bool:
        """Return whether this host starts the listener of a function that runs."""
        return self.name is None or self.name == group_of(function).lower()

    def reason_not_to_run(self, function: Function) -> str | None:
        """Return why the function is left to other hosts, None when it runs here."""
        if self.listens_for(function) or function.trigger_type.lower().startswith(_ANYWHERE):
            return None
        return f"runs in the group {group_of(function)}"


def group_of(function: Function) -> str:
    """Return the group that a function belongs to."""
    if isinstance(function.trigger, HttpTrigger):
        return "http"
    if isinstance(function.trigger, DurableTrigger):
        return DURABLE
    if function.trigger_type.lower() == "blobtrigger":
        return "blob"
    return f"function:{function.name}"


def find_group(name: str | None, index: FunctionIndex) -> Group:
    """Return the group of that name, whatever its case; raise `SettingsError` with the groups that the app has."""
    known = dict.fromkeys((*_COMMON, *(group_of(function) for function in index.functions)))
    if name is None:
        return Group()
    if name.lower() not in {one.lower() for one in known}:
        raise SettingsError(
            f"{GROUP_VARIABLE} (--group) is {name!r}, but the groups of this app are {', '.join(known)}."
        )
    return Group(name.lower())
