// Features of MCP's clients for TypeScript one by one, printed as JSON. Arguments: the URL, and 1 or 2 for the version.
const [, , address, version] = process.argv;
const url = new URL(address);
const got = {};

/** Return a connected client; the second one speaks the version without a handshake too. */
async function connected(mode) {
  const info = { name: "test", version: "1" };
  const [client, transport] =
    version === "1"
      ? ["@modelcontextprotocol/sdk/client/index.js", "@modelcontextprotocol/sdk/client/streamableHttp.js"]
      : ["@modelcontextprotocol/client", "@modelcontextprotocol/client"];
  const { Client } = await import(client);
  const { StreamableHTTPClientTransport } = await import(transport);
  const made = new Client(info, version === "1" ? {} : { versionNegotiation: { mode } });
  await made.connect(new StreamableHTTPClientTransport(url));
  return made;
}

/** Return the code of a refusal, of the server or of the client itself. */
async function refused(attempt) {
  try {
    await attempt();
    return "taken";
  } catch (error) {
    return error.code;
  }
}

const call = (client, query, threadId) => client.callTool({ name: "Joker", arguments: { query, threadId } });
const made = await connected("legacy");
got.server = [made.getServerVersion().name, Object.keys(made.getServerCapabilities()).sort(), made.getInstructions().length > 0];
got.ping = await made.ping();
await call(made, "hello", `ts-${version}`);
const templates = (await made.listResourceTemplates()).resourceTemplates;
got.templates = templates.map((template) => template.name);
const ref = { type: "ref/resource", uri: templates[0].uriTemplate };
got.agents = (await made.complete({ ref, argument: { name: "agent", value: "C" } })).completion.values;
const typed = { ref, argument: { name: "thread_id", value: `ts-${version}` }, context: { arguments: { agent: "Joker" } } };
got.threads = [];
while (!got.threads.length) got.threads = (await made.complete(typed)).completion.values;
let page = await made.listResources();
const names = page.resources.map((resource) => resource.name);
while (page.nextCursor) {
  page = await made.listResources({ cursor: page.nextCursor });
  names.push(...page.resources.map((resource) => resource.name));
}
got.listed = names.includes(`ts-${version}`);
const read = await made.readResource({ uri: `thread://Joker/ts-${version}` });
got.read = read.contents[0].text.includes("echo: hello");
got.prompts = await refused(() => made.request({ method: "prompts/list" }, { parse: (value) => value }));
got.subscribed = await refused(() => made.subscribeResource({ uri: `thread://Joker/ts-${version}` }));
await made.close();

if (version === "2") {
  const modern = await connected("auto");
  got.version = modern.getNegotiatedProtocolVersion();
  const told = [];
  const first = new Promise((resolve) =>
    modern.setNotificationHandler("notifications/resources/updated", ({ params }) => resolve(told.push(params.uri))),
  );
  const subscription = await modern.listen({ resourceSubscriptions: ["thread://Joker/ts-watched"], toolsListChanged: true });
  got.honored = subscription.honoredFilter;
  await call(modern, "hello", "ts-watched");
  await first;
  got.told = [...new Set(told)];
  await subscription.close();
  got.closed = await subscription.closed;
  await modern.close();
}
console.log(JSON.stringify(got));
process.exit(0);
