// A graph on LangGraph.js server, as `langgraphjs dev` serves it: in memory. X-User says who asks.
// The server imports this file once more by its path, for the graph and the auth handler.
import { setTimeout } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { AIMessage } from "@langchain/core/messages"
import { FakeStreamingChatModel } from "@langchain/core/utils/testing"
import { MessagesAnnotation, START, StateGraph, interrupt } from "@langchain/langgraph"
import { Auth } from "@langchain/langgraph-sdk/auth"

const WORDS = 20
const WORD_MS = 50

/** Do what the first word of the newest message says. */
async function answer(state) {
  const asked = String(state.messages.at(-1).content)
  if (asked.startsWith("refund")) {
    const approved = interrupt("refund")
    await setTimeout(WORDS * WORD_MS) // as long as a bank takes: two decisions at once find it at work
    return { messages: [new AIMessage(approved ? "It is paid back." : "It is not paid back.")] }
  }
  if (asked.startsWith("ask")) {
    const place = interrupt("Where does it go?")
    await setTimeout(WORDS * WORD_MS)
    return { messages: [new AIMessage(`It goes to ${place}.`)] }
  }
  if (asked.startsWith("slow")) {
    const model = new FakeStreamingChatModel({ sleep: WORD_MS / "word ".length, responses: [new AIMessage("word ".repeat(WORDS).trim())] })
    return { messages: [await model.invoke(state.messages)] }
  }
  return { messages: [new AIMessage(`You wrote: ${asked}`)] }
}

export const graph = new StateGraph(MessagesAnnotation).addNode("answer", answer).addEdge(START, "answer").compile()

// Take the caller's word for it: this is a test. Threads are their owner's, as the server's own example has it.
export const auth = new Auth()
  .authenticate((request) => ({ identity: request.headers.get("x-user") ?? "nobody", permissions: [] }))
  .on("threads", ({ value, user }) => {
    const owner = { owner: user.identity }
    if (value && "metadata" in value) value.metadata = { ...value.metadata, ...owner }
    return owner
  })

const here = fileURLToPath(import.meta.url)
if (process.argv[1] === here) {
  const options = {
    port: Number(process.argv[2] ?? 0),
    nWorkers: 10,
    host: "127.0.0.1",
    cwd: process.cwd(),
    graphs: { Assistant: `${here}:graph` },
    auth: { path: `${here}:auth`, disable_studio_auth: true },
  }
  // It is not awaited here: the server waits until this file is whole.
  import("@langchain/langgraph-api/server").then(async ({ startServer }) => {
    const { host } = await startServer(options)
    console.log(`development only: http://${host}`)
  })
}
