"""The operations of OpenAI's files and uploads, on the wire that serves OpenAI's clients."""

from __future__ import annotations

from hosting.citations import OPENAI_FILE_PREFIX
from hosting.http.parameters import Parameter, in_path
from hosting.http.route import Place, Route

FILE_PREFIX, UPLOAD_PREFIX, PART_PREFIX = OPENAI_FILE_PREFIX, "upload_", "part_"
"""How ids begin; the rest is the app's own id."""

_HOME = Place().below("openai")
_FILE = in_path("file", "The id.", pattern=f"{FILE_PREFIX}[0-9a-f]{{32}}")
_UPLOAD = in_path("upload", "The id.", pattern=f"{UPLOAD_PREFIX}[0-9a-f]{{32}}")
_PAGE = (
    Parameter("limit", "query", "The most files to return.", {"type": "integer", "minimum": 1, "maximum": 10_000}),
    Parameter("order", "query", "asc (oldest first) or desc.", {"type": "string", "enum": ["asc", "desc"]}),
    Parameter("after", "query", "Only files after this id.", {"type": "string"}),
    Parameter("purpose", "query", "Only files of this purpose.", {"type": "string"}),
)


def _operation(method: str, path: str, description: str, needs: str, *parameters: Parameter) -> Route:
    return Route("responses", method, _HOME.below(f"v1/{path}"), description, (), (), parameters, needs=needs)  # type: ignore[arg-type]


CREATE = _operation("POST", "files", "Upload a file", "own")
LIST = _operation("GET", "files", "List your files", "read", *_PAGE)
READ = _operation("GET", "files/{file}", "Read what is known of a file", "read", _FILE)
CONTENT = _operation("GET", "files/{file}/content", "Download a file", "read", _FILE)
DELETE = _operation("DELETE", "files/{file}", "Delete a file", "own", _FILE)
BEGIN = _operation("POST", "uploads", "Begin a file that comes in parts", "own")
ADD_PART = _operation("POST", "uploads/{upload}/parts", "Send a part of a file", "own", _UPLOAD)
COMPLETE = _operation("POST", "uploads/{upload}/complete", "Make a file of its parts", "own", _UPLOAD)
CANCEL = _operation("POST", "uploads/{upload}/cancel", "Give an upload up", "own", _UPLOAD)
OPERATIONS = (CREATE, LIST, READ, CONTENT, DELETE, BEGIN, ADD_PART, COMPLETE, CANCEL)
