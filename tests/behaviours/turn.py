"""What a turn promises when anything dies, happens twice or at once."""

BEHAVIOURS = {
    "turn.counts": "A turn of a thread that the app knows is two appends to the log and two commits of the engine; it "
    "reads and parses nothing that its process remembers, and encodes each thing once.",
    "turn.survives-kill": "A run whose process is killed finishes after the restart, with one answer at its Location "
    "and one place in the conversation; what was said before is remembered.",
    "turn.survives-kill-at-every-point": "A kill at any named point of the engine changes no outcome.",
    "turn.terminal-record-wins": "A recorded answer is applied, and the agent is not run again for it.",
    "turn.crashing-message-ends": "A run that ended its process three times ends failed with run_crashed, and its "
    "thread goes on.",
    "turn.duplicate-delivery": "A run delivered again is answered from its log and the agent is not run for it.",
    "turn.applied-once": "A run has one place in the conversation, whatever died between record and commit.",
    "turn.deleted-run-dropped": "A marked signal whose log is gone is dropped.",
    "turn.claims": "A claim precedes the agent, and an attempt that lost its claim appends nothing.",
    "turn.log-down": "With the log away before the agent the delivery is given back; away after it, the run is let go "
    "of and the next delivery goes on from what is recorded.",
    "turn.never-raises": "The entity raises on nothing that a caller sent.",
    "turn.unreadable-state": "A conversation that cannot be read stays byte for byte, and its runs say why.",
    "turn.session-state": "What context providers keep survives the turns, and not a failed one.",
    "turn.busy-takes-over": "What a run said is kept or gone when another process interrupts it or rolls it back, and "
    "also where its own was killed (issue 51).",
    "turn.busy": "Whichever process takes requests that are to be rejected by a busy thread, one of those that come at "
    "once begins (issue 51).",
    "turn.budget": "A run whose process is killed goes on with what it has used of its budget, in whichever process "
    "(issue 51).",
    "turn.limit": "What a limit has counted outlives the process that counted it, and what a dead process was at "
    "counts nowhere any more (issue 51).",
    "turn.queue-limit": "A thread on which as many runs as may be wait or run takes no more: 429.",
    "turn.store": "The document of a thread is stored up to its log while runs are open, and none is ended for that.",
    "turn.reset": "A reset is applied once, and a run that it made forgotten is not applied again.",
    "turn.delete": "A deleted thread leaves no byte of its runs; its runs answer 410.",
    "turn.shared-log": "Processes that share a log and nothing else give one answer to one key, see and cancel "
    "each other's runs, and lose none.",
    "turn.log-is-shared": "A run that one instance took is seen, followed and repeated at every other that has the "
    "same log.",
    "turn.any-call-fails": "Whichever call of a turn to its log fails, is late, or is done and its answer lost: the "
    "turn ends once, with its own answer, and nothing is doubled.",
}
