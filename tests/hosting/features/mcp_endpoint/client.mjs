// What MCP's own clients get of the wire, printed as JSON. Arguments: the URL, and 1 or 2 for the client's version.
const [, , address, version] = process.argv;
const url = new URL(address);

/** Return a client whose person answers each form with `answer`. */
async function client(answer) {
  const info = [{ name: "test", version: "1" }, { capabilities: answer ? { elicitation: {} } : {} }];
  if (version === "1") {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const { ElicitRequestSchema } = await import("@modelcontextprotocol/sdk/types.js");
    const made = new Client(...info);
    if (answer) made.setRequestHandler(ElicitRequestSchema, answer);
    await made.connect(new StreamableHTTPClientTransport(url));
    const call = (name, query, options, threadId) =>
      made.callTool({ name, arguments: { query, threadId } }, undefined, options);
    return { made, call };
  }
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const made = new Client(...info);
  if (answer) made.setRequestHandler("elicitation/create", answer);
  await made.connect(new StreamableHTTPClientTransport(url));
  return { made, call: (name, query, options, threadId) => made.callTool({ name, arguments: { query, threadId } }, options) };
}

const asked = [];
const { made, call } = await client((request) => {
  asked.push(request.params.message);
  return { action: "accept", content: { approved: true } };
});
const got = { tools: (await made.listTools()).tools.map((tool) => tool.name) };

const words = [];
const spoken = await call("Joker", "hello", { onprogress: (news) => words.push(news.message) });
got.words = words.join("");
got.answer = spoken.structuredContent.response;
got.refund = (await call("Clerk", "call refund 7")).content[0].text;
got.asked = asked;

const silent = await client();
got.waits = (await silent.call("Clerk", "call refund 7")).structuredContent.pending_approvals.length;

const leaving = new AbortController();
const left = call("Joker", "sleep 60", { signal: leaving.signal, onprogress: () => {} }, `left-${version}`);
setTimeout(() => leaving.abort("enough"), 500);
got.left = await left.then(() => "answered", () => "cancelled");
await made.listTools(); // the cancellation is on its way before it
await made.close();
await silent.made.close();
console.log(JSON.stringify(got));
process.exit(0);
