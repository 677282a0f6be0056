"""The text that names a durable function nobody declared, as the real host words it (host contract 3.6, 3.8)."""

from __future__ import annotations

from collections.abc import Mapping

from devhost.ports import DurableFunctions, DurableKind

FunctionNames = Mapping[DurableKind, Mapping[str, str]]


def function_names(functions: DurableFunctions) -> FunctionNames:
    """Return the app's durable functions by kind; they do not change while the host runs."""
    kinds: tuple[DurableKind, ...] = ("orchestrator", "activity", "entity")
    return {kind: functions.names(kind) for kind in kinds}


def is_missing(names: FunctionNames, kind: DurableKind, name: str) -> bool:
    """Say whether the app has no such function, whatever the case of the name."""
    return name.lower() not in names[kind]


def missing_function(names: FunctionNames, kind: DurableKind, name: str) -> str:
    """Return the sentence, with the functions of that kind that there are."""
    known = ", ".join(f"'{declared}'" for declared in names[kind].values())
    hint = f"The following are the known {kind} functions: {known}." if known else f"There are no {kind} functions."
    return f"The function '{name}' doesn't exist, is disabled, or is not an {kind} function. Additional info: {hint}"
