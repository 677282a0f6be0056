"""The page for a browser, `ui/`: its files, read once at start, and the headers of each.

Theory. The page is the files of the folder `ui` and of those that features add, as one flat list. It holds no data:
what it shows it asks the routes for, with the key that is typed into it. So it needs no key itself. A browser keeps
every file but the first for good, because each lies under a name made of all their contents: what is imported by a
relative URL is of the same version as what imports it. The first file names that version, and is asked for each time.
Every URL is relative, so a proxy may put a path before. Comments that have lines of their own are not sent: they would
be an eighth of all. The lines stay, empty, so a line that a browser names is that of the file. Nor are the blanks sent
with which lines begin: so no text of a script goes over two lines.

The first file names the modules that the page begins with, so a browser asks for all of them at once. A module that
another one imports by a call, and no module by a line of its own, is sent when a view needs it.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

from hosting.http.replies import Reply

FUNCTION = "http_page"
ROUTE = "ui/{*path}"
FOLDER = Path(__file__).with_name("ui")

_INDEX = "index.html"
_MAIN = "main.js"
_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_COMMENTED = (".css", ".js")
_IMPORT = re.compile(rb'^import .* from "\./([^"]+)"$', re.MULTILINE)
_COMMENT = re.compile(rb"^ *(?://.*|/\*(?:[^*]|\*(?!/))*\*/)$", re.MULTILINE)
_INDENT = re.compile(rb"^ +", re.MULTILINE)
_FOR_GOOD = "public, max-age=31536000, immutable"
_REVALIDATED = "no-cache"
_SAFE = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
"""No word of a model, a tool or a caller runs as a script, frames the page, or sends anything elsewhere."""


class _File(Struct, frozen=True, dict=True):
    content: bytes
    media_type: str
    etag: str
    keeping: str

    @classmethod
    def of(cls, name: str, content: bytes, keeping: str) -> _File:
        etag = f'"{sha256(content).hexdigest()[:32]}"'
        return cls(content, _MEDIA_TYPES[Path(name).suffix], etag, keeping)

    @cached_property
    def sent(self) -> bytes:
        """The content without comments and indents, made at the first request: most processes never show the page."""
        if self.media_type not in map(_MEDIA_TYPES.get, _COMMENTED):
            return self.content
        return _INDENT.sub(b"", _COMMENT.sub(lambda comment: b"\n" * comment.group().count(b"\n"), self.content))

    @cached_property
    def packed(self) -> bytes:
        """The same compressed."""
        return gzip.compress(self.sent, mtime=0)


class Page:
    """The files by their paths below `ui/`."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """Read the folders. A file of a type that the page has no use for raises `KeyError`."""
        paths = (path for folder in folders for path in folder.iterdir())
        files = {path.name: path.read_bytes() for path in sorted(paths, key=lambda path: path.name)}
        index = files.pop(_INDEX).decode()
        version = sha256(b"\0".join(part for name, content in files.items() for part in (name.encode(), content)))
        self._version = version.hexdigest()[:16]
        self._files = {f"{self._version}/{name}": _File.of(name, files[name], _FOR_GOOD) for name in files}
        first = sorted(_imported(files))
        modules = "\n".join(f'<link rel="modulepreload" href="{self._version}/{name}">' for name in first)
        shown = index.replace("MODULES", modules).replace("VERSION", self._version)
        self._files[""] = _File.of(_INDEX, shown.encode(), _REVALIDATED)

    def reply(self, requested: str, path: str, headers: Mapping[str, str]) -> Reply:
        """Return the response to a GET or HEAD of the URL path `requested`, whose part after `ui/` is `path`."""
        if not path and not requested.endswith("/"):
            return Reply(308, "", None, {"location": f"{requested.rpartition('/')[2]}/"})
        file = self._files.get(path)
        if file is None:
            return Reply(404, "The page does not have this file. Reload the page: it may have changed.", "text/plain")
        sent = {**_SAFE, "etag": file.etag, "cache-control": file.keeping, "vary": "accept-encoding"}
        if file.etag in headers.get("if-none-match", ""):
            return Reply(304, "", None, sent)
        if "gzip" in headers.get("accept-encoding", ""):
            return Reply(200, file.packed, file.media_type, {**sent, "content-encoding": "gzip"})
        return Reply(200, file.sent, file.media_type, sent)


def _imported(files: Mapping[str, bytes]) -> set[str]:
    """Return the modules that the page begins with."""
    known, left = set[str](), [_MAIN]
    while left:
        name = left.pop()
        if name in files and name not in known:
            known.add(name)
            left += [match.decode() for match in _IMPORT.findall(files[name])]
    return known
