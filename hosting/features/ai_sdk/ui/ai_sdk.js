// An agent called by the AI SDK, as a page with `useChat` calls it.

import { randomKey } from "./api.js"
import { firstMessage } from "./calls.js"
import { curlOf, isOpen, literal } from "./commands.js"

/** Return the way; null where the app does not serve it. */
export function aiSdkChat({ ai_sdk_url: url, ...agent }, given) {
  const text = firstMessage(agent)
  const messages = [{ id: randomKey(), role: "user", parts: [{ type: "text", text }] }]
  const headers = [
    ...(given.key ? [`"x-functions-key": process.env.KEY`] : []),
    ...(given.token ? ["Authorization: `Bearer ${process.env.TOKEN}`"] : []),
  ]
  return url && {
    name: "AI SDK",
    curl: curlOf(url, { id: randomKey(), messages }, given, { Accept: "text/event-stream" }),
    program: [
      "// npm install @ai-sdk/react ai react",
      `import { Chat } from "@ai-sdk/react"`,
      `import { DefaultChatTransport } from "ai"`,
      "",
      "const transport = new DefaultChatTransport({",
      `  api: ${literal(url)},`,
      ...(isOpen(given) ? [] : [`  headers: { ${headers.join(", ")} },`]),
      "})",
      "const chat = new Chat({ transport }) // in a component: useChat({ transport })",
      `await chat.sendMessage({ text: ${literal(text)} })`,
      "console.log(chat.lastMessage.parts.at(-1).text)",
    ].join("\n"),
  }
}
