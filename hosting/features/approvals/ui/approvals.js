// Tool calls that wait for a person: a card for each, with the call, its deadline, and both answers.

import { paths, read } from "./api.js"
import { button, el, pressed, valueNode, visible } from "./dom.js"
import { saidOf } from "./timeline.js"
import { until } from "./times.js"

/** Return the card of one approval, of an agent's thread; `answer(approval, { approved, reason })` sends a decision.
 *
 * A workflow's question has an `answer_schema`: the decision is then `{ value }`. */
export function approvalCard(approval, answer) {
  if (approval.answer_schema) return questionCard(approval, answer)
  const reason = el("input", { type: "text", placeholder: "Reason to refuse (optional)", title: "The agent sees it", "aria-label": "Reason to refuse" })
  const refuse = button("Refuse", () => decide(false))
  const approve = button("Approve", () => decide(true), "primary")
  const note = el("p", { class: "note", role: "status" })
  reason.addEventListener("keydown", (event) => pressed(event, "Enter") && decide(false))

  async function decide(approved) {
    approve.disabled = refuse.disabled = true
    try {
      await answer(approval, approved ? { approved } : { approved, ...(reason.value.trim() && { reason: reason.value.trim() }) })
      card.remove()
    } catch (problem) {
      const first = problem.code === "approval_answered" ? await whoWasFirst(approval) : ""
      note.replaceChildren(...visible(problem.message + first))
      approve.disabled = refuse.disabled = ["approval_answered", "approval_expired"].includes(problem.code)
    }
  }

  const title = el("h3", {}, "May the agent call ", el("code", {}, visible(approval.tool)), "?")
  const limit = approval.expires_at ? el("p", { class: "note" }, `Expires ${until(approval.expires_at)}, then counts as refused.`) : null
  const actions = el("div", { class: "actions" }, approve, refuse, reason)
  const card = el("section", { class: "card ask" }, title, valueNode("Arguments", approval.arguments), actions, limit, note)
  return card
}

function questionCard(approval, answer) {
  const isText = approval.answer_schema.type === "string"
  const field = el("textarea", { rows: 3, "aria-label": "Answer", placeholder: isText ? "Answer" : "Answer, as JSON" })
  const note = el("p", { class: "note", role: "status" })
  const send = button("Answer", async () => {
    send.disabled = true
    try {
      await answer(approval, { value: isText ? field.value : JSON.parse(field.value) })
      card.remove()
    } catch (problem) {
      note.replaceChildren(...visible(problem instanceof SyntaxError ? `This is not JSON: ${problem.message}` : problem.message))
      send.disabled = ["approval_answered", "approval_expired"].includes(problem.code)
    }
  }, "primary")
  const limit = approval.expires_at ? el("p", { class: "note" }, `Expires ${until(approval.expires_at)}.`) : null
  const title = el("h3", {}, el("code", {}, visible(approval.tool)), " asks")
  const asked = [valueNode("Question", approval.arguments), isText ? null : valueNode("Schema of the answer", approval.answer_schema)]
  const card = el("section", { class: "card ask" }, title, ...asked, field, el("div", { class: "actions" }, send), limit, note)
  return card
}

/** Return the earlier decision, its person if known, and its time. */
async function whoWasFirst({ agent, thread_id: thread, run_id: run, id }) {
  const { steps } = await read(paths.runs(agent, thread, run, "/timeline")).catch(() => ({ steps: [] }))
  const first = steps.find((step) => step.kind === "approval_answered" && step.id === id)
  return first ? ` It was ${saidOf(first)} ${until(first.at)}${first.reason ? `: ${first.reason}` : ""}.` : ""
}
