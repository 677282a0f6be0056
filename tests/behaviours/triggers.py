"""What is promised of runs that functions of the user's own begin."""

BEHAVIOURS = {
    "triggers.client": "An asynchronous function of the user's own starts, reads, follows and cancels runs by "
    "`app.client`, with the fields of HTTP, and declares nothing for it (docs/guides/triggers.md).",
    "triggers.client-limits": "The limits and budgets of an app hold for the runs that its functions begin "
    "(docs/guides/triggers.md).",
    "triggers.one-run": "A delivery of a trigger has one run, however often it is delivered (docs/guides/triggers.md).",
    "triggers.two-processes": "Two processes that get one delivery begin one run (docs/guides/triggers.md).",
    "triggers.after-crash": "A delivery whose process is killed at any step has one run and its answer when it comes "
    "again (docs/guides/triggers.md).",
    "triggers.two-hosts": "Two processes drain a queue, and each message has one run though one of them is killed; a "
    "message that cannot be answered stops no other (docs/guides/triggers.md).",
    "triggers.body-forges-nothing": "A body that replaces the id of its message takes no other message's run "
    "(docs/guides/triggers.md).",
    "triggers.message": "The function of a trigger makes the message, or none: then it is the body; the first one that "
    "was accepted stands (docs/guides/triggers.md).",
    "triggers.threads": "A member of the body, a function or a session of Service Bus names the thread, which keeps "
    "their order (docs/guides/triggers.md).",
    "triggers.failures": "A delivery whose run ends without an answer fails each time, and ends where the platform "
    "puts it; one that can begin none now is tried again for two minutes, fails and comes again "
    "(docs/guides/triggers.md).",
    "triggers.batches": "Each item of a batch has a run of its own, begun in their order (docs/guides/triggers.md).",
    "triggers.on-end": "What `on_end` returns is written to the function's outputs at least once "
    "(docs/guides/triggers.md).",
    "triggers.refused": "A trigger that can begin no run is refused at start-up (docs/guides/triggers.md).",
    "triggers.decorator": "`@app.agent_trigger` stands above the SDK's decorators or below them "
    "(docs/guides/triggers.md).",
}
