// What AG-UI's own client gets of the wire, printed as JSON. Arguments: the package, and our origin.
const [, , name, origin] = process.argv;
const { HttpAgent } = await import(name);
console.warn = console.error; // stdout is the answer's
const got = {};

function agent(which, threadId) {
  return new HttpAgent({ url: `${origin}/api/ag-ui/${which}`, threadId });
}

async function ask(one, content, parameters = {}) {
  one.addMessage({ id: crypto.randomUUID(), role: "user", content });
  return one.runAgent(parameters);
}

const shape = (one) => one.messages.map((each) => [each.role, each.content ?? "", (each.toolCalls ?? []).map((call) => call.function.name)]);

const chat = agent("Joker", "chat");
await ask(chat, "my name is Ada");
await ask(chat, "recall", { runId: "run-2" });
got.chat = shape(chat);

// The same run once more, with a part of its answer there already, as after a stream that broke.
chat.messages.at(-1).content = "my na";
await chat.runAgent({ runId: "run-2" });
got.again = shape(chat);

// A page that drops its last answer and asks again, then edits its message, and another one that lags behind.
const page = agent("Joker", "page");
await ask(page, "one");
await ask(page, "recall");
page.setMessages(page.messages.slice(0, -1));
await page.runAgent();
got.regenerated = shape(page).map(([, content]) => content);
page.setMessages(page.messages.slice(0, -1));
page.messages.at(-1).content = "say two";
await page.runAgent();
got.edited = shape(page).map(([, content]) => content);
const lagging = agent("Joker", "page");
lagging.setMessages(structuredClone(page.messages.slice(0, 2)));
await ask(lagging, "recall");
got.lagging = shape(lagging).map(([, content]) => content);
await ask(page, "count");
got.both = shape(page).map(([, content]) => content);

const tools = agent("Joker", "tools");
await ask(tools, "tool thread_name");
got.tools = shape(tools).map(([role, , calls]) => [role, calls]);

const picture = agent("Joker", "picture");
const image = { type: "image", source: { type: "data", value: "iVBORw0KGgo=", mimeType: "image/png" } };
got.picture = (await ask(picture, [{ type: "text", text: "see" }, image])).newMessages[0].content;

const clerk = agent("Clerk", "clerk");
await ask(clerk, "call refund 7");
const [asked] = clerk.pendingInterrupts;
got.asked = [asked.reason, clerk.messages.at(-1).toolCalls.map((call) => call.id === asked.toolCallId)];
await clerk.runAgent({ resume: [{ interruptId: asked.id, status: "resolved", payload: { approved: true } }] });
got.approved = shape(clerk).slice(2);
got.pending = clerk.pendingInterrupts.length;

const where = { name: "where", description: "Where?", parameters: { type: "object", properties: { n: { type: "string" } } } };
const hands = agent("Clerk", "hands");
await ask(hands, "call where 7, look 1", { tools: [where] });
const [made] = hands.messages.at(-1).toolCalls;
hands.addMessage({ id: crypto.randomUUID(), role: "tool", toolCallId: made.id, content: "here" });
await hands.runAgent({ tools: [where] });
await ask(hands, "thanks");
got.hands = shape(hands).slice(1);

const shown = agent("Shown", "shown");
await ask(shown, "hello", { context: [{ description: "The page.", value: "/home" }] });
await ask(shown, "bye");
got.context = shown.messages.filter((each) => each.role === "assistant").map((each) => JSON.parse(each.content));

const painted = agent("Painter", "painted");
painted.setState({ color: "red", shapes: [1] });
await ask(painted, "look, paint blue");
const beside = agent("Painter", "painted");
await ask(beside, "look");
got.state = [painted.state, beside.state, painted.messages.at(-1).content];
const large = agent("Painter", "large");
const changes = [];
large.setState({ color: "red", shapes: [...Array(50).keys()] });
await ask(large, "paint blue", {});
large.subscribe({ onStateDeltaEvent: ({ event }) => void changes.push(event.delta) });
await ask(large, "paint green, paint ~/");
got.changes = [large.state.color, large.state.shapes.length, changes.map(([change]) => [change.op, change.path, change.value])];

const slow = agent("Joker", "slow");
const outcomes = [];
const seen = {
  onRunStartedEvent: async () => {
    const runs = (await (await fetch(`${origin}/api/agents/Joker/threads/slow/runs`)).json()).runs;
    await fetch(`${origin}/api/agents/Joker/threads/slow/runs/${runs[0].run_id}/cancel`, { method: "POST" });
  },
  onRunFinishedEvent: ({ event }) => void outcomes.push(event.outcome?.type),
  onRunErrorEvent: ({ event }) => void outcomes.push(event.code),
};
slow.addMessage({ id: "u", role: "user", content: "sleep 60" });
await slow.runAgent({}, seen);
got.cancelled = outcomes;

const failing = agent("Joker", "failing");
const codes = [];
failing.addMessage({ id: "u", role: "user", content: "fail" });
await failing.runAgent({}, { onRunErrorEvent: ({ event }) => void codes.push(event.code) });
got.failed = codes;

const refused = agent("Joker", "refused");
try {
  await ask(refused, "hello", { context: [{ description: "The page.", value: "/home" }] });
} catch (error) {
  got.refused = [error.status, error.payload?.type, error.payload?.code];
}

const choosing = agent("Obedient", "choosing");
await ask(choosing, "hello", { forwardedProps: { options: { temperature: 0.5, max_tokens: 20 } } });
got.options = JSON.parse(choosing.messages.at(-1).content);
console.log(JSON.stringify(got));
