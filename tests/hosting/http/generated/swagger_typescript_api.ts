// The client that swagger-typescript-api makes of the document.
import { Api } from "./made/api.js";

const { agents } = new Api({ baseUrl: process.argv[2] });
const { data } = await agents.httpClerk({ message: "call refund 5" });
if (!("usage" in data) || !data.pending_approvals) throw new Error(JSON.stringify(data));
const { thread_id, pending_approvals, status } = data;
const resumed = await agents.httpApprovalAnswer("Clerk", thread_id, pending_approvals[0].id, { approved: true });
if (!("response" in resumed.data)) throw new Error(JSON.stringify(resumed.data));
const code = await agents.httpClerk({ message: " " }).then(
  () => "taken",
  (answer) => answer.error.code,
);
console.log(JSON.stringify([status, pending_approvals[0].tool, resumed.data.response, code]));
