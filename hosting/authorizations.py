"""What a tool says of a sign-in that it needs: the service, the link, and what for. Never a token.

Theory. The link is stored, listed and shown, so it must be one that anybody may read: it leads to the service's own
page. Whatever the service gives for it stays between the service and the tool. The same sign-in is the same service and
the same scopes: each call makes a link of its own, with another state in it.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import NotRequired
from urllib.parse import parse_qsl, urlsplit

import msgspec
from pydantic import BaseModel, ConfigDict, Field
from typing_extensions import TypedDict

_LONGEST_CLAIMS, _MOST_CLAIMS = 2_048, 10
_CLAIM = re.compile(r"[A-Za-z_]{1,32}")
_CLAIM_VALUE = re.compile(r"[\w.:/-]{1,64}", re.ASCII)
_LONGEST_SERVICE, _LONGEST_URL, _LONGEST_SCOPE, _MOST_SCOPES = 100, 2_048, 200, 50
_URL = re.compile(r"[!#-;=?-\[\]_a-z~]+")
"""The characters of an address, without those that browsers and libraries read differently."""
_SCOPE = re.compile(r"[!#-\[\]-~]+")
_SECRETS = frozenset(
    (
        *("access_token", "assertion", "client_assertion", "client_secret", "code", "code_verifier"),
        *("device_code", "id_token", "password", "refresh_token", "secret", "token"),
    )
)
"""Parameters that carry what a sign-in gives, or needs: whoever reads the link would have it."""


class SignIn(TypedDict):
    """A sign-in as it is shown: the user opens `url`, and sends no token here. It must give the `claims` (JSON)."""

    service: str
    url: str
    scopes: list[str]
    claims: NotRequired[str]


class _Wanted(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """What a claims challenge says of one claim."""

    essential: bool = False
    value: str | None = None
    values: list[str] = []


class _Challenge(msgspec.Struct, forbid_unknown_fields=True):
    """A claims challenge, as a service sends it that wants more of a sign-in (OpenID Connect's claims parameter)."""

    access_token: dict[str, _Wanted | None]


_decode = msgspec.json.Decoder(_Challenge).decode


def challenge_of(text: str) -> str | None:
    """Return a claims challenge with no more in it than names and short values; None for any other text."""
    if len(text) > _LONGEST_CLAIMS:
        return None
    try:
        challenge = _decode(text)
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None
    wanted = challenge.access_token
    values = [
        value for claim in wanted.values() if claim for value in (claim.value, *claim.values) if value is not None
    ]
    is_short = len(wanted) <= _MOST_CLAIMS and len(values) <= _MOST_CLAIMS
    if not is_short or not all(map(_CLAIM.fullmatch, wanted)) or not all(map(_CLAIM_VALUE.fullmatch, values)):
        return None
    return msgspec.json.encode(challenge).decode()


class Authorization(BaseModel):
    """A sign-in or a consent that a tool waits for: of this service, at this link, with these scopes."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    service: str
    url: str
    scopes: tuple[str, ...] = ()
    claims: str | None = Field(default=None, exclude_if=lambda claims: claims is None)

    @classmethod
    def of(cls, service: str, url: str, scopes: Iterable[str], claims: str | None = None) -> Authorization:
        """Return the sign-in; raises `ValueError` for one that cannot be shown, by a sentence that says what to do."""
        if not 0 < len(service.strip()) <= len(service) <= _LONGEST_SERVICE or not service.isprintable():
            raise ValueError(f"The service is {service[:80]!r}. Name it with 1 to {_LONGEST_SERVICE} characters.")
        if isinstance(scopes, str):
            raise ValueError(f"The scopes are the text {scopes[:80]!r}. Give a list of texts.")
        names = tuple(scopes)
        wrong = [name for name in names if len(name) > _LONGEST_SCOPE or not _SCOPE.fullmatch(name)]
        if wrong or len(names) > _MOST_SCOPES:
            why = f"{wrong[0][:80]!r} is none" if wrong else f"there are {len(names)}"
            raise ValueError(f"Of the scopes {why}. Give at most {_MOST_SCOPES}, each a name without blanks.")
        if (fault := _link_fault(url)) is not None:
            raise ValueError(f"The link {fault}")
        if claims is not None and challenge_of(claims) is None:
            example = '{"access_token": {"acrs": {"value": "c1"}}}'
            raise ValueError(f"The claims are no challenge of a service. Give JSON such as {example}.")
        return cls(service=service, url=url, scopes=names, claims=claims and challenge_of(claims))

    def shown(self) -> SignIn:
        """Return it as JSON has it."""
        shown = SignIn(service=self.service, url=self.url, scopes=list(self.scopes))
        return shown if self.claims is None else {**shown, "claims": self.claims}

    @property
    def words(self) -> str:
        """The request for a reader of text only."""
        scopes = f" ({', '.join(self.scopes)})" if self.scopes else ""
        return f"sign in to {self.service}{scopes} at {self.url}"


def _link_fault(url: str) -> str | None:
    """Return why a link is not shown, None for a good one. A link with a secret is not repeated."""
    if not _URL.fullmatch(url) or len(url) > _LONGEST_URL:
        return f"is no address of 1 to {_LONGEST_URL} ASCII characters. Write others as %-escapes."
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host:
        return "is no absolute address. Give one of https."
    if "@" in parts.netloc:
        return "has a user's name before its host. Leave that out."
    if parts.scheme != "https" and not (parts.scheme == "http" and _is_loopback(host)):
        return f"begins with {parts.scheme!r} and leads to {host!r}. Give an https address; http only of this machine."
    sent = f"{parts.query}&{parts.fragment}".replace(";", "&")
    names = {name.lower() for name, _ in parse_qsl(sent, keep_blank_values=True)}
    if secrets := names & _SECRETS:
        return f"has the parameter {min(secrets)!r}. Everybody who may read the thread reads it: keep that in the tool."
    return None


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
