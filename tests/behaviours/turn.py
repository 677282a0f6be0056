"""What a turn promises when anything dies, happens twice or at once (turn.md)."""

BEHAVIOURS = {
    "turn.log-opens-with-the-request": "A run exists from its log's first event, which holds the request; of many who "
    "open it at once, one creates it (turn.md, Records 1).",
    "turn.one-terminal-record": "A run has one terminal record; who loses the race reads the winner's "
    "(turn.md, Records 3).",
    "turn.survives-kill": "A run whose process is killed finishes after the restart, with one answer at its Location "
    "and one place in the conversation; what was said before is remembered (turn.md, What is promised).",
    "turn.survives-kill-at-every-point": "A kill at any named point of the engine changes no outcome (turn.md).",
    "turn.terminal-record-wins": "A recorded answer is applied, and the agent is not run again for it "
    "(turn.md, Records 3).",
    "turn.crashing-message-ends": "A run that ended its process three times ends failed with run_crashed, and its "
    "thread goes on (turn.md, Records 2).",
    "turn.duplicate-delivery": "A run delivered again is answered from its log and the agent is not run for it "
    "(turn.md, Records 1 and 6).",
    "turn.applied-once": "A run has one place in the conversation, whatever died between record and commit "
    "(turn.md, Records 6).",
    "turn.deleted-run-dropped": "A marked signal whose log is gone is dropped (turn.md, Records 1).",
    "turn.claims": "A claim precedes the agent, and an attempt that lost its claim appends nothing "
    "(turn.md, Records 2).",
    "turn.log-down": "With the log away before the agent the delivery is given back; away after it, the conversation "
    "is written and the next delivery repairs the log (turn.md, Records 5).",
    "turn.never-raises": "The entity raises on nothing that a caller sent (turn.md, Records 5).",
    "turn.unreadable-state": "A conversation that cannot be read stays byte for byte, and its runs say why "
    "(state.md rule 2).",
    "turn.lost-runs-end": "A run past every deadline is ended as lost by whoever looks (turn.md, Records 7).",
    "turn.resignal": "A signal that may be lost is sent again, by one of those who look (turn.md, Records 8).",
    "turn.session-state": "What context providers keep survives the turns, and not a failed one (state.md rule 6).",
    "turn.queue-limit": "A thread on which as many runs as may be wait or run takes no more: 429 (turn.md, Decisions).",
    "turn.cancel": "A cancelled run that waits never starts; one that runs is stopped, in whichever process, and by "
    "the next attempt if that process died (turn.md, Decisions; http-api.md 3).",
    "turn.reset": "A reset is applied once, and a run that it made forgotten is not applied again "
    "(turn.md, Records 6 and 11).",
    "turn.delete": "A deleted thread leaves no byte of its runs; its runs answer 410 (turn.md, Records 11).",
    "turn.shared-log": "Processes that share a run log and nothing else give one answer to one key, see and cancel "
    "each other's runs, and lose none (turn.md, Records 1 and 3, Decisions).",
    "turn.blob-calls": "A turn that nobody streams costs three storage calls in the process that opened it "
    "(turn.md, Decisions).",
    "turn.log-is-shared": "A run that one instance took is seen, followed and repeated at every other that has the "
    "same run log (design.md 2).",
    "turn.log-unavailable": "A run log that cannot be reached is reported as such, whatever stands in the way, and is "
    "tried again by the next call (turn.md, Records 5 and 9).",
}
