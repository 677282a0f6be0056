"""What the stored conversation promises to those who read it and those who wrote it."""

BEHAVIOURS = {
    "state.writes-1.1.0": "A new conversation is schema version 1.1.0, and a turn raises an older minor to it "
    "(state.md rule 1).",
    "state.authors-valid-documents": "All that we author validates against the public schema and against "
    "state/schema.json (state.md rule 1).",
    "state.reads-any-1.x": "Any minor of major 1 is read; a newer one keeps its version when written back "
    "(state.md rule 2).",
    "state.refuses-by-name": "What cannot be read is refused with a code and a sentence for each reason, and nothing "
    "else is raised, whatever the text is (state.md rules 2 and 10).",
    "state.keeps-the-unknown": "Unknown properties, contents and entries come back where they were; reading and "
    "writing back is the identity on JSON values (state.md rule 3).",
    "state.skips-the-unknown": "What is unknown is not sent to the model (state.md rule 3).",
    "state.portable": "Whatever we write is read, sent to a model again and written back by Microsoft's packages for "
    ".NET and Python: addresses, data, arguments, errors, counts, times and texts are as theirs read them.",
    "state.keeps-every-content": "Every content type of the installed framework comes back as the object it was "
    "(state.md rule 4).",
    "state.keeps-python-values": "Decimals, bytes and dates in arguments and results, and arguments that are not a "
    "JSON object, come back as they were (state.md rule 4).",
    "state.keeps-the-response": "Ids, finish reason, usage, value, continuation token and additional properties of a "
    "response come back (state.md rule 4).",
    "state.history-is-the-runs-own": "What a run changes in the messages it is given reaches no other run "
    "(thread-log.md rule 8).",
    "state.hides-failed-runs": "A failed, timed-out or cancelled run stays in the history and neither its request nor "
    "its error is sent to the model (state.md rule 5).",
    "state.hides-reasoning": "Reasoning, usage and errors are not replayed (state.md rule 5).",
    "state.keeps-session-state": "The session state of context providers stays between turns and goes with a reset "
    "(state.md rule 6).",
    "state.deterministic": "The same conversation and turn give the same bytes, keys in a fixed order with `$type` "
    "first (state.md rule 7).",
    "state.applied-once": "The ledger remembers the last 256 runs, through resets too; each reset raises the "
    "generation (thread-log.md rules 6 and 10).",
    "state.turn-shares-the-past": "A turn makes a new conversation that shares the old one's entries and leaves the "
    "old one as it was.",
    "state.plain-is-the-same": "An entry of nothing but text means to every reader what its model means, though it is "
    "read without one.",
    "state.parsed-once": "A turn parses the stored document at most once, and makes each entry of it, the request and "
    "the answer once.",
    "state.golden": "Every document in tests/state/golden reads as it always has (state.md rule 9).",
    "state.interoperates": "agent-framework-durabletask reads what we write, and we read what it writes "
    "(state.md, first paragraph).",
    "state.take-over": "A thread of agent-framework-azurefunctions goes on under our app in mid-conversation, and back "
    "under theirs, both seeing what was said (state.md, first paragraph).",
    "state.other-ids": "A thread that another package stored under an id which no new thread of ours may have is "
    "listed, read, continued and deleted by that id, at every door (http-api.md 1).",
    "state.given-contents-checked": "A content given by a caller is refused by its index, its field and what to do "
    "(http-api.md 2).",
    "state.warns-from-half": "From half of the limit on, each turn writes ids and bytes, and no text, into the log "
    "(state.md rule 8).",
    "state.full-thread-keeps-its-answer": "The turn that passes the limit is answered and kept (state.md rule 8).",
    "state.full-thread-refuses": "A request for which no conversation has room fails as thread_full before its agent "
    "runs, and the conversation stays as it is (state.md rule 8).",
    "state.too-large-answer": "An answer larger than a conversation may be is told from its run's log, and leaves an "
    "error in its place (state.md rule 8).",
    "state.page": "docs/state.md shows a document that we write, and what it says is printed is printed.",
    "state.tells": "`python -m state` tells version, counts, unknowns and what was said; its exit status tells whether "
    "the document is readable.",
}
