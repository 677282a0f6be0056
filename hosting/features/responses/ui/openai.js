// An agent called by OpenAI's client, over the Responses API.

import { firstMessage } from "./calls.js"
import { curlOf, literal, ofOpenai } from "./commands.js"

/** Return the way; null where the app does not serve it. */
export function openaiClient({ responses_url: url, ...agent }, given) {
  const input = firstMessage(agent)
  return url && {
    name: "OpenAI client",
    curl: curlOf(`${url}/responses`, { model: agent.name, input }, given),
    python: ofOpenai(url, given, [
      `response = client.responses.create(model=${literal(agent.name)}, input=${literal(input)})`,
      "print(response.output_text)",
    ]),
  }
}
