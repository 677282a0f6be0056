"""What a turn promises when anything dies, happens twice or at once (turn.md)."""

BEHAVIOURS = {
    "turn.log-opens-with-the-request": "A run exists from its log's first event, which holds the request; of many who "
    "open it at once, one creates it (turn.md, Records 1).",
    "turn.one-terminal-record": "A run has one terminal record; who loses the race reads the winner's "
    "(turn.md, Records 3).",
    "turn.log-unavailable": "A run log that cannot be reached is reported as such, whatever stands in the way, and is "
    "tried again by the next call (turn.md, Records 5 and 9).",
}
