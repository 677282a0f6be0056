// The steps of a run: when each began, how long it took, and its usage.

import { shared } from "./api.js"
import { el, icon, plural, valueNode, visible } from "./dom.js"
import { hrefOf } from "./threads.js"
import { inFull, length } from "./times.js"

const POLL_MS = 1000
export const OPEN = new Set(["accepted", "running", "pausing", "paused", "cancelling"])
const ICONS = { accepted: "inbox", message_joined: "inbox", attempt: "reset", model_call: "model", tool_call: "tool", tool_step: "tool", executor: "model", voided: "close", pause: "clock", paused: "clock", cancel_requested: "stop", ended: "approve" }
export const CUT_OFF = "cut_off" // the code of a call whose attempt ended while the tool was running
const LEFT = { lost: "its process was lost", released: "handed over" }
const ENDS = { success: "Answered", failed: "Failed", timed_out: "Out of time", cancelled: "Stopped", joined: "Joined the run that was at work" }

/** Return the button and the panel of a run's timeline; `read()` reads it from the app.
 *
 * `deliveriesOf(run)` shows the notifications of its end, and `openCall(step, steps)` what a model call was sent. */
export function timelineButton(read, deliveriesOf, openCall) {
  let deliveries = null
  const rows = new Rows(openCall)
  const panel = el("div", { class: "timeline", hidden: true, role: "region", "aria-label": "Timeline of the run" })
  const open = el("button", { type: "button", class: "button quiet small", "aria-expanded": "false", on: { click: toggle } }, icon("clock"), "Timeline")

  async function toggle() {
    panel.hidden = !panel.hidden
    open.setAttribute("aria-expanded", String(!panel.hidden))
    deliveries?.leave()
    deliveries?.element.remove()
    while (!panel.hidden && panel.isConnected) {
      try {
        const told = await read()
        draw(told)
        if (!OPEN.has(told.status)) return told.notifies && !panel.hidden && notified(told.run_id)
      } catch (problem) {
        if (problem.name !== "AbortError") panel.replaceChildren(el("p", { class: "note" }, problem.message))
        return
      }
      await new Promise((wait) => setTimeout(wait, POLL_MS))
    }
  }

  function draw(told) {
    const says = rows.draw(told)
    if (told.begun_by) says.append(" · begun by ", threadLink(told.begun_by, told.begun_by.agent))
    if (rows.list.parentNode === panel) panel.firstChild.replaceWith(says)
    else panel.replaceChildren(says, rows.list)
  }

  function notified(run) {
    deliveries = deliveriesOf(run)
    panel.append(deliveries.element)
    deliveries.open()
  }
  return [open, panel]
}

/** Return how far a run is. */
export const progressText = ({ share, text }) => `${text || "Working"} (${Math.round(100 * share)} %)`

/** Return the decision on a call, with its person if known. */
export const saidOf = ({ approved, by, value, default: isDefault }) => `${value !== undefined ? "answered" : approved ? "approved" : "refused"}${by ? ` by ${by.name || by.id}` : ""}${isDefault ? " by its default" : ""}`

/** The rows of a run's steps. Those that did not change stay when they are drawn again, as a person opened them. */
class Rows {
  constructor(openCall) {
    this.openCall = openCall
    this.list = el("ol")
    this.drawn = []
  }

  /** Draw the steps, and return the line above them. */
  draw(told) {
    const { says, steps, from, to, stopped } = summed(told)
    const before = this.drawn
    this.drawn = steps.map((step, at) => {
      const isBad = step.code ? step.code !== stopped : step.error
      const same = JSON.stringify([step, isBad])
      if (before[at]?.same === same) return before[at]
      const row = rowNode(step, isBad, step.kind === "model_call" ? () => this.openCall(step, steps) : null)
      if (before[at]?.row.firstChild.open) row.firstChild.open = true
      return { same, step, row }
    })
    const rows = new Set(this.drawn.map(({ row }) => row))
    for (const row of [...this.list.children]) if (!rows.has(row)) row.remove()
    this.drawn.forEach(({ step, row }, at) => {
      place(row, step, from, to)
      if (this.list.children[at] !== row) this.list.insertBefore(row, this.list.children[at] ?? null)
    })
    return says
  }
}

