// An agent called by OpenAI's client, over the Responses API.

import { firstMessage } from "./calls.js"
import { asCurl, literal, pythonHeaders } from "./commands.js"

/** Return the way; null where the app does not serve it. */
export function openaiClient(agent, given) {
  if (!agent.responses_url) return null
  const body = JSON.stringify({ model: agent.name, input: firstMessage(agent) })
  const headers = { "Content-Type": "application/json" }
  return {
    name: "OpenAI client",
    curl: asCurl({ method: "POST", url: `${agent.responses_url}/responses`, headers, body }, given),
    python: [
      "# pip install openai",
      ...(given.key || given.token ? ["import os", ""] : []),
      "from openai import OpenAI",
      "",
      "client = OpenAI(",
      `    base_url=${literal(agent.responses_url)},`,
      `    api_key=${given.token ? `os.environ["TOKEN"]` : `"unused"`},`,
      ...(given.key ? [`    default_headers={${pythonHeaders({ key: true })}},`] : []),
      ")",
      `response = client.responses.create(model=${literal(agent.name)}, input=${literal(firstMessage(agent))})`,
      "print(response.output_text)",
    ].join("\n"),
  }
}
