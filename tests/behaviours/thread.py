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
    "thread.put": "Messages that a person puts in stand between the runs before and after them, to every reader; they "
    "say who put them in and that no run made them, and while a run is open or calls wait they are refused (issue 91).",
    "thread.put-on-wires": "What was put in stands in its place in each wire's list of messages, and AG-UI tells a "
    "page that lacks it (issue 91).",
    "thread.put-once": "A request under a key puts its messages in once, and the key is never of a run too (issue 91).",
    "thread.put-refused": "Words, pictures and files of a user or the agent are put in, and no calls, results, "
    "approvals or instructions; where one is wrong, or all are too large, none is taken (issue 91).",
    "thread.put-owned": "Whoever may run a thread puts their own words in, its owner alone those of the agent "
    "(issue 91).",
    "thread.put-erased": "What was put in goes with a reset, a deletion and its owner's erasure, from every store "
    "(issue 91).",
    "thread.put-killed": "Messages and a state whose process is killed around their append stand once or not at all, "
    "and the same request finds them; of two processes that write at once, nothing is lost (issue 91).",
    "thread.state": "The session's state is read with a version, and written without a run; the next run begins with "
    "it, and forks, exports and replaced runs have it as it was then (issue 91).",
    "thread.state-reserved": "What only the app or the framework may write into a session is refused by name, and so "
    "is a state that no run could begin with, or that is too large (issue 91).",
    "thread.state-owned": "Whoever reads a thread reads its state, and its owner alone writes it (issue 91).",
    "thread.keys": "An idempotency key is written with its run; repeated it attaches to that run, with another "
    "request it is refused, after a deletion it is gone, after a failed signal it is free.",
    "thread.delete": "A thread that is being deleted takes no runs and has whoever meets that signal; behind its "
    "tombstone the next run begins another epoch, at positions that go on.",
    "thread.temporary": "A thread that is not to be stored takes no second run; its next life is like any other.",
    "thread.metadata": "A thread has its metadata until it gets other or is deleted, also when its events are trimmed; "
    "a change merges, and of writers at one moment none is lost.",
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
