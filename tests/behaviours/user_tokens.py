"""What tokens of the caller promise (docs/guides/user-tokens.md)."""

BEHAVIOURS = {
    "user-tokens.of-the-caller": "A tool gets a token with the rights of whoever sent the run's message, exchanged by "
    "the app's own identity, once for each token and service.",
    "user-tokens.pause": "A call without its user's token waits for that user alone, acts as the app where its tool "
    "says so, or gets an error before it acts; on a shared thread the token is of whoever sent the message.",
    "user-tokens.survives-kill": "A run that another process takes up has no token there, waits for its user, and goes "
    "on; no file, state or output of either process ever had one.",
    "user-tokens.handed-on": "Providers, middleware, steps and agents within a run have its user's token, and a queued "
    "run its own sender's; a trigger's run has none.",
    "user-tokens.none-for-others": "Another tenant's, an expired, forged or misplaced token gives no token, and so "
    "does an answer of the provider that is not whole or is for somebody else; none of it is in a file, answer or log.",
}
