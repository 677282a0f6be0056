"""What OpenAI's clients are promised of the wire `chat-completions` (docs/reference/chat-completions.md)."""

BEHAVIOURS = {
    "chat.create": "A completion is a run: answered once, failed with the run's error, and the same under a repeated "
    "Idempotency-Key.",
    "chat.messages": "The messages of a request are the whole conversation, and nothing of it is kept.",
    "chat.thread": "A request that names a thread continues it with the messages behind the assistant's last one.",
    "chat.stream": "A completion is streamed as the agent speaks, and ends with an error if sent text stands no more.",
    "chat.steering": "A message that joined a run gets the answer of that run, streamed or not (issue 87).",
    "chat.ignored": "What the agent's author decides is ignored, and named in the answer.",
    "chat.refused": "Each field, value and path that is not served is refused by name in the protocol's shape.",
    "chat.client": "OpenAI's clients for Python and JavaScript chat, stream, parse formats and list models.",
    "chat.approvals": "A completion that would wait for a person is an error that says where to answer.",
    "chat.tools": "Where the agent takes tools of its caller, a completion has the model's calls of them; the request "
    "with all their results goes on with that run, once, in any process (issue 90).",
    "chat.agent": "agent-framework's OpenAIChatCompletionClient runs an agent's local tools to the end.",
    "chat.langchain": "LangChain's ChatOpenAI talks, streams, runs its tools, chooses among them and makes structured "
    "output, over Chat Completions and over Responses.",
    "chat.survives-kill": "A host killed around a call of the caller's tool, its result or its end loses none of them: "
    "the caller repeats what got no answer.",
    "chat.owners": "Each caller has threads of their own; another's are not there.",
}
