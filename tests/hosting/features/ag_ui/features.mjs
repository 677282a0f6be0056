// Features of AG-UI's own client one by one, printed as JSON. Arguments: the package, and our origin.
const [, , name, origin] = process.argv;
const { HttpAgent } = await import(name);
console.warn = console.error; // stdout is the answer's
const got = {};
const url = (which) => `${origin}/api/ag-ui/${which}`;
const user = (content) => ({ id: crypto.randomUUID(), role: "user", content });
const texts = (agent) => agent.messages.map((message) => message.content);

// What an agent is made with: messages, a state, headers, and its own way to fetch.
const sent = [];
const fetched = (address, init) => {
  sent.push([init.headers.get?.("x-page") ?? init.headers["x-page"], JSON.parse(init.body)]);
  return fetch(address, init);
};
const made = new HttpAgent({
  url: url("Painter"),
  threadId: "made",
  agentId: "painter",
  description: "Paints.",
  initialMessages: [user("look")],
  initialState: { color: "red" },
  headers: { "x-page": "home" },
  fetch: fetched,
});
const result = await made.runAgent({ runId: "made-1", forwardedProps: { any: "thing" } });
got.made = [made.messages.at(-1).content, made.state, result.newMessages.map((message) => message.role)];
got.sent = sent.map(([page, body]) => [page ?? "home", body.runId, body.forwardedProps]);

// A copy has all of it, and goes its own way.
const copy = made.clone();
copy.threadId = "copy";
copy.setMessages([user("paint blue")]);
await copy.runAgent();
got.copy = [copy.state.color, made.state.color, made.messages.length];

// A subscriber sees each event, and may change what the agent keeps; middleware sees and changes the stream.
const chat = new HttpAgent({ url: url("Joker"), threadId: "chat" });
const kinds = new Set();
const calls = [];
const { unsubscribe } = chat.subscribe({
  onEvent: ({ event }) => void kinds.add(event.type),
  onRunInitialized: () => void calls.push("initialized"),
  onNewMessage: ({ message }) => void calls.push(message.role),
  onRunFinalized: () => void calls.push("finalized"),
});
chat.addMessages([user("say one two")]);
await chat.runAgent();
unsubscribe();
got.kinds = [...kinds].sort();
got.calls = calls;
chat.use((input, next) => next.run({ ...input, messages: [...input.messages.slice(0, -1), { ...input.messages.at(-1), content: "changed" }] }));
chat.addMessage(user("unchanged"));
await chat.runAgent();
got.middleware = chat.messages.at(-1).content;

// A page that stops to listen leaves the run at work, and gets it by sending it again.
const left = new HttpAgent({ url: url("Joker"), threadId: "left" });
left.addMessage(user("sleep 0.5"));
const once = left.runAgent({ runId: "left-1" }, { onRunStartedEvent: () => void left.abortRun() });
await once.catch(() => null);
got.aborted = left.messages.length;
await left.runAgent({ runId: "left-1" });
got.again = texts(left).at(-1);

const apart = new HttpAgent({ url: url("Joker"), threadId: "apart" });
apart.addMessage(user("sleep 0.5"));
if (apart.detachActiveRun) {
  await apart.runAgent({ runId: "apart-1" }, { onRunStartedEvent: () => void apart.detachActiveRun() });
  got.detached = apart.messages.length;
  await apart.runAgent({ runId: "apart-1" });
  got.detached_again = texts(apart).at(-1);
}

// A stream that is not of a run is an error that the client raises.
const nowhere = new HttpAgent({ url: url("Nobody"), threadId: "nowhere" });
nowhere.addMessage(user("hello"));
got.nowhere = await nowhere.runAgent().then(() => "answered", (error) => error.status);

// A declined call, other arguments for a call, and all answers together.
const clerk = new HttpAgent({ url: url("Clerk"), threadId: "clerk" });
clerk.addMessage(user("call refund 7, refund 8"));
await clerk.runAgent();
const [first, second] = clerk.pendingInterrupts;
got.asked = [first.message, Object.keys(first.responseSchema.properties).sort()];
const resume = [
  { interruptId: first.id, status: "resolved", payload: { approved: true, editedArgs: { n: "9" } } },
  { interruptId: second.id, status: "cancelled" },
];
await clerk.runAgent({ resume });
got.decided = clerk.messages.filter((message) => message.role === "tool").map((message) => message.content).sort();
console.log(JSON.stringify(got));
