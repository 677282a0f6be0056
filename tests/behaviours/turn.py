"""What a turn promises when anything dies, happens twice or at once (turn.md)."""

BEHAVIOURS = {
    "turn.log-opens-with-the-request": "A run exists from its log's first event, which holds the request; of many who "
    "open it at once, one creates it (turn.md, Records 1).",
    "turn.one-terminal-record": "A run has one terminal record; who loses the race reads the winner's "
    "(turn.md, Records 3).",
    "turn.survives-kill": "A run whose process is killed finishes after the restart, with one answer at its Location and "
    "one place in the conversation; what was said before is remembered (turn.md, What is promised).",
    "turn.survives-kill-at-every-point": "A kill at any named point of the engine changes no outcome (turn.md).",
    "turn.terminal-record-wins": "A recorded answer is applied, and the agent is not run again for it "
    "(turn.md, Records 3).",
    "turn.crashing-message-ends": "A run that ended its process three times ends failed with run_crashed, and its thread "
    "goes on (turn.md, Records 2).",
    "turn.log-unavailable": "A run log that cannot be reached is reported as such, whatever stands in the way, and is "
    "tried again by the next call (turn.md, Records 5 and 9).",
}
