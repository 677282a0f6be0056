// The standing approvals of a thread: which tools are called without a question, and a button that ends each.

import { checked, paths, read, send } from "./api.js"
import { button, el, valueNode, visible } from "./dom.js"
import { inFull, until } from "./times.js"

/** Return the standing approvals of an agent's thread with their title; null if it has none. */
export async function standingApprovals(agent, threadId) {
  const place = (rest = "") => paths.thread(agent, threadId, `/approvals/standing${rest}`)
  const load = async () => (await read(place())).standing_approvals
  const problem = el("p", { class: "refusal", role: "alert" })
  const list = el("ul", { class: "steps", tabIndex: -1 })

  const show = (standing) => list.replaceChildren(...(standing.length ? standing.map(row) : [el("li", { class: "note" }, "Nothing. Each tool asks again.")]))

  function row({ id, tool, arguments: given, given_by: by, given_at: at }) {
    const withdraw = button("Withdraw", async () => {
      withdraw.disabled = true
      problem.textContent = ""
      try {
        await checked(await send("DELETE", place(`/${encodeURIComponent(id)}`)))
        show(await load())
        list.focus()
      } catch (refusal) {
        problem.textContent = refusal.message
        withdraw.disabled = false
      }
    }, "small quiet")
    withdraw.setAttribute("aria-label", `Withdraw the approval of ${tool}`)
    const when = at ? el("time", { dateTime: at, title: inFull(at) }, ` ${until(at)}`) : null
    const who = at ? el("span", { class: "note" }, by ? visible(`Given by ${by.name || by.id}`) : "Given", when) : null
    return el("li", {}, el("p", {}, el("b", {}, visible(tool)), given ? " with these arguments " : " with any arguments ", who), given ? valueNode("Arguments", given) : null, withdraw)
  }

  const standing = await load().catch((refusal) => {
    if (refusal.code === "unknown_thread") return [] // it begins with its first message
    throw refusal
  })
  show(standing)
  return standing.length ? el("section", {}, el("h3", { role: "heading", "aria-level": "2" }, "Approved for this thread"), list, problem) : null
}
