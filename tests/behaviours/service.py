"""What the verbs over the threads' log promise, in one process and in several."""

BEHAVIOURS = {
    "service.taken-up-told": "A restarted host says which runs it took up, and a restart says nothing of our own "
    "loggers (observability.md).",
    "service.runs-here": "A run whose caller waits is executed by the process that has the caller, in its turn, and "
    "goes on when the caller leaves.",
    "service.waits-elsewhere": "Whoever waits for a run of another process learns of its end as soon as its store "
    "says so, as a stream does.",
    "service.woken": "An entity's operation learns of the end of a run that it watches as soon as its process appends "
    "it or its store says so; it reads a store no more often for that.",
    "service.callers-contexts": "A run has the invocation, the trace and the durable client of its own caller, also "
    "one that is claimed with the end of the run before it.",
    "service.short-waits": "A run whose caller waits for a second or less is not begun in that caller's process, "
    "which would hand it on in the middle: its entity runs it.",
    "service.busy": "A request that interrupts or rolls back ends what works on its thread, in whichever process, also "
    "where that process has died; the next run begins with what the interrupted one said (issue 51).",
    "service.steering": "A message with `busy` steer joins the run at work at its next model call behind a "
    "tool's result, once and in order, also after a takeover; else it is a run of its own (issue 87).",
    "service.steering-killed": "A message that joins a run is given once and at one model call, wherever the process "
    "of the run or that of the message is killed, over each store (issue 87).",
    "service.calls": "A turn of a new or a known thread costs two calls of the log before the answer, one of a "
    "process that is behind four (Budgets).",
    "service.promises": "Whoever is promised an outcome has a signal of its own taken first; where none is taken "
    "nothing is left but a free key.",
    "service.late-answers": "An engine whose answer never comes has taken what the log or the document shows: a run, "
    "an approval, a reset or a deletion that was carried out is answered, and a fork that stands.",
    "service.promised": "A run that is answered before anybody has it is signalled for again by who answered, and "
    "found by a sweep and by operations when that one is gone; a run whose caller waits costs nothing for that.",
    "service.cancel": "A run is cancelled whichever process holds it.",
    "service.stale": "A holder that was taken over appends nothing more.",
    "service.leave": "A process that is told to stop hands its runs on, and answers who waits there "
    "(docs/guides/observability.md).",
    "service.callers-leave": "A run whose last caller has left is handed on behind its next step, unless one comes "
    "back before that; never a tool that is at work.",
    "service.given-conversations": "An agent is given what its conversation only refers to, or is run elsewhere or "
    "later; a request without room in its conversation ends before its agent.",
    "service.lost-runs": "Nothing waits for ever: a run whose holder is gone, and one that waits for its turn for too "
    "long, is ended by whoever looks, by that one's own clock.",
    "service.unstorable": "What cannot be stored, or read by this version, ends its run by name and spoils no "
    "conversation.",
    "service.find": "A run is found by its thread and id in any process; one of a deleted thread is gone.",
    "service.words": "Words are heard at once in the process that holds the run, and logged behind that.",
    "service.outage": "A run whose log stays away is let go of, for its entity to finish, and its caller is told at "
    "once that it goes on.",
    "run.attempts": "A run takes as many attempts as it needs, within its limit over all of them: it is handed on "
    "between two steps before its function's time is up, each step is made once, and its budget is one (issue 95).",
    "run.flat": "A step of a run costs the same time, storage and memory, however many there were before it.",
    "run.long-steps": "A step that is cut off by the end of its attempt is made again with more time where that does "
    "no harm; one that takes longer than any attempt ends its run by name.",
    "run.attempts-killed": "A run whose attempts last for seconds ends with each step made once, in two processes that "
    "are killed again and again, over each store.",
    "run.folded": "An answer with too many steps for a conversation is kept without the older of them.",
    "service.retry": "A failed attempt is made again under a claim of its own.",
    "runner.words": "Words are heard as they come and logged in batches with their offset; what is logged twice, said "
    "anew or changed at the end stands right.",
    "runner.steps": "A later attempt is given what an earlier one recorded; words stand before the step that follows "
    "them, and what nobody knows of goes again; a holder that leaves finishes its step.",
    "runner.lease": "A holder knows by its own clock when its lease is lost, counted from before the append that "
    "renewed it.",
    "service.looks": "Runs that a process holds are looked after one by one: what one thread's log says keeps no other "
    "run from its lease.",
    "service.unreadable": "A run whose stored conversation cannot be read fails by that name.",
    "service.conversations": "A conversation that is remembered follows its log, and is read again where that was "
    "trimmed.",
    "service.bounded": "What a process remembers is bounded in bytes; nothing else of an ended run stays (Budgets).",
    "service.refused-leave-nothing": "What a thread refuses is gone with its answer, however large the request was.",
    "service.thread-operations": "The entity applies all ended runs in their order, runs what nobody holds, watches "
    "what is held elsewhere and sends itself on; delivered twice or overlapping it changes nothing twice.",
    "service.temporary": "The thread of a temporary run is deleted by its entity once whoever answers has had a lease "
    "for it, and waits for results of its caller's tools before that.",
    "service.dead-processes": "On one machine a run whose process is dead is taken over at once; one that is stopped "
    "is not dead (why-it-is-safe.md).",
    "service.lost-processes": "A run whose process died is taken over by the entity's own clock, a live one never.",
    "service.versions": "A process that meets a thread on which a newer version works decides nothing there: its "
    "delivery is given back (Rules).",
    "service.carried": "A request that an operation carries is accepted once.",
    "service.reset": "A reset empties the document, and what began before it leaves nothing behind it.",
    "service.transcript": "Events and deltas of a run become messages and calls once, the same whoever followed it.",
    "service.following": "A run is followed from any process: each event once and in order, words when they come and "
    "not again when they are logged, the same text at its offsets behind a death.",
    "service.approvals": "Approvals are listed and answered in any process; the last answer begins the one run that "
    "goes on, and repeated finds it.",
    "service.threads": "A thread is read with what the log has and the document lacks, by any process.",
    "service.reading": "Reading a thread takes one look at its head and one at its events, however many runs it has, "
    "and is done again where the thread changed meanwhile; a document of an earlier life counts as none (Budgets, rule "
    "6).",
    "service.reading-a-run": "Reading a run that has ended reads its own events and none behind its end, however many "
    "runs came after it; of one that asked for approvals, their answers too.",
    "service.retention": "Whole runs of a living thread go with their rows once they are too old and stand in the "
    "document that was given; what was broken off is finished by the next look.",
    "service.delete": "A deletion ends open runs, leaves a tombstone and its receipt and nothing else, is finished by "
    "its next delivery, and takes nothing of a later life.",
}
