// An agent called by OpenAI's client, over Chat Completions.

import { firstMessage } from "./calls.js"
import { curlOf, literal, ofOpenai } from "./commands.js"

/** Return the way; null where the app does not serve it. */
export function chatClient({ chat_completions_url: url, ...agent }, given) {
  const content = firstMessage(agent)
  return url && {
    name: "Chat Completions",
    curl: curlOf(`${url}/chat/completions`, { model: agent.name, messages: [{ role: "user", content }] }, given),
    python: ofOpenai(url, given, [
      "completion = client.chat.completions.create(",
      `    model=${literal(agent.name)}, messages=[{"role": "user", "content": ${literal(content)}}]`,
      ")",
      "print(completion.choices[0].message.content)",
    ]),
  }
}
