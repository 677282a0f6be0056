// What the AI SDK's own chat gets of the wire, printed as JSON. Argument: the origin.
import { readFileSync } from "node:fs";

import { Chat } from "@ai-sdk/react";
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  readUIMessageStream,
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
await until(() => slow.messages.length === 2); // the answer has begun; `status` is "streaming" only with its first word
await slow.stop();
await sent;
const resumed = chatOf("Joker", "slow", await stored("Joker", "slow"));
await resumed.resumeStream();
got.resumed = resumed.messages.map(textOf);

const choosing = chatOf("Obedient", "choosing", [], {}, { options: { temperature: 0.5, max_tokens: 20 } });
await choosing.sendMessage({ text: "hello" });
got.options = JSON.parse(textOf(choosing.lastMessage));
const sentHeaders = [];
const watched = new DefaultChatTransport({
  api: "http://nowhere.example",
  credentials: "same-origin",
  headers: { "x-of-the-page": "1" },
  fetch: (input, init) => (sentHeaders.push(new Headers(init.headers).get("x-of-the-page")), fetch(input, init)),
  prepareSendMessagesRequest: ({ id, messages, trigger, messageId }) => ({
    api: `${origin}/api/ai-sdk/Joker`,
    body: { id, messages: messages.slice(-1), trigger, messageId },
  }),
  prepareReconnectToStreamRequest: ({ id }) => ({ api: `${origin}/api/ai-sdk/Joker/${id}/stream` }),
});
const finished = [];
let number = 0;
const custom = new Chat({
  id: "custom",
  transport: watched,
  generateId: () => `own-${(number += 1)}`,
  onFinish: ({ message, finishReason }) => finished.push([textOf(message), finishReason, Boolean(message.metadata.runId)]),
});
const picture = { type: "file", mediaType: "image/png", url: "data:image/png;base64,iVBORw0KGgo=" };
await custom.sendMessage({ text: "see", files: [picture], metadata: { mine: 1 } });
await custom.resumeStream();
got.custom = { ids: custom.messages[0].id, finished, sentHeaders, status: custom.status };

const stream = await watched.sendMessages({
  chatId: "read",
  trigger: "submit-message",
  messages: [{ id: "m1", role: "user", parts: [{ type: "text", text: "say one two" }] }],
});
let last;
for await (const message of readUIMessageStream({ stream })) last = message;
got.read = textOf(last);

failing.clearError();
got.cleared = [failing.status, failing.error ?? null];
failing.messages = [];
await failing.sendMessage({ text: "say again" });
got.again = failing.messages.map(textOf);

const broken = chatOf("Clerk", "broken", [], { sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls });
await broken.sendMessage({ text: "call where 8" });
const [call] = broken.lastMessage.parts.filter((part) => part.toolCallId);
await broken.addToolOutput({ tool: "where", toolCallId: call.toolCallId, state: "output-error", errorText: "no signal" });
await until(() => textOf(broken.lastMessage).includes("told") && broken.status === "ready");
got.broken = textOf(broken.lastMessage);

const queued = chatOf("Joker", "queued", [], { experimental_queue: true });
const before = queued.sendMessage({ text: "sleep 1" });
await until(() => queued.status !== "ready");
const behind = queued.sendMessage({ text: "say queued" });
await Promise.all([before, behind]);
await until(() => queued.status === "ready" && queued.messages.length === 4);
got.queued = queued.messages.map(textOf);

const thinking = chatOf("Thinker", "thinking");
await thinking.sendMessage({ text: "look" });
got.thoughts = thinking.lastMessage.parts.filter((part) => part.type === "reasoning").map((part) => [part.text, part.state]);

const cancelled = chatOf("Joker", "cancelled");
const cut = cancelled.sendMessage({ text: "sleep 60" });
await until(() => cancelled.lastMessage?.metadata?.runId);
const run = `${origin}/api/agents/Joker/threads/cancelled/runs/${cancelled.lastMessage.metadata.runId}`;
got.cancelled = (await fetch(`${run}/cancel`, { method: "POST" })).ok;
await cut;
got.cut = [cancelled.status, cancelled.messages.length];

const declared = (module) => readFileSync(new URL(`node_modules/${module}/dist/index.d.ts`, import.meta.url), "utf8");
const members = (text, begin, end) => {
  const [, body] = text.split(begin);
  return [...body.split(end)[0].matchAll(/^ {2}(\w+)\??:/gm)].map(([, name]) => name);
};
const [, helpers] = declared("@ai-sdk/react").match(/Pick<AbstractChat<UI_MESSAGE>, ([^>]*)>/);
const [, chunks] = declared("ai").split("type UIMessageChunk<");
got.names = {
  helpers: [...helpers.matchAll(/'(\w+)'/g)].map(([, name]) => name),
  options: members(declared("ai"), "interface ChatInit<", "\n}"),
  transport: members(declared("ai"), "type HttpChatTransportInitOptions<", "\n};"),
  chunks: [...new Set([...chunks.split("\ntype ")[0].matchAll(/type: '([a-z-]+)'/g)].map(([, name]) => name))],
};
console.log(JSON.stringify(got));
