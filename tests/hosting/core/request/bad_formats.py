"""Response formats that must be refused at the HTTP door, by name."""

from itertools import pairwise
from typing import Any

from tests.hosting.core.request.bad_requests import Bad, bad_json

DRAFT_7 = "http://json-schema.org/draft-07/schema#"


def bad_format(says: str, value: object, **fields: Any) -> Bad:
    """Return a refusal of a response_format."""
    return bad_json(400, "invalid_field", says, response_format=value, **fields)


def bad_schema(says: str, /, **keywords: Any) -> Bad:
    """Return a refusal of a JSON Schema of these keywords."""
    return bad_format(f"The schema in 'response_format' {says}", keywords)


def enveloped(**members: Any) -> dict[str, Any]:
    """Return OpenAI's form of a response format."""
    return {"type": "json_schema", "json_schema": members}


def doubled(levels: int) -> dict[str, Any]:
    """Return a schema whose references double the work at each level."""
    names = [f"level{level}" for level in range(levels)]
    parts = {name: {"allOf": [{"$ref": f"#/$defs/{after}"}] * 2} for name, after in pairwise(names)}
    return {"$ref": "#/$defs/level0", "$defs": {**parts, names[-1]: {}}}


def deep(levels: int) -> dict[str, Any]:
    """Return a schema of so many objects in each other."""
    schema: dict[str, Any] = {}
    for _ in range(levels):
        schema = {"items": schema}
    return schema


BAD_FORMATS = {
    "a format that is a word": bad_format("is a JSON string", "json"),
    "two formats": bad_format("is also sent as", {"type": "json_object"}, responseFormat={"type": "text"}),
    "a format without a schema": bad_format("no object json_schema.schema", {"type": "json_schema"}),
    "a format with an unknown member": bad_format("has 'title', which is not", enveloped(schema={}, title="x")),
    "a format whose name has a blank": bad_format("1 to 64 of A-Z", enveloped(schema={}, name="a b")),
    "a schema of an unknown type": bad_schema("is not a JSON Schema at #/type: 'objekt' breaks", type="objekt"),
    "a schema of an unknown dialect": bad_schema("is of the dialect 'x'", **{"$schema": "x"}),
    "a schema wrong where only a reference leads": bad_schema(
        "is not a JSON Schema at #/$defs/a/type",
        **{"$schema": DRAFT_7, "$ref": "#/$defs/a", "$defs": {"a": {"type": "objekt"}}},
    ),
    "a reference to elsewhere": bad_schema(
        "has the reference 'http://127.0.0.1:9/x'", **{"$ref": "http://127.0.0.1:9/x"}
    ),
    "a reference to nothing": bad_schema("has the reference '#/$defs/b'", **{"$ref": "#/$defs/b"}),
    "a reference by another name of the document": bad_schema(
        "has $id at #/items", items={"$id": "http://x/", "$ref": "#"}
    ),
    "a reference in a circle": bad_schema("cannot be used: checking it ", **{"$ref": "#"}),
    "references that double the work": bad_schema(
        "cannot be used: checking it takes more than 10,000 steps", **doubled(40)
    ),
    "a pattern that looks ahead": bad_schema("has the pattern '(?=a)' at #/items", items={"pattern": "(?=a)"}),
    "a pattern of many steps": bad_schema("has patterns that are too large together, up to #", pattern="\\pL{9}"),
    "patterns of many steps together": bad_schema(
        "has patterns that are too large together, up to #/allOf",
        allOf=[{"pattern": f"a{{1000}}{n}"} for n in range(20)],
    ),
    "a schema of 1,001 schemas": bad_schema("has more than 1,000 schemas in it", allOf=[True] * 1_000),
    "a pattern that is a number where no reference leads": bad_schema(
        "is not a JSON Schema at #/$defs/a/pattern", **{"$schema": DRAFT_7, "$defs": {"a": {"pattern": 5}}}
    ),
    "names by pattern": bad_schema("has patternProperties at #", patternProperties={"a": {}}),
    "a schema of 33 levels": bad_schema("is nested deeper than 32", **deep(33)),
    "a schema of 33,000 characters": bad_schema("has 33,018 characters; the limit is 32,768", description="x" * 33_000),
    "a number out of range": Bad(
        400, "invalid_json", "the number 1e400", b'{"message": "hi", "response_format": {"minimum": 1e400}}'
    ),
}
