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
