// Tool calls that wait for a person: a card for each, with the call, its deadline, and both answers.

import { paths, read } from "./api.js"
import { button, el, pressed, valueNode, visible } from "./dom.js"
import { Form } from "./forms.js"
import { saidOf } from "./timeline.js"
import { until } from "./times.js"

const ALWAYS = [["Always approve this tool", "tool"], ["Always with these arguments", "tool_with_arguments"]]
const standing = new Map() // whether an agent takes standing approvals, by its name

/** Return the card of one approval, of an agent's thread; `answer(approval, { approved, reason })` sends a decision.
 *
 * The answer to a question, and the result of a tool that the caller runs, is `{ value }`, by its `answer_schema`. */
export function approvalCard(approval, answer) {
  if (approval.kind === "authorization") return signInCard(approval, answer)
  if (approval.kind !== "approve") return questionCard(approval, answer)
  const form = approval.arguments_schema && new Form(approval.arguments_schema, "Arguments", () => decide(true), approval.arguments)
  const asked = valueNode("Arguments", approval.arguments)
  const edit = form ? button("Edit arguments", () => change(), "quiet") : null
  const reason = el("input", { type: "text", placeholder: "Reason to refuse (optional)", title: "The agent sees it", "aria-label": "Reason to refuse" })
  const refuse = button("Refuse", () => decide(false))
  const approve = button("Approve", () => decide(true), approval.destructive ? "danger" : "primary")
  const always = ALWAYS.map(([says, value]) => button(says, () => decide(true, value), "small quiet"))
  const every = el("div", { class: "actions", hidden: true, role: "group", "aria-label": "Approve later calls of this thread too" }, always)
  const note = el("p", { class: "note", role: "status" })
  reason.addEventListener("keydown", (event) => pressed(event, "Enter") && decide(false))

  /** Have the call made with other arguments: the form is in place of them. */
  function change() {
    asked.replaceWith(form.element)
    edit.remove()
    approve.textContent = "Approve as changed"
    form.focus()
  }

  const disable = (is) => [approve, refuse, ...always].forEach((one) => (one.disabled = is))

  async function decide(approved, always) {
    const changed = approved && form?.element.isConnected ? form.read() : {}
    if (!changed || approve.disabled) return
    disable(true)
    try {
      await answer(approval, approved ? { approved, ...("value" in changed && { arguments: changed.value }), ...(always && { always }) } : { approved, ...(reason.value.trim() && { reason: reason.value.trim() }) })
      card.remove()
    } catch (problem) {
      const first = problem.code === "approval_answered" ? await whoWasFirst(approval) : ""
      if (problem.code === "invalid_input" && form?.element.isConnected) form.refuse(problem.message)
      else note.replaceChildren(...visible(problem.message + first))
      disable(["approval_answered", "approval_expired"].includes(problem.code))
    }
  }

  if (!approval.destructive) takesStanding(approval).then((takes) => (every.hidden = !takes))
  const title = el("h3", {}, "May the agent call ", el("code", {}, visible(approval.tool)), "?")
  const limit = approval.expires_at ? el("p", { class: "note" }, `Expires ${until(approval.expires_at)}, then counts as refused.`) : null
  const warning = approval.destructive ? el("p", { class: "note" }, "This call cannot be taken back.") : null
  const actions = el("div", { class: "actions" }, ...(approval.destructive ? [refuse, approve] : [approve, refuse]), edit, reason)
  const card = el("section", { class: "card ask" }, title, asked, warning, actions, every, limit, note)
  return card
}

/** Return whether the approval's agent keeps approvals of later calls, as its thread says: the agent of a background
 * task is not listed. One that cannot be asked does not. */
function takesStanding({ agent, thread_id: thread }) {
  if (!standing.has(agent)) standing.set(agent, read(paths.thread(agent, thread, "/approvals/standing")).then(({ takes_more: takes }) => takes, () => standing.delete(agent) && false))
  return standing.get(agent)
}

function questionCard(approval, answer) {
  const isCall = approval.kind === "client_tool"
  const form = new Form(approval.answer_schema ?? {}, isCall ? "Result" : "Answer", send)
  const note = el("p", { class: "note", role: "status" })
  const sending = button(isCall ? "Send the result" : "Answer", send, "primary")

  async function send() {
    const written = sending.disabled ? null : form.read()
    if (!written) return
    sending.disabled = true
    try {
      await answer(approval, written)
      card.remove()
    } catch (problem) {
      sending.disabled = ["approval_answered", "approval_expired"].includes(problem.code)
      if (problem.code === "invalid_input") form.refuse(problem.message)
      else note.replaceChildren(...visible(problem.message))
    }
  }

  const then = "default" in approval ? `, then the answer is ${JSON.stringify(approval.default)}` : ""
  const limit = approval.expires_at ? el("p", { class: "note" }, visible(`Expires ${until(approval.expires_at)}${then}.`)) : null
  const title = el("h3", {}, el("code", {}, visible(approval.tool)), isCall ? " is called by the agent and run by its caller" : " asks")
  const words = approval.question ? el("p", { class: "question" }, visible(approval.question)) : null
  const rest = approval.question === approval.arguments ? null : valueNode(words || isCall ? "Arguments" : "Question", approval.arguments)
  const card = el("section", { class: "card ask" }, title, words, rest, form.element, el("div", { class: "actions" }, sending), limit, note)
  return card
}

/** Return the card of a sign-in: the link shows where it leads, and is followed by a person alone. */
function signInCard(approval, answer) {
  const { service, url, scopes } = approval.authorization
  const [, host] = /^https?:\/\/([^/?#]+)/.exec(url) ?? []
  const note = el("p", { class: "note", role: "status" })
  const done = button("I have signed in", () => say(true), "primary")
  const refuse = button("Refuse", () => say(false))

  async function say(approved) {
    if (done.disabled) return
    done.disabled = refuse.disabled = true
    try {
      await answer(approval, { approved })
      card.remove()
    } catch (problem) {
      done.disabled = refuse.disabled = ["approval_answered", "approval_expired"].includes(problem.code)
      note.replaceChildren(...visible(problem.message))
    }
  }

  const title = el("h3", {}, el("code", {}, visible(approval.tool)), " needs you to sign in to ", visible(service))
  const link = host ? el("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, visible(`Sign in at ${host}`)) : visible(url)
  const wanted = scopes.length ? el("p", {}, "It asks for: ", scopes.flatMap((scope, number) => [number ? ", " : "", el("code", {}, visible(scope))])) : null
  const limit = approval.expires_at ? el("p", { class: "note" }, `Expires ${until(approval.expires_at)}, then counts as refused.`) : null
  const card = el("section", { class: "card ask" }, title, wanted, el("p", {}, link), el("div", { class: "actions" }, done, refuse), limit, note)
  return card
}

/** Return the earlier decision, its person if known, and its time. */
async function whoWasFirst({ agent, thread_id: thread, run_id: run, id }) {
  const { steps } = await read(paths.runs(agent, thread, run, "/timeline")).catch(() => ({ steps: [] }))
  const first = steps.find((step) => step.kind === "approval_answered" && step.id === id)
  return first ? ` It was ${saidOf(first)} ${until(first.at)}${first.reason ? `: ${first.reason}` : ""}.` : ""
}
