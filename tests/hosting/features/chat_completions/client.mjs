// What OpenAI's own client gets of the wire, printed as JSON. Argument: the base URL.
import OpenAI from "openai";

const client = new OpenAI({ apiKey: "unused", baseURL: process.argv[2], maxRetries: 0 });
const got = {};

got.models = (await client.models.list()).data.map((model) => model.id);

const messages = [{ role: "user", content: "my name is Ada" }];
const first = await client.chat.completions.create({ model: "Joker", messages, temperature: 1 });
messages.push(first.choices[0].message, { role: "user", content: "recall" });
const second = await client.chat.completions.create({ model: "Joker", messages });
got.turns = [first, second].map((completion) => completion.choices[0].message.content);

const question = [{ role: "user", content: "say one two three" }];
const stream = client.chat.completions.stream({ model: "Joker", messages: question, stream_options: { include_usage: true } });
got.deltas = "";
stream.on("content", (delta) => (got.deltas += delta));
got.streamed = (await stream.finalChatCompletion()).choices[0].message.content;
got.tokens = (await stream.totalUsage()).total_tokens;

const asked = (content) => [{ role: "user", content }];
const schema = { name: "it", schema: { type: "object" } };
const response_format = { type: "json_schema", json_schema: schema };
const parsed = await client.chat.completions.parse({ model: "Joker", messages: asked('say {"n": 1}'), response_format });
got.parsed = parsed.choices[0].message.parsed;
const where = {
  type: "function",
  function: { name: "where", parameters: { type: "object" }, parse: JSON.parse, function: ({ n }) => `at ${n}` },
};
const runner = client.chat.completions.runTools({ model: "Clerk", messages: asked("call where 1, where 2"), tools: [where] });
got.ran = await runner.finalContent();
const streamer = client.chat.completions.runTools({ model: "Clerk", messages: asked("call where 3"), tools: [where], stream: true });
got.ranStreamed = await streamer.finalContent();
const raw = await client.chat.completions.create({ model: "Joker", messages: asked("hello"), user: "u" }).withResponse();
got.ignored = raw.response.headers.get("x-ms-ignored");
got.model = (await client.models.retrieve("Joker")).id;

const methodsOf = (resource) => Object.getOwnPropertyNames(Object.getPrototypeOf(resource)).filter((name) => name !== "constructor");
got.methods = {
  "chat.completions": methodsOf(client.chat.completions),
  "chat.completions.messages": methodsOf(client.chat.completions.messages),
  models: methodsOf(client.models),
};

try {
  await client.chat.completions.create({ model: "Joker", messages, n: 2 });
} catch (error) {
  got.refused = [error.constructor.name, error.status, error.code, error.param];
}
try {
  for await (const _ of await client.chat.completions.create({ model: "Joker", messages: [{ role: "user", content: "fail" }], stream: true }));
} catch (error) {
  got.failed = [error.constructor.name, error.code];
}
console.log(JSON.stringify(got));
