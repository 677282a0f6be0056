// Tool calls that wait for a person: a card for each, with what is asked, by when, and both answers.

import { paths, read } from "./api.js"
import { button, el } from "./dom.js"
import { until } from "./times.js"
import { valueNode } from "./turn.js"

/** Return the card of one approval, of an agent's thread; `answer(approval, { approved, reason })` sends a decision. */
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
      const first = problem.code === "approval_answered" ? await whoWasFirst(approval) : ""
      note.textContent = problem.message + first
      approve.disabled = refuse.disabled = ["approval_answered", "approval_expired"].includes(problem.code)
    }
  }

  const title = el("h3", {}, "May the agent call ", el("code", {}, approval.tool), "?")
  const limit = approval.expires_at ? el("p", { class: "note" }, `Counts as refused ${until(approval.expires_at)}.`) : null
  const actions = el("div", { class: "actions" }, approve, refuse, reason)
  const card = el("section", { class: "card ask" }, title, valueNode("Arguments", approval.arguments), actions, limit, note)
  return card
}

/** Return what somebody decided before, who it was where the app knows that, and when. */
async function whoWasFirst({ agent, thread_id: thread, run_id: run, id }) {
  const { steps } = await read(paths.runs(agent, thread, run, "/timeline")).catch(() => ({ steps: [] }))
  const first = steps.find((step) => step.kind === "approval_answered" && step.id === id)
  return first ? ` It was ${saidOf(first)} ${until(first.at)}${first.reason ? `: ${first.reason}` : ""}.` : ""
}

/** Return what was decided, and by whom where the app knows that. */
export const saidOf = ({ approved, by }) => `${approved ? "approved" : "refused"}${by ? ` by ${by.name || by.id}` : ""}`
