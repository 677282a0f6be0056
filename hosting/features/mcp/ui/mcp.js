// An agent called as a tool, over MCP. Its server lies beside the app's routes, and has a key of its own.

import { firstMessage } from "./calls.js"
import { asCurl, isOpen, literal, pythonHeaders } from "./commands.js"

const PATH = "/runtime/webhooks/mcp"
const KEY = "MCP_KEY"

/** Return the way; null where the agent is no tool. */
export function mcpClient(agent, given) {
  if (!agent.mcp_tool) return null
  const url = new URL(PATH, agent.run_url).href
  const call = { name: agent.mcp_tool, arguments: { query: firstMessage(agent) } }
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: call })
  const headers = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" }
  const server = isOpen(given) ? literal(url) : `streamable_http_client(${literal(url)}, http_client=http)`
  return {
    name: "MCP client",
    curl: asCurl({ method: "POST", url, headers, body }, given, KEY),
    python: [
      "# pip install mcp",
      "import asyncio",
      ...(isOpen(given) ? [] : ["import os"]),
      "",
      "from mcp import Client",
      ...(isOpen(given) ? [] : ["from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client"]),
      "",
      "",
      "async def main():",
      ...(isOpen(given) ? [] : [`    http = create_mcp_http_client(headers={${pythonHeaders(given, KEY).join(", ")}})`]),
      `    async with Client(${server}) as client:`,
      `        result = await client.call_tool(${literal(agent.mcp_tool)}, {"query": ${literal(firstMessage(agent))}})`,
      `        print(result.structured_content["response"])`,
      "",
      "",
      "asyncio.run(main())",
    ].join("\n"),
  }
}
