// What A2A's own client has of a task whose host is killed, and then of another host, printed as JSON.
// Arguments: our origin, the message, and what it had before.
import { GetTaskRequest, SendMessageRequest, SubscribeToTaskRequest } from "@a2a-js/sdk";
import { ClientFactory } from "@a2a-js/sdk/client";

const [, , origin, text, had] = process.argv;
const client = await new ClientFactory().createFromUrl(`${origin}/api/a2a/Speaker/`);
const got = had ? JSON.parse(had) : {};
try {
  const stream = had
    ? client.resubscribeTask(SubscribeToTaskRequest.fromJSON({ id: got.id }))
    : client.sendMessageStream(SendMessageRequest.fromJSON({ message: { messageId: "m", role: "ROLE_USER", parts: [{ text }] } }));
  try {
    for await (const { payload } of stream) if (payload.$case === "task") got.id ??= payload.value.id;
  } catch (error) {
    // The run may have ended before the client is back: then there is nothing to subscribe to.
    if (!had || error.name !== "UnsupportedOperationError") throw error;
  }
  const task = await client.getTask(GetTaskRequest.fromJSON({ id: got.id }));
  got.said = task.artifacts.map((artifact) => artifact.parts.map((part) => part.content.value).join(""));
} catch (error) {
  got.broken = String(error);
}
console.log(JSON.stringify(got));
