// An agent called by another agent, over A2A.

import { randomKey } from "./api.js"
import { firstMessage } from "./calls.js"
import { curlOf, isOpen, literal, ofAsyncio } from "./commands.js"

/** Return the way; null where the app does not serve it. */
export function a2aClient({ a2a_url: url, ...agent }, given) {
  const text = firstMessage(agent)
  const message = { messageId: randomKey(), role: "ROLE_USER", parts: [{ text }] }
  const signed = isOpen(given) ? "" : ", http_client=http"
  return url && {
    name: "A2A",
    curl: curlOf(url, { jsonrpc: "2.0", id: 1, method: "SendMessage", params: { message } }, given, { "A2A-Version": "1.0" }),
    python: ofAsyncio(
      "--pre agent-framework-a2a",
      [...(isOpen(given) ? [] : ["import httpx"]), "from agent_framework.a2a import A2AAgent"],
      given,
      (headers) => `httpx.AsyncClient(${headers}, timeout=60)`,
      [
        `async with A2AAgent(name=${literal(agent.name)}, url=${literal(url)}${signed}) as agent:`,
        `    print(await agent.run(${literal(text)}))`,
      ],
    ),
  }
}
