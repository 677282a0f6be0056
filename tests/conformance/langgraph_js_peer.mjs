// A graph on LangGraph.js server, as `langgraphjs dev` serves it: in memory. X-User says who asks.
// The server imports this file once more by its path, for the graph and the auth handler.
import { setTimeout } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { AIMessage } from "@langchain/core/messages"
import { FakeStreamingChatModel } from "@langchain/core/utils/testing"
import { END, MessagesAnnotation, START, StateGraph, interrupt } from "@langchain/langgraph"
import { Auth } from "@langchain/langgraph-sdk/auth"

const WORDS = 20
const WORD_MS = 50
const STEPS = 8
const STEP_MS = 400
const made = new Map()

/** Make one step of a run, a node as any other; the last one says all that were made. */
async function step(state) {
  const asked = String(state.messages.at(-1).content)
  await setTimeout(STEP_MS)
  const steps = [...(made.get(asked) ?? []), `step-${(made.get(asked)?.length ?? 0) + 1}`]
  made.set(asked, steps)
  return { messages: steps.length === STEPS ? [new AIMessage(steps.join(" "))] : [] }
}

/** Choose the next node. */
function byMessage(state) {
  const newest = state.messages.at(-1)
  return newest.getType() === "human" && String(newest.content).startsWith("long") ? "step" : "answer"
}

/** Do what the first word of the newest message says. */
async function answer(state, config) {
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
  if (asked.startsWith("behalf")) {
    const [, owner] = config.configurable.langgraph_auth_user.token.split(".")
    return { messages: [new AIMessage(`2 letters for ${owner}.`)] }
  }
  if (asked.startsWith("slow")) {
    const model = new FakeStreamingChatModel({ sleep: WORD_MS / "word ".length, responses: [new AIMessage("word ".repeat(WORDS).trim())] })
    return { messages: [await model.invoke(state.messages)] }
  }
  return { messages: [new AIMessage(`You wrote: ${asked}`)] }
}

export const graph = new StateGraph(MessagesAnnotation)
  .addNode("answer", answer)
  .addNode("step", step)
  .addConditionalEdges(START, byMessage, ["answer", "step"])
  .addConditionalEdges("step", (state) => (byMessage(state) === "step" ? "step" : END), ["step", END])
  .compile()

// Take the caller's word for it: this is a test. A token goes with the user. Threads are their owner's, as the server's own example has it.
export const auth = new Auth()
  .authenticate((request) => ({ identity: request.headers.get("x-user") ?? "nobody", permissions: [], token: request.headers.get("authorization") ?? "" }))
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
