"""What is promised of runs that functions of the user's own begin."""

BEHAVIOURS = {
    "triggers.client": "An asynchronous function of the user's own starts, reads, follows and cancels runs by "
    "`app.client`, with the fields of HTTP, and declares nothing for it (docs/guides/triggers.md).",
    "triggers.client-limits": "The limits and budgets of an app hold for the runs that its functions begin "
    "(docs/guides/triggers.md).",
}
