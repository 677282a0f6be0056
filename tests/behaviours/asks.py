"""What a tool that asks a person promises (docs/guides/approvals.md)."""

BEHAVIOURS = {
    "asks.answered": "A tool that asks a person gets the answer in the run that goes on, which makes the call again; "
    "calls beside it that ended are not made again, and neither are its steps.",
    "asks.checked": "An answer that does not fit the question is refused with its place, and the question stays.",
    "asks.once": "A question is answered once, whoever answers at the same moment.",
    "asks.idempotent": "Only an asynchronous tool that may be called again may ask, and no rule answers for a person; "
    "anything else is refused by a sentence that names the mend.",
    "asks.default": "A question with a default is answered by that at its time, once, though nobody reads the thread; "
    "a person's answer before that counts, and no clock is left.",
    "asks.expires": "A question without a default expires at its own time as an approval does, by words about a "
    "question; a default or a time that is none ends the run by a sentence.",
    "asks.waits-free": "While a question waits, neither the time of a run nor a budget runs out, and it takes no other "
    "run's place; the run that goes on in another process has its own time.",
    "asks.survives-kill": "A kill around any record of a question loses neither it nor its answers, and a step of the "
    "call that ended is not made again.",
}
