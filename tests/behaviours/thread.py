"""What is decided on a thread's log, whatever store holds it and whatever process asks."""

BEHAVIOURS = {
    "thread.accept": "A run whose caller waits is accepted and claimed in one append; one behind others waits; a full "
    "queue takes no more, counted over all processes.",
    "thread.busy-rejects": "A request that is not to wait is refused while a run of the thread has not ended, by the "
    "name of that run; nothing is appended, and a repeated key finds its run all the same (issue 51).",
    "thread.busy-interrupts": "A request that interrupts is accepted in the append that tells the unfinished runs to "
    "end; each ends in its turn, and what it said, in whichever attempt, stays for the model (issue 51).",
    "thread.busy-rolls-back": "A request that rolls back leaves nothing of the unfinished runs in the conversation: no "
    "entry, no title, no approval, and a late answer is dropped (issue 51).",
    "thread.rewound": "A run that goes on from before others takes them back in the append that accepts it, if the "
    "thread is as its caller saw it; nothing of them returns, and what providers had left is as it was before them.",
    "thread.standing": "A standing approval is withdrawn while no run has begun, and no earlier state of the session "
    "has it again; who gave it, and when, goes with it.",
    "thread.keys": "An idempotency key is written with its run; repeated it attaches to that run, with another "
    "request it is refused, after a deletion it is gone, after a failed signal it is free.",
    "thread.delete": "A thread that is being deleted takes no runs and has whoever meets that signal; behind its "
    "tombstone the next run begins another epoch, at positions that go on.",
    "thread.temporary": "A thread that is not to be stored takes no second run; its next life is like any other.",
    "thread.metadata": "A thread has its metadata until it gets other or is deleted, also when its events are trimmed.",
    "thread.approvals": "A thread that waits for approvals takes no message until they are decided or their time has "
    "passed; each is decided once, and the last decision and the run that goes on are one append.",
    "thread.claims": "The run whose turn it is is claimed by one holder, on its terms; a try after a failure is a "
    "claim of its own, and an append without events renews a lease.",
    "thread.lost-holders": "A holder is taken over when it appended nothing for its lease, an entity's claim by the "
    "next operation at once; after three lost processes the run has crashed, past its deadline it is lost.",
    "thread.stale-tokens": "However a claim was lost, its token appends nothing.",
    "thread.order": "Ends stand in the order in which runs were accepted; whoever ends a run claims the next one "
    "whose caller it holds in the same append.",
    "thread.cancel": "A cancelled run is claimed no more: it ends at once where nobody holds it, else by its holder "
    "or in its turn.",
    "thread.promises": "Whoever promises the outcome of an open run has a signal of its own taken, unless the log "
    "proves that one was.",
    "thread.failed-signals": "A failed signal cancels the run while nobody else was promised anything of it, and "
    "frees its key; else it lets go of the claim.",
    "thread.reset": "A reset is an event that the conversation begins anew behind.",
    "thread.trim": "Only what no open run and no waiting approval needs is trimmed.",
    "thread.fold": "Whatever is asked, the head is the fold of the events, and small enough for every store.",
    "thread.versions": "What a newer version wrote is not decided on; members that this one does not know are no "
    "error, and stay in what it writes again (docs/reference/state.md).",
    "thread.conversation": "The conversation is the stored document and what the log says behind its position, "
    "wherever that is; each run that ended has its one place in it.",
    "thread.document": "A document without our mark is merged by the ids of its runs, one that others emptied is a "
    "reset, one behind what was trimmed is read again, one ahead of its log is named.",
    "thread.run": "A run is what its events tell: its words by their offsets, its steps for a later attempt, its end.",
    "thread.explored": "No interleaving of two processes, the entity, their deaths, sleeps and lost signals breaks a "
    "promise, and from each state every promise can still be kept; a rule that is left out is missed.",
}
