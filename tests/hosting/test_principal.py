"""Who calls: principals and their owners, and what App Service Authentication says of a request."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hosting.errors import UnauthorizedError
from hosting.principal import Principal, PrincipalRequest, easy_auth, resolve

ON = {"WEBSITE_AUTH_ENABLED": "True"}
TENANT = "6babcaad-604b-40ac-a9d7-9fd97c0b779f"
OTHER_TENANT = "9188040d-6c67-4c5b-b112-36a304b66dad"
OBJECT_ID = "http://schemas.microsoft.com/identity/claims/objectidentifier"
TENANT_ID = "http://schemas.microsoft.com/identity/claims/tenantid"
SUBJECT = "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/nameidentifier"
ROLE = "http://schemas.microsoft.com/ws/2008/06/identity/claims/role"
ENTRA = ((OBJECT_ID, "oid-1"), (TENANT_ID, TENANT), (SUBJECT, "sub-1"), ("name", "Ada, Countess"))
HEADER = "x-ms-client-principal"

texts = st.text(alphabet=st.characters(exclude_categories=("Cc", "Cs", "Cf", "Co", "Cn", "Zl", "Zp", "Zs")), min_size=1)
spaced = st.lists(texts, min_size=1, max_size=3).map(" ".join).filter(lambda text: 0 < len(text) <= 512)


def encoded(*claims: tuple[str, str], provider: str | None = "aad", **more: Any) -> str:
    """What the platform puts into X-MS-CLIENT-PRINCIPAL."""
    document = {"auth_typ": provider, "name_typ": "email", "role_typ": ROLE, **more}
    listed = [{"typ": kind, "val": value} for kind, value in claims]
    return base64.b64encode(json.dumps({**document, "claims": listed}).encode()).decode()


def headers_of(*claims: tuple[str, str], provider: str = "aad", **more: str) -> dict[str, str]:
    """A request's headers behind the platform; `more` are those whose name goes on."""
    ends = {f"{HEADER}-{end}": value for end, value in more.items()}
    return {"host": "app.test", HEADER: encoded(*claims, provider=provider), f"{HEADER}-idp": provider, **ends}


async def signed_in(headers: dict[str, str], environ: dict[str, str] = ON) -> Principal | None:
    try:
        return await resolve(easy_auth(environ), PrincipalRequest(headers, "POST /agents/one/run"))
    except UnauthorizedError:
        return None


@pytest.mark.behaviour("hosting.owners")
@settings(max_examples=25)
@given(st.lists(st.tuples(spaced, spaced), min_size=2, max_size=8, unique=True))
def test_no_two_principals_share_an_owner(pairs: list[tuple[str, str]]) -> None:
    """Of issuer and id alone, whatever they are; 16 characters that a name may have."""
    owners = {Principal(issuer, who).owner for issuer, who in pairs}

    assert len(owners) == len(pairs)
    assert all(len(owner) == 16 and owner.isalnum() and owner == owner.lower() for owner in owners)


@pytest.mark.behaviour("hosting.owners")
def test_name_and_roles_do_not_change_the_owner() -> None:
    assert Principal("i", "1", "Ada", ("admin",)).owner == Principal("i", "1").owner


@pytest.mark.behaviour("hosting.easy-auth")
async def test_a_user_of_entra_is_the_object_id_of_its_tenant() -> None:
    """The issuer is that of the tenant's own tokens; roles come by both names, each once; names keep their commas."""
    headers = headers_of(*ENTRA, (ROLE, "reader"), ("roles", "admin"), ("roles", "reader"), id="oid-1", name="ada@x")

    assert await signed_in(headers) == Principal(
        f"https://login.microsoftonline.com/{TENANT}/v2.0", "oid-1", "Ada, Countess", ("reader", "admin")
    )


@pytest.mark.behaviour("hosting.easy-auth")
async def test_users_of_two_tenants_share_no_owner() -> None:
    """Even if both have the same object id; by the token's issuer where there is no tenant."""
    both = [("oid", "1"), ("name", "Ada")]
    found = [
        await signed_in(headers_of(*both, ("tid", TENANT))),
        await signed_in(headers_of(*both, ("tid", OTHER_TENANT))),
        await signed_in(headers_of(*both, ("iss", f"https://sts.windows.net/{TENANT}/"))),
        await signed_in(headers_of(*both, ("iss", f"https://sts.windows.net/{OTHER_TENANT}/"))),
    ]

    assert len({principal.owner for principal in found if principal}) == 4


