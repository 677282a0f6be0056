"""Microsoft Entra ID as the provider of user tokens: MSAL's on-behalf-of flow, without a secret.

Theory. Entra checks the caller's token: its signature, its audience, its end. We check whom it is for, before it leaves
this process, and whom the answer is for, before a tool gets it: MSAL checks neither. The app proves itself by its
managed identity, which its registration trusts. MSAL keeps no token for us: our cache has bounds and owners. What the
provider sends goes into no line of a log and no error but a code of its own form: it may hold anything.
"""

from __future__ import annotations

import base64
import json
import logging
import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

import msgspec

from hosting.authorizations import challenge_of
from hosting.errors import ConfigurationError
from hosting.principal import Principal
from hosting.user_tokens import UserToken, UserTokenError

if TYPE_CHECKING:
    import msal  # type: ignore[import-untyped]

logger = logging.getLogger(__name__)

LEEWAY_SECONDS = 60.0
"""How far the provider's clock may be ahead of ours, for a token that is not valid yet."""
_TIMEOUT_SECONDS = 10.0
_MOST_ANSWER_BYTES = 262_144
_LONGEST_SECONDS = 604_800
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TOKEN = re.compile(r"[\w.~+/=-]{1,65536}", re.ASCII)
_CODE = re.compile(r"AADSTS\d{2,9}")
_SIGN_IN_AGAIN = frozenset(("AADSTS50132", "AADSTS50133", "AADSTS50173", "AADSTS500133"))
"""The codes of a caller's token that was revoked or has ended."""
_FEDERATION = "api://AzureADTokenExchange"


class _Claims(msgspec.Struct):
    """The claims by which a token is bound to its user. Those of the caller's token Entra checks once more."""

    exp: float
    oid: str
    tid: str
    nbf: float = 0.0
    sub: str = ""
    aud: str = ""
    iss: str = ""


_decode = msgspec.json.Decoder(_Claims).decode


def entra(
    client_id: str,
    tenant: str,
    *,
    sign_in_url: str,
    authority: str = "https://login.microsoftonline.com",
    managed_identity: str | None = None,
    assertion: Callable[[], str] | None = None,
) -> EntraTokens:
    """Return the exchange of `on_behalf_of(...)` for users of one Entra tenant.

    `client_id` and `tenant` are the ids (GUIDs) of your app registration and its tenant; `authority` is another one
    for national clouds. `sign_in_url` is where your users sign in to this app: a run that waits for its user shows it.
    The app proves itself by the token of its managed identity, of the one with the client id `managed_identity` where
    it has several, or by what `assertion` returns: a JSON Web Token that the registration trusts by a federated
    credential.

    Raises `ConfigurationError` for an option that cannot be meant.
    """
    for name, value in {"client_id": client_id, "tenant": tenant}.items():
        if not isinstance(value, str) or not _ID.fullmatch(value.lower()):
            raise ConfigurationError(f"{name} of entra is {value!r:.80}. Give the id (GUID) of the registration.")
    parts = urlsplit(authority)
    if parts.scheme != "https" or not parts.hostname or parts.path.strip("/") or "@" in parts.netloc:
        raise ConfigurationError(f"authority of entra is {authority!r:.80}. Give https:// and a host, without a path.")
    proof = assertion or _Proof(managed_identity)
    return EntraTokens(
        client_id.lower(), tenant.lower(), sign_in_url=sign_in_url, authority=authority.rstrip("/"), assertion=proof
    )


