"""The platform's sign-in (App Service Authentication), played by `--principal NAME`: who every request comes from.

On Azure the platform takes the X-MS-CLIENT-PRINCIPAL headers away from what clients send, and adds its own. An app that
trusts them is so run here without an identity provider, and by one header as anybody else.
"""

from __future__ import annotations

import base64
import json
import re

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

ENABLED = ("WEBSITE_AUTH_ENABLED", "True")
"""The variable by which the platform says that it signs users in."""

_PLATFORM = b"x-ms-client-principal"
_SOMEBODY_ELSE = b"x-local-principal"
_NAME = re.compile(r"[A-Za-z0-9.@_-]{1,64}(:[A-Za-z0-9._-]{1,64}){0,8}")
_RULE = "give 1 to 64 letters, digits, '.', '@', '_' and '-', and roles after it, as in root:operators"
_PROVIDER = "local"
_ID_CLAIM = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/nameidentifier"


def principal_name(text: str) -> str:
    """Return a name that somebody can be signed in by; raises `ValueError`, with a sentence, for another text."""
    if _NAME.fullmatch(text):
        return text
    raise ValueError(f"{text!r} is not a valid name to sign in with; {_RULE}")


class SignIn:
    """The host's app behind the sign-in: each request is `name`'s, or whose it says itself by X-Local-Principal."""

    def __init__(self, app: ASGIApp, name: str) -> None:
        self._app = app
        self._name = principal_name(name)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on with the platform's headers; 400 for a name that nobody can have."""
        asked = [value for name, value in scope["headers"] if name.lower() == _SOMEBODY_ELSE]
        try:
            name = principal_name(b",".join(asked).decode("latin-1")) if asked else self._name
        except ValueError as error:
            await PlainTextResponse(f"X-Local-Principal: {error}.", 400)(scope, receive, send)
            return
        kept = [header for header in scope["headers"] if not _is_ours(header[0].lower())]
        await self._app({**scope, "headers": [*kept, *_headers_of(name)]}, receive, send)


def _is_ours(name: bytes) -> bool:
    return name.startswith(_PLATFORM) or name == _SOMEBODY_ELSE


def _headers_of(name: str) -> tuple[tuple[bytes, bytes], ...]:
    """Return what the platform sends to the app of somebody with this name, which is also their id, and these roles."""
    name, *roles = name.split(":")
    claims = [{"typ": _ID_CLAIM, "val": name}, {"typ": "name", "val": name}]
    claims += [{"typ": "roles", "val": role} for role in roles]
    principal = {"auth_typ": _PROVIDER, "name_typ": "name", "role_typ": "roles", "claims": claims}
    values = {
        b"": base64.b64encode(json.dumps(principal).encode()),
        b"-id": name.encode(),
        b"-name": name.encode(),
        b"-idp": _PROVIDER.encode(),
    }
    return tuple((_PLATFORM + end, value) for end, value in values.items())
