// What OpenAI's own client has of a response whose host is killed, and then of another host, printed as JSON.
// Arguments: our origin, the message, and what it had before.
import OpenAI from "openai";

const [, , origin, input, had] = process.argv;
const client = new OpenAI({ apiKey: "unused", baseURL: `${origin}/api/openai/v1`, maxRetries: 0 });
const got = had ? JSON.parse(had) : { texts: {} };
try {
  const stream = had
    ? await client.responses.retrieve(got.id, { stream: true, starting_after: got.number })
    : await client.responses.create({ model: "Speaker", input, stream: true });
  for await (const event of stream) {
    got.id ??= event.response?.id;
    got.number = event.sequence_number;
    if (event.type === "response.output_text.delta") got.texts[event.item_id] = (got.texts[event.item_id] ?? "") + event.delta;
    if (event.type === "response.completed")
      got.said = event.response.output.filter((item) => item.type === "message").map((item) => got.texts[item.id]);
  }
} catch (error) {
  got.broken = String(error);
}
console.log(JSON.stringify(got));
