// What AG-UI's own client has of a run whose host is killed, and then of another host, printed as JSON.
// Arguments: our origin, the message, what it had before, and the package.
const [, , origin, content, had, name] = process.argv;
const { HttpAgent } = await import(name);
console.warn = console.error; // stdout is the answer's
const initialMessages = had ? JSON.parse(had).messages : [{ id: "u", role: "user", content }];
const agent = new HttpAgent({ url: `${origin}/api/ag-ui/Speaker`, threadId: "killed", initialMessages });
const got = {};
process.on("unhandledRejection", (error) => (got.broken = String(error))); // the client drops a promise of its own
try {
  await agent.runAgent({ runId: "run-killed" }, { onRunFinishedEvent: () => void (got.said = []) });
} catch (error) {
  got.broken = String(error);
}
got.messages = agent.messages;
if (got.said) got.said = agent.messages.filter((one) => one.role === "assistant" && one.content).map((one) => one.content);
console.log(JSON.stringify(got));
