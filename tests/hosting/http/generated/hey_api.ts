// The client that @hey-api/openapi-ts makes of the document.
import { client } from "./made/client.gen.js";
import { httpApprovalAnswer, httpClerk } from "./made/sdk.gen.js";
import type { CompletedRun, Problem } from "./made/types.gen.js";

client.setConfig({ baseUrl: process.argv[2] });
const asked = await httpClerk({ body: { message: "call refund 5" } });
const { thread_id, pending_approvals = [], status } = asked.data as CompletedRun;
const path = { name: "Clerk" as const, thread_id, approval_id: pending_approvals[0].id };
const resumed = await httpApprovalAnswer({ path, body: { approved: true } });
const refused = await httpClerk({ body: { message: " " } });
const { response } = resumed.data as CompletedRun;
console.log(JSON.stringify([status, pending_approvals[0].tool, response, (refused.error as Problem).code]));
