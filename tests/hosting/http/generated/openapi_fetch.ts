// The client of openapi-fetch, with the types that openapi-typescript makes of the document.
import createClient from "openapi-fetch";
import type { components, paths } from "./made/types.js";

type Answer = components["schemas"]["CompletedRun"]; // the other answers are streams and texts

const client = createClient<paths>({ baseUrl: process.argv[2] });
const asked = await client.POST("/agents/Clerk/run", { body: { message: "call refund 5" } });
const { thread_id, pending_approvals = [], status } = asked.data as Answer;
const path = { name: "Clerk" as const, thread_id, approval_id: pending_approvals[0].id };
const resumed = await client.POST("/agents/{name}/threads/{thread_id}/approvals/{approval_id}", {
  params: { path },
  body: { approved: true },
});
const refused = await client.POST("/agents/Clerk/run", { body: { message: " " } });
const code = typeof refused.error === "object" ? refused.error.code : refused.error;
console.log(JSON.stringify([status, pending_approvals[0].tool, (resumed.data as Answer).response, code]));
