"""What pages with `useChat` are promised of the wire `ai-sdk` (docs/reference/ai-sdk.md)."""

BEHAVIOURS = {
    "ai-sdk.run": "A message is a run, once under its id; a failed one is an error, a cancelled one an abort.",
    "ai-sdk.stream": "Text comes as the agent speaks; a step that another attempt does again is taken back.",
    "ai-sdk.resume": "The open run of a chat is followed from its first chunk on, by any page and process.",
    "ai-sdk.again": "A message that is regenerated or edited takes back what came after it, or is refused by name.",
    "ai-sdk.approvals": "A run that waits goes on with all answers, in the same message, once.",
    "ai-sdk.client-tools": "A tool of the page is called by the page, and its result goes on with the run.",
    "ai-sdk.questions": "A question of a tool is answered by the output of its call.",
    "ai-sdk.steering": "A message that joined a run gets the answer of that run, and is shown in its stream.",
    "ai-sdk.refused": "What is not served is refused by its place.",
    "ai-sdk.read": "A chat is read as the client would have it: texts, files, calls and what it waits for.",
    "ai-sdk.client": "The AI SDK's own chat talks, regenerates, edits, decides, runs its tools and resumes.",
    "ai-sdk.owners": "Each caller has chats of their own; another's are not there.",
    "ai-sdk.survives-kill": "A host killed around a message, an answer or its end loses none of them.",
}
