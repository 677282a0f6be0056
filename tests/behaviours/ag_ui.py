"""What AG-UI's clients are promised of the wire `ag-ui` (docs/reference/ag-ui.md)."""

BEHAVIOURS = {
    "ag-ui.named": "The wire is off unless the app names it.",
    "ag-ui.run": "A run is streamed as the agent speaks; of what a client sends, the agent gets what follows its last "
    "message.",
    "ag-ui.tools": "The agent's tool calls are shown under the message that asked for them, with their results.",
    "ag-ui.same": "Ids of messages and calls are the same from any process, once words are joined.",
    "ag-ui.again": "A run that is sent again is the same run, and a client that has a part of it forgets that first.",
    "ag-ui.asked-again": "A message that a client sends once more, or changed, is asked again: the thread goes on from "
    "before it, in one append with the run. What is archived, or came by another way, is not taken back.",
    "ag-ui.agrees": "A client that has not what the thread has is told all that it has; a message under a new id takes "
    "nothing back.",
    "ag-ui.void": "Another attempt, or an answer that was changed, restates the messages; no words are there twice.",
    "ag-ui.errors": "A run that fails ends with its error, and so does a stream that cannot continue.",
    "ag-ui.cancel": "A cancelled run ends as cancelled, and as an error to a client from before 1.0.",
    "ag-ui.client-tools": "A tool of the client is called as AG-UI has it, and the message with its result goes on. "
    "The official clients run one to the end.",
    "ag-ui.context": "What a page shows is given to each model call of the run, also of one that goes on, and stays "
    "out of the thread; a kill keeps it, a message with it joins no run, and it goes with the thread.",
    "ag-ui.state": "What a page shares is in the run's session for tools and providers. The thread keeps it with the "
    "run, a page gets it at the start and after each change, and a kill loses no change.",
    "ag-ui.steering": "A message that joined a run stands in the snapshots of pages once, at its place, under the id "
    "that its client gave it; a page that has it agrees with the thread (issue 87).",
    "ag-ui.interrupts": "A call that waits for a person is an interrupt, answered once, all together, by `resume`.",
    "ag-ui.refused": "Each field, value and path that is not served is refused by name in the protocol's shape.",
    "ag-ui.spellings": "Fields are taken in the protocol's spelling and in Python's.",
    "ag-ui.fuzzed": "Whatever body is sent, the answer is a run or an error of the protocol's shape.",
    "ag-ui.owners": "Each caller has threads of their own; another's are not there.",
    "ag-ui.same-run": "A run is the same over our own routes, the wire and the other wires.",
    "ag-ui.types": "Every event is one of PyPI's types, and every stream passes the protocol's validator.",
    "ag-ui.npm-clients": "The npm clients 1.0.0 and 0.0.59 chat, see tools, approve, are cancelled and get errors.",
    "ag-ui.chat-client": "agent-framework's AGUIChatClient chats and approves; after a kill its next message has its "
    "turn after the run.",
    "ag-ui.asked-again-killed": "A message asked again is taken back once whatever is killed meanwhile, and the same "
    "request has the same answer in every process.",
    "ag-ui.killed": "A run of a killed host goes on elsewhere, and a client that sends it again has each word once.",
    "ag-ui.incomplete": "A run whose answer is no whole one says so in its result.",
}
