"""What is decided on a thread's log, whatever store holds it and whatever process asks (thread-log.md, Rules)."""

BEHAVIOURS = {
    "thread.accept": "A run whose caller waits is accepted and claimed in one append; one behind others waits; a full "
    "queue takes no more, counted over all processes (rule 1).",
    "thread.keys": "An idempotency key is written with its run; repeated it attaches to that run, with another request "
    "it is refused, after a deletion it is gone, after a failed signal it is free (rules 1, 2).",
    "thread.delete": "A thread that is being deleted takes no runs and has whoever meets that signal; behind its "
    "tombstone the next run begins another epoch, at positions that go on (rule 10).",
    "thread.approvals": "A thread that waits for approvals takes no message until they are decided or their time has "
    "passed; each is decided once, and the last decision and the run that goes on are one append (rule 11).",
}
