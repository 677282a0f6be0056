"""What an app that knows who asks promises each of its users."""

BEHAVIOURS = {
    "owners.who": "An app with principal= asks who sends each request before it reads anything of it, over HTTP and "
    "MCP; nobody is 401, health and the description are for all (security.md).",
    "owners.by-construction": "The owner stands in every name, of entity, log, archive, attachment and receipt; no two "
    "pairs of owner and thread share one.",
    "owners.one-404": "Another's thread is answered as one that never was, byte for byte, on every route, and with no "
    "more calls of a store (security.md).",
    "owners.told": "Who asked stands in the run's request, in the stored conversation, in a tool's call and in a "
    "callback's context; who decided on a call, in the run's timeline (security.md).",
    "owners.lists": "An owner's threads are one range of the store, whatever others have (security.md).",
    "owners.orchestrations": "An orchestration names the owner of the threads that it uses, or the app owns them "
    "(security.md).",
    "owners.grants": "An owner shares a thread with another principal, to read or to run; the grant is an event of the "
    "thread's log, opens nothing for anybody else, and nothing once withdrawn (security.md).",
    "owners.admin": "Who has the role that a setting names may read and delete every owner's threads; each use is a "
    "line of the log with who, what and whose (security.md).",
    "owners.person": "Everything of one person is exported page by page, and deleted with receipts, whatever dies "
    "meanwhile (security.md).",
    "owners.features": "Whatever a feature keeps of an owner is in their export and goes with their erasure, but for "
    "what was counted for a limit; a feature that says neither fails a test (security.md).",
    "owners.orchestration-state": "Who starts an orchestration over HTTP gets the place of a route of ours, which "
    "nobody else reads; a route that answers with the engine's URLs is named at start-up (security.md).",
    "owners.providers": "The framework's context providers give an owner nothing of another's with the same thread id, "
    "and keep nothing of an owner who was erased (memory.md).",
    "owners.keys": "What an agent's code is given to keep something under, the framework's session id and the key of a "
    "thread, is equal for no two owners, agents or lives of a thread, and what a provider keeps by it is erased with "
    "the thread (docs/guides/memory.md).",
    "owners.assigned": "A thread of the app is handed to an owner whole, with its archive and its attachments, once, "
    "whatever dies meanwhile (security.md).",
}