class EntraTokens:
    """The exchange: of a caller's token for another service's, and of the app's identity for one."""

    def __init__(
        self,
        client_id: str,
        tenant: str,
        *,
        sign_in_url: str,
        authority: str,
        assertion: Callable[[], str],
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`clock` returns the Unix time (s)."""
        self.sign_in = ("Microsoft Entra ID", sign_in_url)
        self._client_id = client_id
        self._tenant = tenant
        self._authority = f"{authority}/{tenant}"
        self._assertion = assertion
        self._clock = clock
        self._making = threading.Lock()
        self._client: msal.ConfidentialClientApplication | None = None

    def lasts_until(self, token: str, principal: Principal, now: float) -> float | None:
        """Return the end of a token of this tenant that is valid `now` and the principal's; None for any other."""
        claims = _claims(token)
        if claims is None or not _ID.fullmatch(claims.oid) or claims.tid != self._tenant:
            return None
        is_theirs = principal.id in (claims.oid, claims.sub) and f"/{claims.tid}/" in f"{principal.issuer}/"
        is_valid = claims.nbf - LEEWAY_SECONDS <= now < claims.exp
        return claims.exp if is_theirs and is_valid else None

    def of_user(self, token: str, principal: Principal, scope: str) -> UserToken:
        """Return the principal's token for the scope; raises `UserTokenError`."""
        caller = _claims(token)
        if caller is None or self.lasts_until(token, principal, self._clock()) is None:
            raise UserTokenError("refused", "The caller's token is not valid any more, or of somebody else.")
        answer = self._asked(lambda client: client.acquire_token_on_behalf_of(token, [scope]))
        access_token = _token_of(answer)
        claims = _claims(answer.get("id_token"))
        is_for_us = claims is not None and claims.aud == self._client_id and claims.iss == f"{self._authority}/v2.0"
        if claims is None or not is_for_us or (claims.oid, claims.tid) != (caller.oid, caller.tid):
            raise _refused("the identity provider's answer does not say that the token is this user's")
        return UserToken(access_token, self._end_of(answer))

    def of_app(self, scope: str) -> UserToken:
        """Return the app's own token for the scope; raises `UserTokenError`."""
        answer = self._asked(lambda client: client.acquire_token_for_client([scope]))
        return UserToken(_token_of(answer), self._end_of(answer), is_of_app=True)

    def _asked(self, ask: Callable[[msal.ConfidentialClientApplication], Any]) -> Mapping[str, Any]:
        try:
            answer = ask(self._made())
        except Exception as error:
            # Its text may be the provider's, and whatever that sent.
            logger.warning("The identity provider cannot be asked for a token: %s", type(error).__name__)
            raise UserTokenError(
                "unavailable",
                "The identity provider, or the app's own identity, cannot be reached now. Try again; on your own "
                "machine see docs/guides/user-tokens.md.",
            ) from None
        if not isinstance(answer, dict):
            raise _refused("the identity provider's answer cannot be read")
        return answer

    def _end_of(self, answer: Mapping[str, Any]) -> float:
        seconds = answer.get("expires_in")
        if isinstance(seconds, bool) or not isinstance(seconds, int) or not 0 < seconds <= _LONGEST_SECONDS:
            raise _refused("the identity provider does not say until when the token lasts")
        return self._clock() + seconds

    def _made(self) -> msal.ConfidentialClientApplication:
        """Return MSAL's client; it is made at the first token, and again while the provider was not there for it."""
        with self._making:
            if self._client is None:
                import msal

                class Forgetting(msal.TokenCache):  # type: ignore[misc]
                    """Keeps nothing: our own cache does."""

                    def add(self, event: Any, now: Any = None) -> None:
                        """Keep nothing of the answer."""

                self._client = msal.ConfidentialClientApplication(
                    self._client_id,
                    authority=self._authority,
                    client_credential={"client_assertion": self._assertion},
                    token_cache=Forgetting(),
                    http_client=_CarefulHttp(),
                    validate_authority=False,
                    instance_discovery=False,
                )
            return self._client


class _Proof:
    """Gives the token of the app's managed identity, by which the app registration knows it."""

    def __init__(self, client_id: str | None) -> None:
        self._client_id = client_id
        self._client: msal.ManagedIdentityClient | None = None

    def __call__(self) -> str:
        if self._client is None:
            import msal

            chosen = msal.UserAssignedManagedIdentity(client_id=self._client_id) if self._client_id else None
            identity = chosen or msal.SystemAssignedManagedIdentity()
            self._client = msal.ManagedIdentityClient(identity, http_client=_CarefulHttp())
        answer = self._client.acquire_token_for_client(resource=_FEDERATION)
        if not isinstance(token := answer.get("access_token"), str):
            raise OSError("the managed identity has no token")
        return token


class _Answer(msgspec.Struct):
    """A response, by MSAL's names for its parts."""

    status_code: int
    text: str
    headers: Mapping[str, str]

    def raise_for_status(self) -> None:
        """Raise for a failure, without its text."""
        if self.status_code >= 400:
            raise OSError(f"HTTP {self.status_code}")


class _Redirected(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the form with the tokens would go along."""

    def redirect_request(self, *_: Any) -> None:
        """Leave the redirect as the answer."""


class _CarefulHttp:
    """The HTTP client of MSAL: it goes where it was sent and nowhere else, and takes only a JSON object of some size.

    MSAL writes any other answer into the log. `close` is MSAL's name: no connection is kept.
    """

    def __init__(self) -> None:
        self._opener = urllib.request.build_opener(_Redirected)

    def post(self, url: str, params: Any = None, data: Any = None, headers: Any = None, **_: Any) -> _Answer:
        """Send a form and return the answer."""
        body = data if isinstance(data, str) else urlencode(data or {})
        return self._answer(urllib.request.Request(_with(url, params), body.encode(), dict(headers or {})))

    def get(self, url: str, params: Any = None, headers: Any = None, **_: Any) -> _Answer:
        """Read a document."""
        return self._answer(urllib.request.Request(_with(url, params), headers=dict(headers or {})))

    def close(self) -> None:
        """Do nothing."""

    def _answer(self, request: urllib.request.Request) -> _Answer:
        try:
            response = self._opener.open(request, timeout=_TIMEOUT_SECONDS)
        except urllib.error.HTTPError as error:
            response = error
        with response:
            body = response.read(_MOST_ANSWER_BYTES + 1)
        try:
            is_readable = len(body) <= _MOST_ANSWER_BYTES and isinstance(json.loads(body), dict)
        except (ValueError, RecursionError):
            is_readable = False
        if not is_readable or 300 <= response.status < 400:
            raise OSError(f"HTTP {response.status}, and no JSON object")
        return _Answer(response.status, body.decode(), dict(response.headers))


def _with(url: str, params: Any) -> str:
    return f"{url}?{urlencode(params)}" if params else url


def _claims(token: object) -> _Claims | None:
    """Return the claims of a JSON Web Token, without checking its signature; None for anything else."""
    parts = token.split(".") if isinstance(token, str) else []
    if len(parts) != 3:
        return None
    try:
        return _decode(base64.urlsafe_b64decode(parts[1] + "=="))
    except (ValueError, msgspec.MsgspecError, RecursionError):
        return None


def _token_of(answer: Mapping[str, Any]) -> str:
    token = answer.get("access_token")
    if token is None:
        found = _CODE.search(str(answer.get("error_description", ""))[:200])
        code = found[0] if found else None
        named = f" ({code})" if code else ""
        if answer.get("error") == "interaction_required" or code in _SIGN_IN_AGAIN:
            logger.info("A token was not given: the user must sign in again%s", named)
            claims = answer.get("claims")
            raise UserTokenError(
                "sign_in",
                f"No token was given: the user must sign in again{named}. Send the message again after that, or mark "
                "the tool @idempotent, so that the run waits for it.",
                challenge_of(claims) if isinstance(claims, str) else None,
            )
        raise _refused(f"the identity provider refuses it{named}")
    is_bearer = str(answer.get("token_type", "")).lower() == "bearer"
    if not is_bearer or not isinstance(token, str) or not _TOKEN.fullmatch(token):
        raise _refused("the identity provider gave no bearer token")
    return token


def _refused(why: str) -> UserTokenError:
    logger.warning("A token was not given: %s", why)
    return UserTokenError(
        "refused",
        f"No token was given: {why}. Check the app's permissions and the user's consent; see "
        "docs/guides/user-tokens.md.",
    )
