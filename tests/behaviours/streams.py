"""What is promised of streams."""

BEHAVIOURS = {
    "streams.run": "A run is streamed from its request to its end; its words are the answer.",
    "streams.attach": "A run is followed at any time, also one that was not waited for.",
    "streams.resume": "A stream cut at any byte and resumed gives the rest: the same events, and the same text once "
    "joined by offsets.",
    "streams.ids": "An event's id is its position in the thread's log; words that are not logged yet are numbered "
    "behind the last one.",
    "streams.offset": "A delta says where its words stand, and every event when it happened.",
    "streams.deleted": "A deleted thread ends its streams as cancelled.",
    "streams.function-time": "A stream that waits for a person or for news says that it ends before its function's "
    "time is up.",
    "streams.cursor": "A bad cursor is refused with 400.",
    "streams.failed": "A run that fails ends its stream with the problem and is not run again.",
    "streams.batched": "Words are appended by time and size, and the first never wait.",
    "streams.words-before-steps": "Words stand in the log before the step that they precede.",
    "streams.restart": "After a crash only the words of a model call that had not ended are said anew, and a stream "
    "tells that.",
    "streams.mended": "The words that are not void are the answer, also when it was changed.",
    "streams.unicode": "A character that was cut in half comes whole.",
    "streams.log-down": "Words wait for a log that is away, and the run goes on.",
    "streams.killed": "A stream of a killed host goes on elsewhere with the same text.",
    "streams.killed-elsewhere": "A stream that another process serves outlives the process that runs the agent: each "
    "event comes once, and joined by offsets it is one text.",
    "streams.slept": "The stream of a process that slept past its lease goes on with the run as another one ended it: "
    "each event comes once, and joined by offsets it is one text.",
    "streams.offsets": "A run is read and resumed by the Durable Streams protocol (its PROTOCOL.md, 5.6 and 8).",
    "streams.offset-refused": "What is no offset, mode or cursor is refused with 400 (PROTOCOL.md, 5.6).",
    "streams.long-poll": "A poll waits for news for a bounded time, and not on an ended run (PROTOCOL.md, 5.7).",
    "streams.sse-mode": "Each batch is followed by where the reader stands; the last one closes (PROTOCOL.md, 5.8).",
    "streams.tail": "HEAD tells where a run's events end, and whether for good (PROTOCOL.md, 5.5).",
    "streams.etag": "A read that brings nothing new answers 304; a run that ends brings something (PROTOCOL.md, 10.1).",
    "streams.cursor-grows": "A wait's cursor is larger than the one that was sent (PROTOCOL.md, 10.1).",
    "streams.pings": "No event stream is silent for longer than 4 s, whatever its run waits for: over our own routes, "
    "each wire and the Durable Streams protocol, and official clients leave out what fills the silence.",
    "streams.slow-readers": "A slow reader delays nobody.",
    "streams.browser": "A browser's EventSource reads an answer as it is made, with its key and from another origin.",
    "streams.starting-again": "Our own readers go on behind a 500 without a body, which a worker that starts again may "
    "answer, and at which a browser's EventSource stops (docs/reference/streaming.md).",
    "streams.unavailable": "A stream whose log stays away says so and ends; it never hangs.",
    "streams.reader": "A run is read from its log alone, as it goes on and to its end (docs/reference/streaming.md).",
    "streams.reader-refused": "A log or a run that cannot be read is refused by one sentence (streaming.md).",
    "streams.redis": "Another program follows a run with plain Redis commands (docs/reference/streaming.md).",
    "streams.npm-client": "The protocol's own client reads, follows and resumes runs (PROTOCOL.md, 5).",
    "streams.conformance": "What the protocol's conformance suite asks of reads holds (PROTOCOL.md, 5).",
}
