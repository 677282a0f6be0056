// Tool calls that wait for a person: a card for each, with what is asked, by when, and both answers.

import { button, el } from "./dom.js"
import { until } from "./times.js"
import { valueNode } from "./turn.js"

/** Return the card of one approval; `answer(approval, { approved, reason })` sends what the person decides. */
export function approvalCard(approval, answer) {
  const reason = el("input", { type: "text", placeholder: "Why not? The agent is told.", "aria-label": "Reason", hidden: true })
  const refuse = button("Refuse", () => {
    if (reason.hidden) {
      reason.hidden = false
      reason.focus()
    } else decide(false)
  })
  const approve = button("Approve", () => decide(true), "primary")
  const note = el("p", { class: "note", role: "status" })
  reason.addEventListener("keydown", (event) => event.key === "Enter" && decide(false))

  async function decide(approved) {
    approve.disabled = refuse.disabled = true
    try {
      await answer(approval, approved ? { approved } : { approved, ...(reason.value.trim() && { reason: reason.value.trim() }) })
      card.remove()
    } catch (problem) {
      note.textContent = problem.message
      approve.disabled = refuse.disabled = ["approval_answered", "approval_expired"].includes(problem.code)
    }
  }

  const title = el("h3", {}, "May the agent call ", el("code", {}, approval.tool), "?")
  const limit = approval.expires_at ? el("p", { class: "note" }, `Counts as refused ${until(approval.expires_at)}.`) : null
  const actions = el("div", { class: "actions" }, approve, refuse, reason)
  const card = el("section", { class: "card ask" }, title, valueNode("Arguments", approval.arguments), actions, limit, note)
  return card
}