function summed({ created_at: begun, ended_at: ended, steps, usage, cost, status, progress }) {
  const from = Date.parse(begun)
  const to = Math.max(from + 1, ended ? Date.parse(ended) : Date.now())
  const attempts = steps.filter((step) => step.kind === "attempt").length
  const tokens = usage.total_token_count
  const facts = [
    inFull(begun),
    length(to - from),
    plural(attempts, "attempt"),
    tokens && plural(tokens, "token"),
    cost && `cost ${cost}`,
    OPEN.has(status) && (status.startsWith("paus") ? status : "running"),
    progress && progressText(progress),
  ]
  const stopped = steps.find((step) => step.kind === "ended" && step.status === "cancelled")?.code
  return { says: el("p", { class: "note" }, facts.filter(Boolean).join(" · ")), steps: withPauses(withSums(steps)), from, to, stopped }
}

/** Add the usage of each attempt's steps to the attempt: the app's own number has the dropped answers only. */
function withSums(steps) {
  let attempt = null
  return steps.map((step) => {
    if (step.kind === "attempt") return (attempt = { ...step, usage: { ...step.usage } })
    for (const [name, count] of Object.entries((attempt && step.usage) ?? {})) attempt.usage[name] = (attempt.usage[name] ?? 0) + count
    if (attempt && step.cost) attempt.cost = Number((Number(attempt.cost ?? 0) + Number(step.cost)).toPrecision(12))
    return step
  })
}

/** Add the waits between attempts if they are long enough to be seen. */
function withPauses(steps) {
  const shown = []
  let free = steps[0]?.at
  for (const step of steps) {
    if (step.kind === "attempt" && free && Date.parse(step.at) - Date.parse(free) >= 5)
      shown.push({ kind: "pause", at: free, ended_at: step.at, text: step.attempt === 1 ? "Waits for its turn" : "Waits for a process" })
    if (step.kind === "attempt") free = step.ended_at
    if (step.kind === "paused") free = null // that wait has its own row
    shown.push(step)
  }
  return shown
}

/** Draw when a step was, and how long it took, in the run's time. */
function place(row, step, from, to) {
  const at = Date.parse(step.at)
  const until = step.ended_at ? Date.parse(step.ended_at) : to
  const { style } = row.querySelector(".bar")
  style.left = `${Math.min(99, (100 * (at - from)) / (to - from))}%` // an end is seen too
  style.width = `${(100 * (until - at)) / (to - from)}%`
  row.querySelector("time").textContent = step.ended_at === step.at ? `+${length(at - from)}` : length(until - at)
}

function rowNode(step, isBad, openCall) {
  const head = [
    icon(step.kind === "ended" && step.code ? (isBad ? "close" : "stop") : (ICONS[step.kind] ?? "approve")),
    el("span", { class: "what" }, ...named(step)),
    el("span", { class: "lane", "aria-hidden": "true" }, el("span", { class: "bar" })),
    el("time", { dateTime: step.at, title: inFull(step.at) }),
  ]
  const name = `step-row ${step.kind}${isBad ? " bad" : ""}${step.ended_at ? "" : " busy"}`
  const more = details(step)
  if (!more.length && !openCall) return el("li", { class: name }, el("div", { class: "line" }, head))
  const body = el("div", { class: "step-body" }, more)
  const open = ({ target }) => target.open && openCall && body.childElementCount === more.length && body.append(openCall())
  return el("li", { class: name }, el("details", { on: { toggle: open } }, el("summary", { class: "line" }, head), body))
}

