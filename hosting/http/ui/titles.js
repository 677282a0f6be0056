// The words above a conversation, and the list of agents beside it.

import { paths, read, shared } from "./api.js"
import { el, plural } from "./dom.js"
import { hrefOf } from "./threads.js"

/** Return what is said of a thread below its title, where the app `told` of it; `left` is what a budget leaves. */
export function aboutThread(agent, threadId, told, left) {
  const tokens = told.usage.total_token_count
  const parts = [shared.grant && "Shared with you", agent, told.message_count && plural(told.message_count, "message"), tokens && plural(tokens, "token"), told.cost && `cost ${told.cost}`, left, ...labels(told.metadata), threadId]
  const origin = !shared.grant && told.forked_from?.thread_id
  const link = origin && el("a", { href: hrefOf(agent, origin), title: origin }, "Fork of another thread")
  return [...(link ? [link, " · "] : []), parts.filter(Boolean).join(" · ")]
}

/** Return the thread's own values, besides its name and pin. */
function labels(metadata = {}) {
  return Object.entries(metadata).filter(([name]) => name !== "title" && name !== "pinned").map(([name, value]) => `${name}: ${value}`)
}

/** Return the agent of a thread that is in no list: it works for another one. Null if there is no such thread. */
export async function withinAgent(name, threadId) {
  if (!name || !threadId) return null
  const thread = await read(paths.thread(name, threadId)).catch(() => null)
  return thread && { name, description: "It works for another agent.", isWithin: true }
}

/** Return the links to agents; `open` is the one whose conversation or view is shown. */
export function agentLinks(agents, open) {
  return agents.map((agent) => {
    const link = { href: hrefOf(agent.name), title: agent.description, "aria-current": agent === open ? "true" : null }
    const badge = el("span", { class: "badge", "aria-hidden": "true" }, agent.name[0].toUpperCase())
    return el("li", {}, el("a", link, badge, el("span", {}, agent.name)))
  })
}
