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
    "streams.offsets": "A run is read and resumed by the Durable Streams protocol (its PROTOCOL.md, 5.6 and 8).",
    "streams.offset-refused": "What is no offset, mode or cursor is refused with 400 (PROTOCOL.md, 5.6).",
    "streams.long-poll": "A poll waits for news for a bounded time, and not on an ended run (PROTOCOL.md, 5.7).",
    "streams.sse-mode": "Each batch is followed by where the reader stands; the last one closes (PROTOCOL.md, 5.8).",
    "streams.tail": "HEAD tells where a run's events end, and whether for good (PROTOCOL.md, 5.5).",
    "streams.etag": "A read that brings nothing new answers 304; a run that ends brings something (PROTOCOL.md, 10.1).",
    "streams.cursor-grows": "A wait's cursor is larger than the one that was sent (PROTOCOL.md, 10.1).",
    "streams.slow-readers": "A slow reader delays nobody (http-api.md section 5).",
}