@pytest.mark.behaviour("hosting.easy-auth")
@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        (headers_of((SUBJECT, "7"), provider="google"), ("easy-auth/google", "7", None)),
        (
            headers_of((SUBJECT, "7"), ("iss", "https://accounts.google.com"), provider="google"),
            ("easy-auth/google/accounts.google.com", "7", None),
        ),
        (
            headers_of((SUBJECT, "7"), ("iss", "accounts.google.com"), provider="Google"),
            ("easy-auth/google/accounts.google.com", "7", None),
        ),
        (headers_of(("email", "a@x"), provider="github", id="9"), ("easy-auth/github", "9", "a@x")),
        (headers_of(("sub", "7"), provider="own", id="7", name="Ada"), ("easy-auth/own", "7", "Ada")),
        (headers_of(("oid", "1"), ("sub", "7"), provider="own"), ("easy-auth/own", "7", None)),
    ],
)
async def test_a_user_of_another_provider_is_its_subject(
    headers: dict[str, str], expected: tuple[str, str, str | None]
) -> None:
    """Or the platform's id header where no claim says it; an object id is Entra's alone."""
    found = await signed_in(headers)

    assert found is not None
    assert (found.issuer, found.id, found.name) == expected


@pytest.mark.behaviour("hosting.easy-auth")
async def test_no_provider_can_be_named_as_a_tenant() -> None:
    """A provider's users never lie under an issuer of Entra."""
    issuer = f"https://login.microsoftonline.com/{TENANT}/v2.0"
    found = [
        await signed_in(headers_of(("sub", "oid-1"), ("iss", claimed), provider=provider))
        for provider in ("own", "https", "https:")
        for claimed in (issuer, f"//login.microsoftonline.com/{TENANT}/v2.0")
    ]

    assert not any(principal.issuer.startswith("https") for principal in found if principal)


GOOD = headers_of(*ENTRA, id="oid-1", name="Ada")
NESTED = base64.b64encode(b'{"unknown": ' + b"[" * 40_000).decode()


@pytest.mark.behaviour("hosting.easy-auth")
@pytest.mark.parametrize(
    "changed",
    [
        {HEADER: f"{GOOD[HEADER]},{GOOD[HEADER]}"},
        {HEADER: f"{GOOD[HEADER]}, {encoded(('oid', '2'), ('tid', TENANT))}"},
        {HEADER.upper(): GOOD[HEADER]},
        {f"{HEADER}-id": "oid-2"},
        {f"{HEADER}-idp": "google", f"{HEADER}-id": ""},
        {HEADER: "not base64!"},
        {HEADER: f"{GOOD[HEADER][:8]}!\x00-_{GOOD[HEADER][8:]}"},
        {HEADER: base64.b64encode(b"\xff{}").decode()},
        {HEADER: base64.b64encode(b"[]").decode()},
        {HEADER: base64.b64encode(b'{"claims": [{"typ": "sub", "val": 7}]}').decode()},
        {HEADER: NESTED},
        {HEADER: encoded(*ENTRA, ("pad", "x" * 60_000))},
        {HEADER: encoded(("oid", "oid-1"), ("name", "no tenant"))},
        {HEADER: encoded(("oid", "oid-1"), ("tid", "no guid"))},
        {HEADER: encoded(*ENTRA, ("tid", OTHER_TENANT))},
        {HEADER: encoded(*ENTRA, provider="a/b"), f"{HEADER}-idp": "a/b"},
        {HEADER: encoded(*ENTRA, provider=None), f"{HEADER}-idp": ""},
        {HEADER: encoded(("oid", "a\nb"), ("tid", TENANT)), f"{HEADER}-id": "a\nb"},
    ],
)
async def test_headers_that_cannot_be_the_platforms_sign_nobody_in(changed: dict[str, str]) -> None:
    """Twice, joined or in two letter cases; contradicting, unreadable, too large; and never an error of the server."""
    assert await signed_in(GOOD) is not None
    assert await signed_in({**GOOD, **changed}) is None


@pytest.mark.behaviour("hosting.easy-auth")
@settings(max_examples=25)
@given(st.dictionaries(st.sampled_from([HEADER, f"{HEADER}-id", f"{HEADER}-idp", f"{HEADER}-name"]), st.text()))
async def test_no_headers_raise(headers: dict[str, str]) -> None:
    assert await signed_in(headers) is None


@pytest.mark.behaviour("hosting.easy-auth")
@pytest.mark.parametrize("value", ["", "False", "1", "yes", " "])
async def test_where_the_platforms_authentication_is_off_nobody_is_signed_in(value: str) -> None:
    """Anybody could send the headers there."""
    assert await signed_in(GOOD, {"WEBSITE_AUTH_ENABLED": value}) is None


@pytest.mark.behaviour("hosting.easy-auth")
def test_a_host_without_the_platforms_authentication_is_warned_once(capsys: pytest.CaptureFixture[str]) -> None:
    """The sentence says what to do; a test or a script that imports the app is told nothing."""
    for environ in ({"WEBSITE_SITE_NAME": "agents"}, {}, {"WEBSITE_SITE_NAME": "agents", **ON}):
        easy_auth(environ)

    assert capsys.readouterr().err == (
        "principal=easy_auth() answers every request 401: WEBSITE_AUTH_ENABLED is not True, so App Service "
        "Authentication is off here. Turn it on for the function app; on the local host, use --principal NAME. See "
        "docs/guides/security.md.\n"
    )
