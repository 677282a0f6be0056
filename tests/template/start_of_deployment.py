"""What a Bicep file says where the compiler wants a value that is known when the deployment starts.

A deployment is laid out before anything of it exists: how often a loop runs, whether a resource is there at all, and
what it is called. Of these the compiler refuses every expression whose value only the deployment brings (BCP120,
BCP177, BCP178, BCP182):

- a property of a resource other than its `id`, `name`, `type` and `apiVersion`
- an output of a module
- `reference()`, `list*()` and `getSecret()`

A variable is what stands in it. The parser tells a name from a text of the same letters nowhere, so that a text which
spells a variable's name counts as that variable: this finds too much then, never too little.
"""

import re
from collections.abc import Iterator
from typing import Any

from tests.template.bicep import config_of, tree_of

KNOWN_OF_A_RESOURCE = {"apiVersion", "id", "name", "type"}
ASKS_AZURE = re.compile(r"reference|getSecret|[Ll]ist\w*")  # the parser's `list_func` is one of them

Tree = dict[str, Any]


def unknown_at_start(tree: Tree) -> list[str]:
    """Each place that needs a value known at the start and is given another, with what makes it so."""
    return [f"{place}: {part}" for place, value in places(tree) for part in run_time_parts(value, tree)]


def places(tree: Tree) -> Iterator[tuple[str, object]]:
    """Every loop's array and filter, every condition and every name; of a variable's loop all that it makes."""
    for kind in ("variables", "resources", "modules", "outputs"):
        for symbol, declared in tree.get(kind, {}).items():
            for loop in loops_in(declared):
                yield f"{symbol}, loop", [loop["loop_type"]["detail"], loop["condition"]]
                if kind == "variables":
                    yield f"{symbol}, loop", loop["config"]
            if kind in ("resources", "modules"):
                yield f"{symbol}, condition", declared["config"].get("condition")
                yield f"{symbol}, name", config_of(declared).get("name")


def loops_in(value: object) -> Iterator[Tree]:
    """Every for-expression within `value`."""
    if isinstance(value, dict) and "loop_type" in value:
        yield value
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from loops_in(part)


def run_time_parts(value: object, tree: Tree, inlined: frozenset[str] = frozenset()) -> Iterator[str]:
    """What within `value` only the deployment brings."""
    if isinstance(value, str):
        for expression in re.findall(r"\$\{([^{}]+)}", value):
            inside = tree_of(f"var inside = {expression}\n")["variables"]["inside"]["value"]
            yield from run_time_parts(inside, tree, inlined)
        if value in tree.get("variables", {}) and value not in inlined:
            yield from run_time_parts(tree["variables"][value]["value"], tree, inlined | {value})
    elif isinstance(value, dict):
        if brought := brought_by_deployment(value, tree):
            yield brought
        for part in value.values():
            yield from run_time_parts(part, tree, inlined)
    elif isinstance(value, list):
        for part in value:
            yield from run_time_parts(part, tree, inlined)


def brought_by_deployment(expression: Tree, tree: Tree) -> str | None:
    """How the expression itself, its parts apart, needs the deployment; None when it does not."""
    if (function := expression.get("function")) and ASKS_AZURE.match(function["type"]):
        return f"{function['type']}()"
    operator = expression.get("operator", {"type": None})
    if operator["type"] == "function_accessor":
        return f"{operator['operands']['func_name']}()"
    if operator["type"] not in ("property_accessor", "index_accessor"):
        return None
    symbol, member = map(leftmost, operator["operands"].values())
    resource = tree.get("resources", {}).get(symbol)
    is_element = operator["type"] == "index_accessor" and (resource is None or "loop_type" in resource["config"])
    if resource and not is_element and member not in KNOWN_OF_A_RESOURCE:
        return f"{symbol}.{member}"
    return f"{symbol}.outputs" if symbol in tree.get("modules", {}) and member == "outputs" else None


def leftmost(value: object) -> object:
    """The name with which a chain of `.` and `[]` begins; None when something is called in it."""
    while isinstance(value, dict) and "operator" in value and "func_name" not in value["operator"]["operands"]:
        value = value["operator"]["operands"].get("operand_1")
    return value if isinstance(value, str) else None
