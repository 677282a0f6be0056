"""What the stored conversation promises to those who read it and those who wrote it."""

BEHAVIOURS = {
    "state.writes-1.1.0": "A new conversation is schema version 1.1.0, and a turn raises an older minor to it.",
    "state.authors-valid-documents": "All that we author validates against the public schema and against "
    "state/schema.json.",
    "state.reads-any-1.x": "Any minor of major 1 is read; a newer one keeps its version when written back.",
    "state.refuses-by-name": "What cannot be read is refused with a code and a sentence for each reason, and nothing "
    "else is raised, whatever the text is.",
    "state.keeps-the-unknown": "Unknown properties, contents and entries come back where they were; reading and "
    "writing back is the identity on JSON values.",
    "state.skips-the-unknown": "What is unknown is not sent to the model.",
    "state.portable": "Whatever we write is read, sent to a model again and written back by Microsoft's packages for "
    ".NET and Python: addresses, data, arguments, errors, counts, times and texts are as theirs read them.",
    "state.keeps-every-content": "Every content type of the installed framework comes back as the object it was.",
    "state.keeps-python-values": "Decimals, bytes and dates in arguments and results, and arguments that are not a "
    "JSON object, come back as they were.",
    "state.keeps-the-response": "Ids, finish reason, usage, value, continuation token and additional properties of a "
    "response come back.",
    "state.history-is-the-runs-own": "What a run changes in the messages it is given reaches no other run.",
    "state.hides-failed-runs": "A failed, timed-out or cancelled run stays in the history and neither its request nor "
    "its error is sent to the model.",
    "state.replays-as-plain": "What a run said is sent again as the framework keeps it, but for usage and errors.",
    "state.keeps-session-state": "The session state of context providers stays between turns and goes with a reset.",
    "state.deterministic": "The same conversation and turn give the same bytes, keys in a fixed order with `$type` "
    "first.",
    "state.applied-once": "The ledger remembers the last 256 runs, through resets too; each reset raises the "
    "generation.",
    "state.turn-shares-the-past": "A turn makes a new conversation that shares the old one's entries and leaves the "
    "old one as it was.",
    "state.plain-is-the-same": "An entry of nothing but text means to every reader what its model means, though it is "
    "read without one.",
    "state.parsed-once": "A turn parses the stored document at most once, and makes each entry of it, the request and "
    "the answer once.",
    "state.golden": "Every document in tests/state/golden reads as it always has.",
    "state.interoperates": "agent-framework-durabletask reads what we write, and we read what it writes "
    "(state.md, first paragraph).",
    "state.take-over": "A thread of agent-framework-azurefunctions goes on under our app in mid-conversation, and back "
    "under theirs, both seeing what was said (state.md, first paragraph).",
    "state.other-ids": "A thread that another package stored under an id which no new thread of ours may have is "
    "listed, read, continued and deleted by that id, at every door.",
    "state.given-contents-checked": "A content given by a caller is refused by its index, its field and what to do.",
    "state.warns-from-half": "From half of the limit on, each turn writes ids and bytes, and no text, into the log.",
    "state.full-thread-keeps-its-answer": "The turn that passes the limit is answered and kept.",
    "state.full-thread-refuses": "A request for which no conversation has room fails as thread_full before its agent "
    "runs, and the conversation stays as it is.",
    "state.too-large-answer": "An answer larger than a conversation may be is told from its run's log, and leaves an "
    "error in its place.",
    "state.page": "docs/reference/state.md shows a document that we write, and what it says is printed is printed.",
    "state.tells": "`python -m state` tells version, counts, unknowns and what was said; its exit status tells whether "
    "the document is readable.",
    "state.schema-2": "A thread of schema 2.0.0, which the next version of agent-framework-azurefunctions writes, is "
    "refused by name and stays byte for byte, until somebody resets or deletes it.",
}
