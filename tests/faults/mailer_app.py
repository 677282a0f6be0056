"""The app of `killing_app` whose agent acts with the rights of its user, by a provider in another process."""

from __future__ import annotations

from tests.faults.killing_app import SOURCE

MAILER = (
    SOURCE.replace(
        "from tests.support.clerk import clerk", "import jwt\nfrom tests.support.mailer import by_bearer, mailer"
    )
    .replace("agents=[clerk(note)]", "agents=[mailer(Elsewhere(), Served())], principal=by_bearer(Elsewhere())")
    .replace(
        "choose = ",
        '''class Elsewhere:
    """The provider, which is in another process."""

    issuer, keys, authority = (os.environ[name] for name in ("ISSUER", "KEYS", "AUTHORITY"))

    def user_of(self, token):
        return jwt.decode(token, options={"verify_signature": False})["oid"]


class Served(list):
    def append(self, user):
        super().append(user)
        note(f"mail {user}")


choose = ''',
    )
)
