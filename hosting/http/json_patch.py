"""The changes that make one JSON value of another, as a JSON patch (RFC 6902).

Clients apply it with packages that refuse some names in a path, as a guard of their own. A value with those is sent
whole, and so is one of which a patch would have no fewer bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

_DEEPEST = 32
"""So far down the values are compared. What differs below is replaced whole."""
_GUARDED = frozenset(("__proto__", "constructor", "prototype"))
Operation = dict[str, Any]


def shorter_patch(before: str, after: str) -> list[Operation] | None:
    """Return the operations that make the second JSON text of the first, None where it is better sent whole.

    They go by their order. None of them changes the value itself: an object stays an object.
    """
    patch = list(_changes("", json.loads(before), json.loads(after), _DEEPEST))
    names = {name for operation in patch for name in operation["path"].split("/")}
    is_of_parts = all(operation["path"] for operation in patch) and not names & _GUARDED
    return patch if is_of_parts and len(json.dumps(patch)) < len(after) else None


def _changes(path: str, before: Any, after: Any, levels: int) -> Iterator[Operation]:
    match before, after:
        case {}, {} if levels:
            for name in before:
                if name not in after:
                    yield {"op": "remove", "path": _below(path, name)}
            for name, value in after.items():
                if name not in before:
                    yield {"op": "add", "path": _below(path, name), "value": value}
                else:
                    yield from _changes(_below(path, name), before[name], value, levels - 1)
        case [*old], [*new] if levels:
            yield from _changes_of_list(path, old, new, levels - 1)
        case _ if not _is_same(before, after):
            yield {"op": "replace", "path": path, "value": after}


def _changes_of_list(path: str, old: list[Any], new: list[Any], levels: int) -> Iterator[Operation]:
    """Yield the changes between what both lists begin with and what both end with."""
    common = min(len(old), len(new))
    first = next((number for number in range(common) if not _is_same(old[number], new[number])), common)
    left = common - first
    last = next((number for number in range(left) if not _is_same(old[-1 - number], new[-1 - number])), left)
    old_end, new_end = len(old) - last, len(new) - last
    both = min(old_end, new_end)
    for number in range(first, both):
        yield from _changes(f"{path}/{number}", old[number], new[number], levels)
    for number in reversed(range(both, old_end)):
        yield {"op": "remove", "path": f"{path}/{number}"}
    for number in range(both, new_end):
        yield {"op": "add", "path": f"{path}/{number}", "value": new[number]}


def _is_same(before: Any, after: Any) -> bool:
    """Return whether both are the same JSON; Python's own comparison takes 1 and true for the same."""
    return json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True)


def _below(path: str, name: str) -> str:
    return f"{path}/{name.replace('~', '~0').replace('/', '~1')}"
