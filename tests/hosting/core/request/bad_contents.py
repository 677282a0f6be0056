"""Contents that must be refused at the HTTP door, by name."""

from typing import Any

from tests.hosting.core.request.bad_requests import Bad, bad_json

PICTURE = "data:image/png;base64,iVBORw0KGgo="


def bad_content(says: str, value: object, code: str = "invalid_field", status: int = 400) -> Bad:
    """Return a refusal of the second content of a request."""
    return bad_json(status, code, says, contents=[{"$type": "text", "text": "look"}, value])


def picture(**properties: Any) -> dict[str, Any]:
    return {"$type": "data", "uri": PICTURE, **properties}


BAD_CONTENTS = {
    "contents that are an object": bad_json(400, "invalid_field", "'contents' is a JSON object", contents={}),
    "33 contents": bad_json(400, "invalid_field", "the limit is 32", contents=[{"$type": "text", "text": "a"}] * 33),
    "a blank message beside contents": bad_json(400, "missing_message", "blank", message="", contents=[picture()]),
    "a content that is a text": bad_content("contents[1] must be an object", "look"),
    "a tool call": bad_content("contents[1].$type is 'functionCall'", {"$type": "functionCall", "callId": "c"}),
    "an unknown kind": bad_content("contents[1].$type is 'unknown'", {"$type": "unknown", "content": {"type": "text"}}),
    "no base64": bad_content(
        "contents[1].uri is not valid base64", {"$type": "data", "uri": "data:image/png;base64,%"}
    ),
    "a picture that says it is another": bad_content("its data URI has another type", picture(mediaType="image/gif")),
    "a blank name": bad_content("contents[1].name must be a string that is not blank", picture(name=" ")),
    "a media type that is none": bad_content("contents[1].mediaType is 'image'", {**picture(), "mediaType": "image"}),
    "a document": bad_content(
        "contents[1] is application/pdf, and the model of this agent takes text, image/* only",
        {"$type": "data", "uri": "data:application/pdf;base64,aGk="},
        "unsupported_content",
    ),
    "a file of the provider": bad_content(
        "contents[1] is hostedFile", {"$type": "hostedFile", "fileId": "f"}, "unsupported_content"
    ),
    "a document by reference": bad_content(
        "only pictures may be sent by reference",
        {"$type": "uri", "uri": "https://example.com/a.pdf", "mediaType": "application/pdf"},
        "unsupported_content",
    ),
    "a reference to a file on disk": bad_content(
        "Send an http or https address", {"$type": "uri", "uri": "file:///etc/passwd", "mediaType": "image/png"}
    ),
    "a reference with a port that is none": bad_content(
        "must be an absolute URI", {"$type": "uri", "uri": "https://example.com:99999/a.png", "mediaType": "image/png"}
    ),
    "data of a media type that is none": bad_content(
        "contents[1].uri must look like data:", {"$type": "data", "uri": "data:;=;;base64,eA=="}
    ),
    "a reference with a line end": bad_content(
        "Send an http or https address", {"$type": "uri", "uri": "https://a/b\r\nx: y", "mediaType": "image/png"}
    ),
    "a picture over the limit": bad_content(
        "the limit is 262,144",
        {"$type": "data", "uri": "data:image/png;base64," + "A" * 262_144},
        "content_too_large",
        413,
    ),
}
