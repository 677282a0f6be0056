// An agent called by another agent, over A2A.

import { firstMessage } from "./calls.js"
import { randomKey } from "./api.js"
import { asCurl, isOpen, literal, pythonHeaders } from "./commands.js"

/** Return the way; null where the app does not serve it. */
export function a2aClient(agent, given) {
  if (!agent.a2a_url) return null
  const text = firstMessage(agent)
  const message = { messageId: randomKey(), role: "ROLE_USER", parts: [{ text }] }
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } })
  const headers = { "Content-Type": "application/json", "A2A-Version": "1.0" }
  const signed = [`    http = httpx.AsyncClient(headers={${pythonHeaders(given).join(", ")}}, timeout=60)`]
  return {
    name: "A2A",
    curl: asCurl({ method: "POST", url: agent.a2a_url, headers, body }, given),
    python: [
      "# pip install --pre agent-framework-a2a",
      "import asyncio",
      ...(isOpen(given) ? [] : ["import os"]),
      "",
      ...(isOpen(given) ? [] : ["import httpx"]),
      "from agent_framework.a2a import A2AAgent",
      "",
      "",
      "async def main():",
      ...(isOpen(given) ? [] : signed),
      `    async with A2AAgent(name=${literal(agent.name)}, url=${literal(agent.a2a_url)}${isOpen(given) ? "" : ", http_client=http"}) as agent:`,
      `        print(await agent.run(${literal(text)}))`,
      "",
      "",
      "asyncio.run(main())",
    ].join("\n"),
  }
}