/** Return what is to be noted of a tool call beside its name; "" for none. */
const toolNote = (step) => (step.code === CUT_OFF ? "cut off" : step.code === "asks" ? "asks a person" : step.task ? "begins a task" : "")

function named(step) {
  const tokens = step.usage?.total_token_count
  const used = tokens ? el("span", { class: "note" }, ` ${plural(tokens, "token")}`) : ""
  switch (step.kind) {
    case "accepted":
      return ["Accepted"]
    case "pause":
      return [step.text]
    case "attempt":
      return [`Attempt ${step.attempt}`, step.code ? el("span", { class: "note" }, ` ${LEFT[step.code] ?? step.code}`) : "", used]
    case "model_call":
      return [step.tools.length ? `Model asks for ${step.tools.join(", ")}` : "Model answers", step.incomplete ? el("span", { class: "note" }, ` incomplete: ${step.finish_reason}`) : "", used]
    case "tool_call":
      return [el("code", {}, step.tool), toolNote(step) ? el("span", { class: "note" }, ` ${toolNote(step)}`) : ""]
    case "tool_step":
      return [el("span", { class: "note" }, "Step "), el("code", {}, step.name), toolNote(step) ? el("span", { class: "note" }, ` ${toolNote(step)}`) : ""]
    case "executor":
      return [el("code", {}, step.executor), el("span", { class: "note" }, ` superstep ${step.superstep}${step.error ? ", failed" : step.asked ? ", asks a person" : step.yielded ? ", yields" : ""}`)]
    case "voided":
      return [el("del", {}, step.text)]
    case "message_joined":
      return ["A message joined"]
    case "paused":
      return ["Paused by hand"]
    case "cancel_requested":
      return ["Cancel requested"]
    case "approval_answered":
      return [`${step.value === undefined ? "Call" : "Question"} ${saidOf(step)}${step.edited_arguments ? " with other arguments" : ""}${step.reason ? `: ${step.reason}` : ""}`]
    default:
      return [ENDS[step.status], step.code ? el("span", { class: "note" }, " ", el("code", {}, step.code)) : ""]
  }
}

/** Return the words as a link to another thread; somebody with whom this one is shared has no access there. */
const threadLink = ({ agent, thread_id: thread }, words) => el(shared.grant ? "b" : "a", shared.grant ? {} : { href: hrefOf(agent, thread) }, visible(words))

function details(step) {
  const { input_token_count: taken, output_token_count: given } = step.usage ?? {}
  if (step.kind === "tool_call")
    return [step.task ? el("p", {}, "Task of ", threadLink(step.task, step.task.agent)) : "", valueNode("Arguments", step.arguments), step.error || step.result !== undefined ? valueNode(step.error ? "Error" : "Result", step.error ?? step.result) : ""]
  if (step.kind === "tool_step") return step.error || step.result !== undefined ? [valueNode(step.error ? "Error" : "Result", step.error ?? step.result)] : []
  if (step.edited_arguments) return [valueNode("The model's arguments", step.arguments), valueNode("Changed to", step.edited_arguments)]
  if (step.value !== undefined) return [valueNode("Question", step.arguments), valueNode("Answer", step.value)]
  if (step.kind === "voided") return [el("p", { class: "note" }, "A later attempt replaced this text:"), el("del", {}, step.text)]
  const thoughts = step.reasoning ? [el("p", {}, el("b", {}, "Thoughts: "), visible(step.reasoning))] : []
  if (taken || given) {
    const told = [`${plural(taken ?? 0, "input token")}, ${plural(given ?? 0, "output token")}`, step.model, step.cost && `cost ${step.cost}`]
    return [el("p", { class: "note" }, told.filter(Boolean).join(" · ")), ...thoughts]
  }
  if (step.kind === "message_joined") return [el("p", {}, step.text)]
  if (step.kind === "ended" && step.error) return [el("p", {}, step.error)]
  return thoughts
}
