"""JSON Schemas with values of them, most of them as pydantic makes them."""

from __future__ import annotations

from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal, NotRequired

from pydantic import BaseModel, Field, TypeAdapter
from typing_extensions import TypedDict


class Size(Enum):
    """An enum of texts."""

    SMALL = "small"
    LARGE = "large"


class Cat(BaseModel):
    """One of two, told apart by a constant."""

    kind: Literal["cat"] = "cat"
    lives: int = Field(9, ge=0, le=9)


class Dog(BaseModel):
    """The other one."""

    kind: Literal["dog"] = "dog"
    name: str


class Tree(BaseModel):
    """A model that names itself."""

    label: str
    left: Tree | None = None
    branches: list[Tree] = []


class Loose(TypedDict):
    """Members that are left out without a default."""

    a: int
    b: NotRequired[bool]
    c: NotRequired[str | None]


class Everything(BaseModel):
    """A member for each kind of field."""

    text: str = Field(description="Words.", min_length=1, max_length=400)
    count: Annotated[int, Field(ge=-(2**60), le=2**60)]
    share: float = 0.5
    sure: bool
    usual: bool = True
    size: Size = Size.SMALL
    level: Literal[1, 2, "three", None] = 1
    day: date | None = None
    note: str | None
    maybe: bool | None
    tags: list[str] = []
    scores: list[float] | None
    pet: Cat | Dog = Field(discriminator="kind")
    either: int | str | None = "x"
    nothing: None = None
    tree: Tree
    pair: tuple[int, str] = (1, "a")
    table: dict[str, int] = {}
    some: Any = None


TWIG: dict[str, Any] = {"label": "twig", "left": None, "branches": []}
WHOLE: dict[str, Any] = {
    "text": "tea",
    "count": 2,
    "share": 1.25,
    "sure": True,
    "usual": False,
    "size": "large",
    "level": "three",
    "day": "2026-01-31",
    "note": None,
    "maybe": None,
    "tags": ["a", "b"],
    "scores": None,
    "pet": {"kind": "dog", "name": "Rex"},
    "either": 3,
    "nothing": None,
    "tree": {"label": "root", "left": TWIG, "branches": [TWIG, TWIG]},
    "pair": [2, "b"],
    "table": {"x": 1},
    "some": {"of": ["anything", None, 1.5]},
}
LEAST: dict[str, Any] = {
    "text": "two\nlines",
    "count": 0,
    "sure": False,
    "note": "said",
    "maybe": False,
    "scores": [],
    "pet": {"kind": "cat"},
    "tree": {"label": "root"},
}


def _schema(kind: Any) -> dict[str, Any]:
    return TypeAdapter(kind).json_schema()


TABLE: list[tuple[dict[str, Any], Any]] = [
    (_schema(Everything), WHOLE),
    (_schema(Loose), {"a": 1}),
    (_schema(Loose), {"a": 1, "b": False, "c": None}),
    (_schema(Loose), {"a": 1, "c": "null"}),
    (_schema(str), "a question's answer"),
    (_schema(int), 7),
    (_schema(bool), False),
    (_schema(str | None), None),
    (_schema(int | None), 4),
    (_schema(list[int]), [3, 1, 2]),
    (_schema(list[list[bool]]), [[True], [], [False, True]]),
    (_schema(Cat | Dog), {"kind": "dog", "name": "null"}),
    (_schema(Cat | Dog | int | None), 5),
    (_schema(Size), "small"),
    (_schema(dict[str, float]), {"__proto__": 1, "b": 2.5}),
    ({}, {"any": [1, "two", None]}),
    ({"type": ["integer", "string", "null"]}, "1"),
    (
        {"type": "object", "properties": {"a/b": {"$ref": "#/$defs/x~1y"}}, "$defs": {"x/y": {"type": "number"}}},
        {"a/b": 1},
    ),
    ({"type": "object", "properties": {"__proto__": {"type": "string"}, "constructor": {}}}, {"constructor": "b"}),
    ({"type": "object", "properties": {"a": {"type": "string"}}}, {"a": "b", "more": 1}),
    ({"$ref": "#"}, [1]),
    ({"anyOf": [{"$ref": "#"}, {"type": "null"}]}, {"a": 1}),
    ({"$ref": "https://elsewhere.example/schema"}, 3),
    ({"type": "string", "enum": ["a"]}, 3),
    ({"type": "integer"}, "not one"),
    ({"const": {"a": [1]}}, {"a": [1]}),
]


LEFT_OUT = (_schema(Everything), LEAST)
"""A value that leaves defaults out, which a form shows and sends if somebody changes them."""
