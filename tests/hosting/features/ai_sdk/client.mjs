// What the AI SDK's own chat gets of the wire, printed as JSON. Argument: the origin.
import { Chat } from "@ai-sdk/react";
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
} from "ai";

const origin = process.argv[2];
const WHERE = { name: "where", parameters: { type: "object", properties: { n: { type: "string" } } } };

function chatOf(agent, id, messages = [], more = {}, body = agent === "Clerk" ? { client_tools: [WHERE] } : {}) {
  const transport = new DefaultChatTransport({ api: `${origin}/api/ai-sdk/${agent}`, body });
  return new Chat({ id, transport, messages, ...more });
}
const textOf = (message) => message.parts.filter((part) => part.type === "text").map((part) => part.text).join("");
const statesOf = (message) => message.parts.filter((part) => part.toolCallId).map((part) => [part.type, part.state]);
const stored = async (agent, id) => (await (await fetch(`${origin}/api/ai-sdk/${agent}/${id}`)).json()).messages;
async function until(isDone) {
  while (!isDone()) await new Promise((resolve) => setTimeout(resolve, 10));
}

const got = {};

const talk = chatOf("Joker", "talk");
await talk.sendMessage({ text: "my name is Ada" });
await talk.sendMessage({ text: "recall" });
got.turns = talk.messages.map(textOf);
await talk.regenerate();
got.regenerated = talk.messages.map(textOf);
await talk.sendMessage({ text: "my name is Grace", messageId: talk.messages[0].id });
await talk.sendMessage({ text: "recall" });
got.edited = talk.messages.map(textOf);
got.stored = (await stored("Joker", "talk")).map(textOf);

const failing = chatOf("Joker", "failing", [], { onError: (error) => (got.failed = error.message) });
await failing.sendMessage({ text: "fail" });
const wrong = chatOf("Joker", "no such/id", [], { onError: (error) => (got.refused = JSON.parse(error.message).code) });
await wrong.sendMessage({ text: "hello" });

const asking = chatOf("Clerk", "asking", [], { sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses });
await asking.sendMessage({ text: "call refund 4, refund 5" });
got.asked = statesOf(asking.lastMessage);
const ids = asking.lastMessage.parts.filter((part) => part.approval).map((part) => part.approval.id);
await asking.addToolApprovalResponse({ id: ids[0], approved: true });
await asking.addToolApprovalResponse({ id: ids[1], approved: false, reason: "too much" });
await until(() => textOf(asking.lastMessage).includes("told") && asking.status === "ready");
got.answered = { states: statesOf(asking.lastMessage), text: textOf(asking.lastMessage), messages: asking.messages.length };
const again = chatOf("Clerk", "asking", await stored("Clerk", "asking"));
await again.resumeStream();
got.reloaded = { states: statesOf(again.lastMessage), text: textOf(again.lastMessage), messages: again.messages.length };

const running = chatOf("Clerk", "running", [], {
  sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
  onToolCall: ({ toolCall }) => void running.addToolOutput({ tool: toolCall.toolName, toolCallId: toolCall.toolCallId, output: "here" }),
});
await running.sendMessage({ text: "call where 7" });
await until(() => textOf(running.lastMessage).includes("told") && running.status === "ready");
got.ran = { states: statesOf(running.lastMessage), text: textOf(running.lastMessage) };

const slow = chatOf("Joker", "slow");
const sent = slow.sendMessage({ text: "sleep 2" });
await until(() => slow.messages.length && slow.status !== "ready");
await until(() => slow.status === "streaming");
await slow.stop();
await sent;
const resumed = chatOf("Joker", "slow", await stored("Joker", "slow"));
await resumed.resumeStream();
got.resumed = resumed.messages.map(textOf);

const choosing = chatOf("Obedient", "choosing", [], {}, { options: { temperature: 0.5, max_tokens: 20 } });
await choosing.sendMessage({ text: "hello" });
got.options = JSON.parse(textOf(choosing.lastMessage));
console.log(JSON.stringify(got));
