"""What MCP's clients are promised of the wire `mcp` (docs/reference/mcp-endpoint.md)."""

BEHAVIOURS = {
    "mcp-endpoint.versions": "Versions with a handshake and without one are served at one URL, and an unknown one is "
    "refused by name.",
    "mcp-endpoint.tools": "Each agent and each workflow is a tool; its result is as the MCP extension has it.",
    "mcp-endpoint.typed-tools": "A workflow that takes a value is a tool with the schema of that value.",
    "mcp-endpoint.contents": "Pictures, sound, files and links of an answer are content of the result.",
    "mcp-endpoint.resources": "The caller's threads and the files of their runs are resources.",
    "mcp-endpoint.completion": "The arguments of a thread's address are completed, from threads of the caller alone.",
    "mcp-endpoint.subscriptions": "A client of 2026-07-28 that listens is told when a thread of its caller changes.",
    "mcp-endpoint.progress": "A call with a progress token gets the agent's words and tools as they come.",
    "mcp-endpoint.cancel": "A client cancels the run of its call, by a notification or by closing a stateless stream.",
    "mcp-endpoint.once": "The same request of a session, or under the same Idempotency-Key, is one run.",
    "mcp-endpoint.questions": "A pause is put to the client's person as a form, and the call goes on with the answer.",
    "mcp-endpoint.resume": "The stream of a call goes on in any process from the last event that its client has.",
    "mcp-endpoint.killed": "A call outlives its process: its stream goes on in the next one, and each tool acts once.",
    "mcp-endpoint.fuzzed": "Whatever is sent, the answer is one of the protocol.",
    "mcp-endpoint.owners": "Each caller has threads of their own; another's are not there.",
    "mcp-endpoint.refused": "A message that is not served is refused by JSON-RPC, with a sentence and our code.",
    "mcp-endpoint.client": "The official clients for Python and TypeScript list, call, follow, answer and cancel.",
    "mcp-endpoint.conformance": "The protocol's conformance suite passes, but for a list with reasons "
    "(docs/contributing/test-kits.md).",
}
