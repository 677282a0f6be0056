// An agent called as a tool, over the app's own MCP endpoint.

import { mcpCall } from "./commands.js"
import { exampleOf, takesText } from "./schemas.js"

/** Return the way; null where the app does not serve it. */
export function mcpEndpoint(agent, given) {
  if (!agent.mcp_url) return null
  const tool = agent.mcp_tool ?? agent.name.replaceAll(" ", "_")
  return { name: "MCP endpoint", ...mcpCall(agent.mcp_url, tool, argumentsOf(agent), given) }
}

/** A workflow that takes a value has the arguments of that value, or one for what is no object. */
function argumentsOf(agent) {
  if (takesText(agent)) return { query: agent.example }
  const example = exampleOf(agent.input_schema)
  return agent.input_schema.type === "object" ? example : { input: example }
}
