// An agent called as a tool, over MCP. Its server lies beside the app's routes, and has a key of its own.

import { firstMessage } from "./calls.js"
import { mcpCall } from "./commands.js"

/** Return the way; null where the agent is no tool. */
export function mcpClient(agent, given) {
  if (!agent.mcp_tool) return null
  const url = new URL("/runtime/webhooks/mcp", agent.run_url).href
  return { name: "MCP client", ...mcpCall(url, agent.mcp_tool, { query: firstMessage(agent) }, given, "MCP_KEY") }
}
