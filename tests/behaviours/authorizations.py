"""What a tool that needs the user to sign in promises (docs/guides/approvals.md)."""

BEHAVIOURS = {
    "authorizations.answered": "A run whose tool needs a sign-in waits with service, link and scopes; once the user "
    "has signed in the tool is called again, and asks anew where it has no token yet. A refused one ends the call.",
    "authorizations.no-secret": "No token, code or password passes through a sign-in: neither an answer nor a link "
    "may carry one, and a link is https.",
    "authorizations.once": "A sign-in is answered once, whoever answers at the same moment.",
    "authorizations.idempotent": "Only a tool that may be called again may ask for a sign-in, and no "
    "rule stands for it.",
    "authorizations.expires": "A sign-in expires after its own seconds, by words about a sign-in.",
    "authorizations.user": "Only the user for whom the run calls its tools answers a sign-in, and the run goes on for "
    "that user; a deletion leaves none of it.",
    "authorizations.of-a-model": "A consent that the model service asks for in agent-framework's own content is an "
    "answer, as it is without us: the conversation has the link, and the next message goes on.",
    "authorizations.survives-kill": "A kill around any record of a sign-in loses neither it nor its answer, and a step "
    "of the call that ended is not made again.",
}
