"""The changes of a shared state, applied by the package that the official client applies them with."""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest

from hosting.http.json_patch import shorter_patch
from tests.support.any_json import AnyJson
from tests.support.npm_client import printed_by, with_packages
from tests.support.seeds import repeated

pytestmark = pytest.mark.behaviour("ag-ui.state")

HERE = Path(__file__).parent
ANY = AnyJson(["", "a", "~/", "ü😀"], ["a", "b", "0", "1", "-", "", "~0", "a/b", "~1", "length", "ü"])


def changed(value: Any, chance: random.Random) -> Any:
    if chance.random() < 0.3 or not isinstance(value, dict | list):
        return ANY.value(chance)
    places = list(value) if isinstance(value, dict) else [*range(len(value))]
    for _ in range(chance.randrange(3)):
        place = chance.choice(places) if places else None
        if place is None or chance.random() < 0.3:
            extra = ANY.value(chance)
            if isinstance(value, dict):
                value[chance.choice(ANY.names)] = extra
            else:
                value.insert(chance.randrange(len(value) + 1), extra)
        elif chance.random() < 0.3:
            del value[place]
            return value
        else:
            value[place] = changed(value[place], chance)
    return value


def as_in_javascript(value: Any) -> Any:
    return json.loads(json.dumps(value), parse_int=float)


@pytest.mark.slow
async def test_the_clients_package_makes_the_same_of_every_patch(
    pytestconfig: pytest.Config, tmp_path: Path, seed: int
) -> None:
    """Of any two values, with long texts around so that a patch is shorter."""
    chance, pairs, expected = random.Random(seed), [], []
    for _ in range(repeated(3000, 100_000)):
        before = {"rest": "x" * 1000, "list": [ANY.value(chance) for _ in range(4)], **ANY.members(chance, 4)}
        after = changed(copy.deepcopy(before), chance)
        patch = shorter_patch(json.dumps(before), json.dumps(after))
        if patch is not None:
            pairs.append([before, patch])
            expected.append(after)
    file = tmp_path / "pairs.json"
    file.write_text(json.dumps(pairs), encoding="utf-8")
    script = with_packages(HERE / "patches.mjs", Path(pytestconfig.cache.mkdir("ag-ui-node")))
    got = await printed_by(script, str(file))
    differing = [
        [*pair, value, after]
        for pair, value, after in zip(pairs, got, expected, strict=True)
        if as_in_javascript(value) != as_in_javascript(after)
    ]

    assert len(pairs) > 1000
    assert differing[:3] == []


@pytest.mark.parametrize(
    ("before", "after", "patch"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": True}, [{"op": "replace", "path": "/a", "value": True}]),
        ({"a/b": {"~": 1}}, {"a/b": {"~": 2}}, [{"op": "replace", "path": "/a~1b/~0", "value": 2}]),
        ({"a": 1, "b": 2}, {"b": 2, "c": 3}, [{"op": "remove", "path": "/a"}, {"op": "add", "path": "/c", "value": 3}]),
        ([1, 2, 3], [1, 3], [{"op": "remove", "path": "/1"}]),
        ([1, 3], [1, 2, 3], [{"op": "add", "path": "/1", "value": 2}]),
        ([1, 2, 3, 4], [1, 5, 4], [{"op": "replace", "path": "/1", "value": 5}, {"op": "remove", "path": "/2"}]),
    ],
)
def test_a_patch_has_what_changed(before: Any, after: Any, patch: Any) -> None:
    """Beside what stays, which is long enough that a patch is shorter."""
    rest = "x" * 200
    expected = [{**change, "path": f"/value{change['path']}"} for change in patch]

    assert shorter_patch(*(json.dumps({"rest": rest, "value": value}) for value in (before, after))) == expected


REST = {"rest": "x" * 200}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"a": 1}, {"a": 2}),
        ("x", "y"),
        (None, {"a": "x" * 500}),
        *(({**REST, name: {"a": 1}}, {**REST, name: {"a": 2}}) for name in ("__proto__", "constructor", "prototype")),
    ],
)
def test_a_patch_that_is_no_shorter_or_changes_what_clients_guard_is_sent_whole(before: Any, after: Any) -> None:
    assert shorter_patch(json.dumps(before), json.dumps(after)) is None
