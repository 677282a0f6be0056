// An agent called by OpenAI's client, over Chat Completions.

import { firstMessage } from "./calls.js"
import { asCurl, literal, pythonHeaders } from "./commands.js"

/** Return the way; null where the app does not serve it. */
export function chatClient(agent, given) {
  if (!agent.chat_completions_url) return null
  const body = JSON.stringify({ model: agent.name, messages: [{ role: "user", content: firstMessage(agent) }] })
  const headers = { "Content-Type": "application/json" }
  return {
    name: "Chat Completions",
    curl: asCurl({ method: "POST", url: `${agent.chat_completions_url}/chat/completions`, headers, body }, given),
    python: [
      "# pip install openai",
      ...(given.key || given.token ? ["import os", ""] : []),
      "from openai import OpenAI",
      "",
      "client = OpenAI(",
      `    base_url=${literal(agent.chat_completions_url)},`,
      `    api_key=${given.token ? `os.environ["TOKEN"]` : `"unused"`},`,
      ...(given.key ? [`    default_headers={${pythonHeaders({ key: true })}},`] : []),
      ")",
      "completion = client.chat.completions.create(",
      `    model=${literal(agent.name)}, messages=[{"role": "user", "content": ${literal(firstMessage(agent))}}]`,
      ")",
      "print(completion.choices[0].message.content)",
    ].join("\n"),
  }
}
