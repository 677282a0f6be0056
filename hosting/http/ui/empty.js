// What stands where nothing is yet: a thread without messages, with its first request, and an app without agents.

import { graphs } from "./api.js"
import { firstRequest, given } from "./calls.js"
import { asCurl } from "./commands.js"
import { copyButton } from "./dialogs.js"
import { button, el } from "./dom.js"
import { Graph } from "./graph.js"

/** Return what stands in an agent's empty thread; `write(text)` puts the agent's example into the box. */
export function emptyThread(agent, threadId, write) {
  const shape = graphs.get(agent.name)
  const first = shape ? new Graph(shape).element : el("p", {}, button(agent.example, () => write(agent.example), "chip"))
  const curl = asCurl(firstRequest(agent), given())
  return el(
    "section",
    { id: "empty", class: "empty" },
    el("span", { class: "badge large", "aria-hidden": "true" }, agent.name[0].toUpperCase()),
    el("h2", {}, threadId ? "No messages yet" : `${shape ? "Run" : "Ask"} ${agent.name}`),
    el("p", {}, agent.description),
    first,
    el("p", { class: "note" }, "Or from a terminal:"),
    el("div", { class: "command" }, el("code", {}, curl), copyButton(() => curl, "Copy", "quiet small")),
  )
}

/** Return what stands in an app without agents. */
export function noAgents() {
  return el(
    "section",
    { class: "empty" },
    el("h2", {}, "No agents yet"),
    el("p", {}, "Write an agent in ", el("code", {}, "agents/"), ", and add it to ", el("code", {}, "agents=[...]"), " in ", el("code", {}, "function_app.py"), "."),
  )
}
