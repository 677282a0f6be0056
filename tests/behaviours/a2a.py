"""What A2A's clients are promised of the wire `a2a` (docs/reference/a2a.md)."""

BEHAVIOURS = {
    "a2a.named": "The wire is off unless the app names it, and is one function.",
    "a2a.card": "An agent's card says where and how it is asked, and what a request must have.",
    "a2a.send": "A message begins a task, which is a run of its context's thread: answered once, read again by its id, "
    "failed as a failed task, and the same for a message that is repeated under its messageId.",
    "a2a.parts": "Texts, data, pictures and references reach the model, under the names of JSON and of the proto file.",
    "a2a.artifacts": "What an agent answers beside its text are parts of the artifact: named files, and values.",
    "a2a.approvals": "A task whose tool calls wait for a person is at INPUT_REQUIRED, goes on under its id when a "
    "message answers, and fails when no answer can come any more.",
    "a2a.stream": "A task is streamed as the agent speaks, and what a reader has at the end is what is read of it.",
    "a2a.subscribe": "A subscriber gets the task as it stands and what follows, also after a person's answer.",
    "a2a.same": "Ids, events and artifacts of a task are the same from any process, once deltas are joined.",
    "a2a.client-tools": "A tool that an agent only declares waits for its caller's result, which a data part brings.",
    "a2a.cancel": "A task is canceled at work, in the queue and while it waits for a person; one that is over is not.",
    "a2a.list": "The tasks of a context or of an agent are listed, each once, the newest change first, in pages.",
    "a2a.same-run": "A run is the same over our own routes and the wire, whichever began it and whoever approves.",
    "a2a.context-metadata": "A message that begins a task changes its context's metadata, which each task of the "
    "context shows (issue 91).",
    "a2a.version": "A version of the protocol other than 1.0 is refused by its own error; an absent one means 0.3.",
    "a2a.refused": "Each method, value and path that is not served is refused by the protocol's code, and says why.",
    "a2a.owners": "Each caller has tasks of their own; another's are not there.",
    "a2a.deleted": "A task whose thread is deleted is not there, and its stream ends.",
    "a2a.python-client": "The official client for Python chats, streams, subscribes, cancels, approves, sends a "
    "picture, lists, and gets its own errors.",
    "a2a.npm-client": "The official client for JavaScript does the same.",
    "a2a.agent": "agent-framework's A2AAgent chats in a session, streams and approves, and has a killed "
    "host's task by its token.",
    "a2a.killed": "A task of a killed host goes on elsewhere, and a reader that subscribes again has all of it.",
    "a2a.push": "Receivers of a task are notified of its states, signed and until they take it, and of nothing inside.",
    "a2a.fuzzed": "Whatever request is sent, the answer is a result or an error of the protocol's shape.",
    "a2a.incomplete": "A task says why its model ended the answer, and that an answer is no whole one.",
}
