// What A2A's own client gets of the wire, printed as JSON. Argument: the URL of the wire.
import { CancelTaskRequest, GetTaskRequest, ListTasksRequest, SendMessageRequest, SubscribeToTaskRequest, TaskState } from "@a2a-js/sdk";
import { ClientFactory } from "@a2a-js/sdk/client";

const joker = await new ClientFactory().createFromUrl(`${process.argv[2]}/Joker/`);
const clerk = await new ClientFactory().createFromUrl(`${process.argv[2]}/Clerk/`);
const got = {};
let number = 0;

const request = (parts, message = {}, configuration = {}) =>
  SendMessageRequest.fromJSON({
    message: {
      messageId: `js-${++number}`,
      role: "ROLE_USER",
      parts: typeof parts === "string" ? [{ text: parts }] : parts,
      ...message,
    },
    configuration,
  });
const text = (task) => task.artifacts.at(-1).parts.map((part) => part.content.value).join("");
const state = (task) => TaskState[task.status.state];

const first = await joker.sendMessage(request("my name is Ada"));
const second = await joker.sendMessage(request("recall", { contextId: first.contextId }));
got.turns = [text(first), text(second)];
got.read = text(await joker.getTask(GetTaskRequest.fromJSON({ id: second.id })));
const listed = await joker.listTasks(ListTasksRequest.fromJSON({ contextId: first.contextId }));
got.listed = listed.tasks.map((task) => task.id === second.id || task.id === first.id);

const taken = async (stream) => {
  const kinds = [];
  let said = "";
  for await (const { payload } of stream) {
    kinds.push(payload.$case);
    if (payload.$case === "task") said = payload.value.artifacts.length ? text(payload.value) : "";
    if (payload.$case === "artifactUpdate")
      said = (payload.value.append ? said : "") + text({ artifacts: [payload.value.artifact] });
  }
  return [said, [...new Set(kinds)]];
};
got.streamed = await taken(joker.sendMessageStream(request("say one two three")));

const working = await joker.sendMessage(request("sleep 0.3", {}, { returnImmediately: true }));
got.followed = (await taken(joker.resubscribeTask(SubscribeToTaskRequest.fromJSON({ id: working.id }))))[0];
const long = await joker.sendMessage(request("sleep 60", {}, { returnImmediately: true }));
got.canceled = state(await joker.cancelTask(CancelTaskRequest.fromJSON({ id: long.id })));

const picture = [{ text: "see" }, { raw: "iVBORw0KGgo=", mediaType: "image/png" }];
got.picture = text(await joker.sendMessage(request(picture)));

const waits = await clerk.sendMessage(request("call refund 7"));
const id = waits.status.message.parts[1].content.value.approvals[0].id;
const answer = [{ data: { approvals: [{ id, approved: true }] } }];
const done = await clerk.sendMessage(request(answer, { taskId: waits.id }));
got.approved = [state(waits), state(done), text(done), done.id === waits.id];

const everywhere = await joker.listTasks(ListTasksRequest.fromJSON({ includeArtifacts: true }));
got.everywhere = everywhere.tasks.filter((task) => task.id === second.id).map(text);

for (const attempt of [
  () => joker.getTask(GetTaskRequest.fromJSON({ id: "x" })),
  () => joker.cancelTask(CancelTaskRequest.fromJSON({ id: first.id })),
  () => taken(joker.resubscribeTask(SubscribeToTaskRequest.fromJSON({ id: first.id }))),
])
  try {
    await attempt();
  } catch (error) {
    (got.errors ??= []).push([error.constructor.name, error.envelopeCode]);
  }
console.log(JSON.stringify(got));
