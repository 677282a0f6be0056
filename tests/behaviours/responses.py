"""What OpenAI's clients are promised of the wire `responses` (docs/reference/responses.md)."""

BEHAVIOURS = {
    "responses.named": "The wire is off unless the app names it, and a name that is no wire is refused at start-up.",
    "responses.models": "The agents are the protocol's models.",
    "responses.create": "A response is a run: answered once, read again by its id, failed as a failed response, and "
    "the same under a repeated Idempotency-Key.",
    "responses.input": "Texts, pictures, files, several messages and formats reach the model as on our own routes.",
    "responses.refused": "Each field, value and path that is not served is refused by name in the protocol's shape.",
    "responses.stream": "A response is streamed as the agent speaks, to the official clients.",
    "responses.same": "Ids, indexes and numbers of a response's events are the same from any process, once deltas are "
    "joined.",
    "responses.resume": "A reader that comes back with the last number that it has gets what is behind it, also inside "
    "a delta.",
    "responses.void": "The words of a lost attempt are an incomplete item and no output.",
    "responses.chat-client": "agent-framework's OpenAIChatClient chats, streams, waits in the background, approves and "
    "sends pictures and formats.",
    "responses.client": "OpenAI's client for Python does all that the page's table names, and raises what is refused.",
    "responses.npm-client": "OpenAI's client for JavaScript chats, streams, resumes, cancels and approves.",
    "responses.killed": "A response of a killed host goes on elsewhere, and a reader that comes back gets the rest.",
    "responses.fuzzed": "Whatever body is sent, the answer is a response or an error of the protocol's shape.",
    "responses.owners": "Each caller has responses and conversations of their own; another's are not there.",
    "responses.deleted": "The stream of a response whose thread is deleted ends.",
    "responses.tools": "The agent's tool calls are items that the server made, with arguments and outcome.",
    "responses.background": "A response in the background is answered at once and followed.",
    "responses.cancel": "A cancelled response is incomplete as an event and cancelled by its status.",
    "responses.store": "A response that is not stored is gone with its thread once it is answered, also when the "
    "process that answered is killed.",
    "responses.delete": "A response is deleted with its thread if it is alone there, and refused otherwise.",
    "responses.same-run": "A run is the same over our own routes and the wire, whichever began it.",
    "responses.continued": "A response continues the newest one of its thread.",
    "responses.forked": "A response that continues an older one stands on a fork of the thread that ends with it; "
    "under a key it is one response and one fork, however often it is asked for.",
    "responses.conversations": "A conversation is a thread: begun, used, read, listed and deleted.",
    "responses.put": "Messages are put into a conversation without a response, as it begins or later; each list of its "
    "items has them in their place, and a key puts them in once (issue 91).",
    "responses.metadata": "A conversation has its metadata from its beginning until it gets other, within the "
    "protocol's limits.",
    "responses.devui": "The page of agent-framework's DevUI chats, has its conversations after a reload, and shows why "
    "a run failed.",
    "responses.approvals": "Tool calls that wait for a person are approval requests, answered once, all together.",
    "responses.functions": "Functions of the caller are called by the model, and answered once, all together; OpenAI's "
    "client runs them to the end, also where no response is stored and over a kill.",
    "responses.incomplete": "A response whose answer is no whole one is incomplete, with the reason.",
}
