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
    "user-tokens.of-runs-that-nobody-waits-for": "A run that nobody waits for has its sender's token in the process "
    "that accepted it, until the token ends; a schedule's, a default's and another process's run wait for the user.",
    "user-tokens.of-two-at-once": "Where runs of two users are at work in one process, executors, agents, background "
    "tasks, HTTP clients and MCP servers each get their own user's token; what an ended call leaves at work gets none.",
    "user-tokens.sign-in-again": "Where the provider wants a new sign-in, the run waits for it with the claims that it "
    "must give; no token is given once the caller's own has ended, and each device has an exchange of its own.",
    "user-tokens.unseen": "No token is in a span with all contents, in a log that shows the locals of every frame, or "
    "in the text of an object that code can reach.",
    "user-tokens.none-for-others": "Another tenant's, an expired, forged or misplaced token gives no token, and so "
    "does an answer of the provider that is not whole or is for somebody else; none of it is in a file, answer or log.",
}
