"""What is promised of streams."""

BEHAVIOURS = {
    "streams.run": "A run is streamed from its request to its end; its words are the answer (http-api.md section 5).",
    "streams.attach": "A run is followed at any time, also one that was not waited for (http-api.md section 5).",
    "streams.resume": "A stream cut at any byte and resumed gives the same bytes (http-api.md section 5).",
    "streams.cursor": "A bad cursor is refused with 400 (http-api.md section 5).",
    "streams.failed": "A run that fails ends its stream with the problem and is not run again (http-api.md section 5).",
    "streams.batched": "Words are appended by time and size, and the first never wait (turn.md, storage budget).",
    "streams.words-before-steps": "Words stand in the log before the step that they precede (turn.md, Records 4).",
    "streams.restart": "After a crash only the words of a model call that had not ended are void (turn.md, Records 4).",
    "streams.mended": "The words that are not void are the answer, also when it was changed (turn.md, Records 4).",
    "streams.unicode": "A character that was cut in half comes whole (http-api.md section 5).",
    "streams.log-down": "Words wait for a run log that is away, and the run goes on (http-api.md section 5).",
    "streams.killed": "A stream of a killed host goes on elsewhere with the same bytes (http-api.md section 5).",
}
