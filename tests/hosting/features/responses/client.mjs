// What OpenAI's own client gets of the wire, printed as JSON. Argument: the base URL.
import OpenAI from "openai";

const client = new OpenAI({ apiKey: "unused", baseURL: process.argv[2], maxRetries: 0 });
const got = {};

got.models = (await client.models.list()).data.map((model) => model.id);

const first = await client.responses.create({ model: "Joker", input: "my name is Ada" });
const second = await client.responses.create({ model: "Joker", input: "recall", previous_response_id: first.id });
got.turns = [first.output_text, second.output_text];

const stream = client.responses.stream({ model: "Joker", input: "tool thread_name" });
got.deltas = "";
const numbers = [];
stream.on("response.output_text.delta", (event) => (got.deltas += event.delta));
stream.on("event", (event) => numbers.push(event.sequence_number));
const streamed = await stream.finalResponse();
got.streamed = { text: streamed.output_text, kinds: streamed.output.map((item) => item.type) };
got.exact = numbers.every(Number.isSafeInteger);

got.resumed = "";
for await (const event of await client.responses.retrieve(streamed.id, { stream: true, starting_after: numbers.at(-2) - 8 }))
  if (event.type === "response.output_text.delta") got.resumed += event.delta;
const again = await client.responses.stream({ response_id: streamed.id, starting_after: 3 }).finalResponse();
got.again = again.output_text === streamed.output_text;

const background = await client.responses.create({ model: "Joker", input: "sleep 60", background: true });
got.cancelled = (await client.responses.cancel(background.id)).status;

const picture = "data:image/png;base64,iVBORw0KGgo=";
const content = [{ type: "input_text", text: "see" }, { type: "input_image", image_url: picture, detail: "auto" }];
got.picture = (await client.responses.create({ model: "Joker", input: [{ role: "user", content }] })).output_text;

const waits = await client.responses.create({ model: "Clerk", input: "call refund 7" });
const request = waits.output.find((item) => item.type === "mcp_approval_request");
const input = [{ type: "mcp_approval_response", approval_request_id: request.id, approve: true }];
got.approved = (await client.responses.create({ model: "Clerk", input, previous_response_id: waits.id })).output_text;

const conversation = await client.conversations.create({ metadata: { agent_id: "Joker" } });
await client.responses.create({ model: "Joker", input: "one", conversation: conversation.id });
const items = [];
for await (const item of client.conversations.items.list(conversation.id, { order: "asc" })) items.push(item.type);
got.items = items;
got.deleted = (await client.conversations.delete(conversation.id)).deleted;

const format = { type: "json_schema", name: "it", schema: { type: "object" } };
const parsed = await client.responses.parse({ model: "Joker", input: 'say {"n": 1}', text: { format } });
got.parsed = parsed.output_parsed;
const raw = await client.responses.create({ model: "Joker", input: "hello", truncation: "auto" }).withResponse();
got.ignored = raw.response.headers.get("x-ms-ignored");
const inputs = [];
for await (const item of client.responses.inputItems.list(first.id)) inputs.push(item.type);
got.inputs = inputs;
const kept = await client.conversations.create({ metadata: { agent_id: "Joker", mine: "x" } });
await client.conversations.update(kept.id, { metadata: { mine: "y" } });
got.metadata = (await client.conversations.retrieve(kept.id)).metadata;
const held = await client.responses.create({ model: "Joker", input: "one", conversation: kept.id });
const [item] = (await client.conversations.items.list(kept.id, { limit: 1 })).data;
got.item = (await client.conversations.items.retrieve(item.id, { conversation_id: kept.id })).type;
const [added] = (await client.conversations.items.create(kept.id, { items: [{ role: "user", content: "a note" }] })).data;
got.added = (await client.conversations.items.retrieve(added.id, { conversation_id: kept.id })).content[0].text;
await client.responses.delete(held.id);
got.model = (await client.models.retrieve("Joker")).id;

const where = { type: "function", name: "where", parameters: { type: "object" }, strict: false };
let conversation_items = [{ role: "user", content: "call where 1" }];
for (;;) {
  const answer = await client.responses.create({ model: "Clerk", input: conversation_items, tools: [where] });
  conversation_items.push(...answer.output);
  const calls = answer.output.filter((item) => item.type === "function_call");
  got.told = answer.output_text;
  if (!calls.length) break;
  for (const { call_id } of calls) conversation_items.push({ type: "function_call_output", call_id, output: "here" });
}

const methodsOf = (resource) => Object.getOwnPropertyNames(Object.getPrototypeOf(resource)).filter((name) => name !== "constructor");
got.methods = {
  responses: methodsOf(client.responses),
  "responses.inputItems": methodsOf(client.responses.inputItems),
  "responses.inputTokens": methodsOf(client.responses.inputTokens),
  conversations: methodsOf(client.conversations),
  "conversations.items": methodsOf(client.conversations.items),
  models: methodsOf(client.models),
};

try {
  await client.responses.create({ model: "Joker", input: "x", top_logprobs: 1 });
} catch (error) {
  got.error = [error.constructor.name, error.status, error.code, error.param];
}
console.log(JSON.stringify(got));
