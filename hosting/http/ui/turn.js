// One turn: what somebody asked, what the agent did, what it answered. A turn is shown from events alone, whether they
// come now, come again after a connection was lost, or are told of an entry that is stored.

import { randomKey } from "./api.js"
import { spoken } from "./code.js"
import { copyButton } from "./dialogs.js"
import { announce, button, el, icon, plural, valueNode, visible } from "./dom.js"
import { show } from "./markdown.js"
import { CUT_OFF, progressText, saidOf, timelineButton } from "./timeline.js"
import { clock, inFull, until } from "./times.js"
import { ToolCard } from "./toolcard.js"

const WRITTEN = new Set(["text", "data", "uri"]) // what a person writes or attaches
const TEXT_OF_END = { cancelled: "Stopped", failed: "Failed" }
const FAILED = new Set(["failed", "timed_out"])
const TIMED = { accepted: "request", completed: "response", failed: "response", cancelled: "response" }
const WHY_INCOMPLETE = {
  length: "the model reached its token limit",
  content_filter: "the provider's content filter stopped it",
  broken_off: "the connection to the model ended too early",
  refusal: "the model refused",
  tool_limit: "the agent reached its limit of tool calls",
}

/** The turn of one run. `element` stands in the conversation. */
export class Turn {
  /** The `graph` is that of a workflow. */
  constructor(agent, graph = null) {
    this.agent = agent
    this.graph = graph
    this.runId = ""
    this.isOpen = true
    this.before = [] // the timelines of the runs that it continues, oldest first
    this.characters = [] // of the answer: Unicode code points, as a delta's offset counts them
    this.spoken = 0
    this.steps = new Map()
    this.decided = new Map() // calls of an earlier turn that a person decided, by their ids, and whether they may be made
    this.contents = [] // that the person wrote, to be written again
    this.positions = {} // of its entries, by their types, as far as they were read: where it has no run, they name it
    this.request = el("div", { class: "request", hidden: true })
    this.askedAt = el("span", {})
    this.answeredAt = el("span", {})
    this.regenerate = this._forkButton("Regenerate", "Send this message again, in a new thread", "request", "send")
    this.regenerate.hidden = true
    this.edit = el("div", { class: "edit" }, this.askedAt)
    this.thinking = [] // its thoughts, where the agent shows them: code points, and where each thought begins among them
    this.begins = new Set()
    this.thoughtList = el("div", {})
    this.thoughts = el("details", { class: "thoughts", hidden: true }, el("summary", {}, "Thoughts"), this.thoughtList)
    this.stepList = el("ol", { class: "steps", hidden: true })
    this.answer = el("div", { class: "markdown" })
    this.sources = [] // that the answer cites, by their marks in it
    this.sourceList = el("ol", { class: "sources", hidden: true })
    this.state = el("p", { class: "state" })
    this.hold = button("Pause", () => this.byHand(this.isPaused ? "/resume" : "/pause"), "quiet small")
    this.hold.hidden = true
    this.foot = el("div", { class: "foot" }, this.state, this.hold, this.answeredAt)
    this.incomplete = el("p", { class: "incomplete", role: "note", hidden: true })
    this.cards = el("div", { class: "cards" })
    this.response = el("div", { class: "response" }, graph?.element, this.thoughts, this.stepList, this.answer, this.sourceList, this.incomplete, this.cards, this.foot)
    this.heading = el("h2", { class: "hidden" }, `A turn of ${agent}`)
    this.element = el("article", { class: "turn" }, this.heading, this.request, this.edit, this.response)
    this.response.hidden = true
    if (graph) graph.element.hidden = true
  }

  /** Show what was asked: texts, and pictures and files by their names. Only what is known whole can be edited: of a
   * large picture the page reads no more than that it was there. */
  ask(contents, isWhole = true) {
    if (this.before.length) return // the answers stand with their questions
    for (const { content } of contents)
      if (content?.function_call) this.decided.set(content.function_call.call_id, { ...content.function_call, approved: content.approved })
    this.contents = contents.filter((content) => WRITTEN.has(content.$type) && !content.attachment)
    this.isWhole = isWhole && this.contents.length === contents.length
    const parts = contents.map((content) => (this.graph && shownInput(content)) || shownContent(content)).filter(Boolean)
    this.request.replaceChildren(...parts)
    this.request.hidden = !parts.length
    if (!this.isWhole || !parts.length) return
    this.edit.replaceChildren(this.askedAt, this._forkButton("Edit", "Edit this message in a new thread", "request", "edit"))
    this.regenerate.hidden = false
  }

  /** Say that no run made this: a person put it in. */
  putIn({ id, by }) {
    this.put = id
    this.heading.className = "note"
    this.heading.replaceChildren("Put in", ...(by ? [" by ", ...visible(by.name || by.id)] : []), ", without a run")
  }

  /** Say when the message came, or its answer. `type` is that of its entry. */
  timed(type, at) {
    const place = type === "request" ? this.askedAt : this.answeredAt
    place.replaceChildren(el("time", { dateTime: at, title: inFull(at) }, clock(at)))
  }

  /** Wait for the first event. */
  wait(text = "Sending") {
    this.response.hidden = false
    this._say(text, "busy")
  }

  /** The connection was lost. It is being made again. */
  lost() {
    this.isLost = true
    clearTimeout(this.takeover)
    this._say("Connection lost. Reconnecting", "busy")
  }

  /** The connection is there again, and nothing of the run came yet. A run that has a process is taken over in so many
   * seconds if that was lost; where still nothing came by then, it is at work. */
  reconnected(seconds) {
    if (!this.isLost) return
    if (!seconds) return this._say("Waiting for its turn", "busy")
    this._say(`Reconnected. If the process of this run was lost, another one continues it within ${Math.ceil(seconds)} s`, "busy")
    this.takeover = setTimeout(() => this._isBack(), 1000 * seconds)
  }

  /** Let go of what was said of the connection: the run gave a sign of life. */
  _isBack() {
    if (!this.isLost) return
    this.isLost = false
    this._say("Thinking", "busy")
  }

  /** Show one event of the run. One that `isOld` was recorded before the connection was made again: it is no sign of
   * life, unless another process had begun. */
  apply(event, data, isOld = false) {
    this.response.hidden = false
    if (!isOld || event === "restarted") this._isBack()
    const { textContent: said } = this.state
    if (data.run_id) this.runId = data.run_id
    if (data.at && event in TIMED) this.timed(TIMED[event], data.at)
    this._offerTimeline()
    if (event === "started" && this.graph) this.graph.element.hidden = false
    this.graph?.apply(event, data)
    this[`_on_${event}`]?.(data)
    this.isThinking = event === "reasoning"
    if (this.isLost) this._say(said, "busy")
  }

  /** Continue the runs of these timelines, whose questions were answered: with one graph, and each answer with its
   * question. */
  resume(before) {
    this.before = before
    const answered = before.at(-1).steps.filter((step) => step.kind === "approval_answered")
    this.request.replaceChildren(...answered.map(answeredNode))
    this.request.hidden = false
    this.request.classList.add("answered")
    this.edit.replaceChildren()
    this.graph.element.hidden = Boolean(this.isContinued)
    this.graph.recall(before)
  }

  /** Another turn continues this one, and has its graph. */
  handOver() {
    this.isContinued = true
    for (const card of this.cards.querySelectorAll("[data-approval]")) card.remove()
    this.graph.element.hidden = true
  }

  /** Show the executors' work in an ended run of a workflow, from its timeline. */
  async recall() {
    if (this.graph?.element.hidden && !this.isContinued && this.readAgain && !this.isOpen) await this.readAgain()
  }

  /** Whether the stored entries lack steps of this run, which has ended: the tool calls of one without an answer, and
   * what a workflow's run continues. */
  get lacksSteps() {
    return Boolean((this.graph || this.element.dataset.end !== "completed") && !this.isOpen && !this.isRecalled && this.readTimelineOnce)
  }

  /** Show those steps, from its timeline. */
  async recallMissing() {
    if (this.lacksSteps) this._recalled(await this.readTimelineOnce())
  }

  _recalled(told) {
    const { steps } = told
    this.isRecalled = true
    if (this.before.length) this.graph.recall([...this.before, told])
    const ended = steps.find((step) => step.kind === "ended")
    if (FAILED.has(ended?.status) && this.element.dataset.end === "cancelled") this._on_failed({ detail: ended.error, code: ended.code })
    if (this.element.dataset.end === "completed" || this.steps.size) return
    for (const step of steps.filter(({ kind }) => kind === "tool_call")) {
      this._on_tool_call(step)
      if (step.ended_at) this._on_tool_result({ ...step, at: step.ended_at })
    }
  }

  /** Have the timeline at hand as soon as there is a run. `readTimeline`, `deliveriesOf` and `openCall` are set by who made the turn. */
  _offerTimeline() {
    if (!this.runId || !this.readTimeline) return
    this.hold.hidden = false
    this.readTimelineOnce = this.readTimeline
    this.readAgain = async () => {
      const told = await this.readTimelineOnce()
      if (!this.isOpen) this._recalled(told)
      if (this.graph && !this.isOpen) {
        this.graph.element.hidden = Boolean(this.isContinued)
        this.graph.recall([...this.before, told])
      }
      return told
    }
    const [open, panel] = timelineButton(this.readAgain, this.deliveriesOf, this.openCall)
    this.foot.append(open)
    this.response.append(panel)
    this.readTimeline = null
  }

  /** Show a refusal: of the request, or of the run. */
  fail(problem) {
    this._end("failed")
    this.response.hidden = false
    this.state.replaceChildren()
    this.state.hidden = true
    const code = problem.code ? el("code", {}, problem.code) : null
    const again = this.contents.length && this.again ? el("div", {}, button("Reuse message", () => this.again(this.contents), "small")) : null
    this.cards.replaceChildren(el("div", { class: "card bad", role: "alert" }, el("p", {}, problem.message), code, again))
  }

  _on_accepted() {
    this._say("Waiting for its turn", "busy")
  }

  _on_started() {
    this._say("Thinking", "busy")
  }

  _on_restarted({ attempt }) {
    this._cutOff()
    this._say(`Attempt ${attempt}: continuing from the saved steps`, "busy")
  }

  /** Add to the thoughts, which stay folded until a person opens them; one ends where anything else happens. */
  _on_reasoning({ text, offset }) {
    this.thinking.length = Math.min(this.thinking.length, offset)
    this.begins = new Set([...this.begins].filter((begin) => begin < offset))
    if (!this.isThinking) this.begins.add(offset)
    for (const character of text) this.thinking.push(character)
    const begins = [...this.begins]
    const parts = begins.map((begin, at) => el("p", {}, visible(this.thinking.slice(begin, begins[at + 1]).join(""))))
    this.thoughtList.replaceChildren(...parts)
    this.thoughts.hidden = false
    this._say("Thinking", "busy")
  }

  _on_delta({ text, offset }) {
    this.characters.length = Math.min(this.characters.length, offset)
    for (const character of text) this.characters.push(character)
    this._say("Answering", "busy")
    this._draw()
  }

  _on_tool_call({ id, ...call }) {
    const card = new ToolCard(call)
    card.opened = () => this._measure()
    if (this.steps.has(id)) this.steps.get(id).element.replaceWith(card.element)
    else this.stepList.append(card.element)
    this.steps.set(id, card)
    this.stepList.hidden = false
  }

  _on_tool_result({ id, tool, ...outcome }) {
    const decided = this.decided.get(id) ?? [...this.decided.values()].find((call) => call.name === tool)
    if (!this.steps.has(id)) this._on_tool_call({ id, tool: decided?.name ?? tool, arguments: decided?.arguments ?? null })
    this.steps.get(id).end(outcome, decided?.approved === false)
  }

  /** Show that the tools at work were cut off: the run has ended, or the attempt that called them. */
  _cutOff() {
    for (const [id, card] of this.steps)
      if (card.isBusy) this._on_tool_result({ id, tool: "", code: CUT_OFF, error: "The run ended, or its process, while the tool was running. It may have done its work." })
  }

  /** Have each call of an ended run say how long it took: stored entries do not, and a timeline does. */
  async _measure() {
    if (this.isOpen || this.isMeasured || !this.readTimelineOnce) return
    this.isMeasured = true
    const { steps } = await this.readTimelineOnce().catch(() => ({ steps: [] }))
    // A step's id has the model's own id of the call behind a dot, which is all that stored entries have.
    for (const { kind, id, at, ended_at: end } of steps)
      if (kind === "tool_call") (this.steps.get(id) ?? this.steps.get(id.slice(id.indexOf(".") + 1)))?.lasted(at, end)
  }

  _on_completed({ response, usage, cost, incomplete, citations = [], finish_reason: reason, pending_approvals: waiting, asked = waiting?.length }) {
    if (!waiting?.length) this.characters = [...response]
    this.sources = citations
    this.sourceList.replaceChildren(...citations.map((cited) => sourceNode(cited, () => this.openSource(cited, [...this.steps.values()].map(({ result }) => result)))))
    this.sourceList.hidden = !citations.length
    this._draw(true)
    if (incomplete) this._sayIncomplete(reason)
    this._end("completed")
    for (const { id, tool, arguments: given, kind } of waiting ?? []) if (kind === "approve") this._on_tool_call({ id, tool, arguments: given })
    for (const card of this.steps.values()) if (card.isBusy) card.leave(asked ? "asked for approval" : "")
    const tokens = usage?.total_token_count
    this._say([tokens && plural(tokens, "token"), cost && `cost ${cost}`].filter(Boolean).join(" · "), "quiet")
    if (this.characters.length) this.foot.append(copyButton(() => this.characters.join(""), "Copy", "quiet small copy"))
    if (!asked && this.runId && !this.runId.startsWith("entry ")) this.foot.append(...this.rating())
    if (!this.fork || asked) return
    this.element.classList.add("forks")
    this.foot.append(...(this.put ? [] : [this.regenerate]), this._forkButton("Fork", "Continue from here in a new thread", "response"))
  }

  _on_failed(data) {
    this._cutOff()
    this.fail({ message: data.detail, code: data.code })
  }

  _on_cancelled({ code } = {}) {
    this._cutOff()
    this._end("cancelled")
    const kept = code === "run_superseded" ? "the text up to here" : "nothing of this run"
    this._say(`Stopped. The agent remembers ${kept}`, "quiet")
  }

  _on_joined() {
    this._end("joined")
    this._say("Joined the run that was at work, which answers it", "quiet")
  }

  _on_paused({ status }) {
    this._hold(true, status === "paused" ? "Paused" : "Pausing after this step", "quiet")
  }

  _on_resumed() {
    this._hold(false, "Thinking", "busy")
  }

  _hold(is, ...said) {
    this.isPaused = is
    this.hold.textContent = is ? "Resume" : "Pause"
    this._say(...said)
  }

  _on_progress(progress) {
    this._say(progressText(progress), "busy")
  }

  _on_unavailable() {
    this._say("The app cannot reach its store. Reconnecting", "busy")
  }

  /** Return a button for a fork before the request, to "edit" or "send" what was asked there, or after the response: the
   * same fork, however often it is asked for. A run is named by its id: after a reset that somebody else made, other
   * entries stand at its positions. */
  _forkButton(says, title, type, next = "") {
    let body
    const at = () => (this.runId.startsWith("entry ") ? this.positions[type] : this.runId)
    const drawn = () => ({ at: at(), before: type === "request", thread_id: randomKey() })
    const made = button(says, () => this.fork((body ??= drawn()), next && { next, contents: this.contents }), "quiet small of-owner")
    made.title = title
    return made
  }

  /** Say that the answer is no whole one. */
  _sayIncomplete(reason) {
    const text = `This answer is incomplete: ${WHY_INCOMPLETE[reason] ?? `its finish_reason is ${visible(reason)}`}.`
    this.incomplete.textContent = text
    this.incomplete.hidden = false
    if (this.isHeard) announce(text)
  }

  _end(how) {
    this.isOpen = this.isLost = false
    this.hold.hidden = true
    this.element.dataset.end = how
    if (TEXT_OF_END[how]) announce(`${this.agent}: ${TEXT_OF_END[how]}`)
  }

  _say(text, kind) {
    if (this.state.textContent !== text) this.state.replaceChildren(text)
    this.state.className = `state ${kind}`
    this.state.hidden = !text
  }

  /** Draw the answer with the next frame of the screen; several deltas cost one drawing. */
  _draw(isWhole = false) {
    if (isWhole) return this._drawNow(true)
    this.frame ??= requestAnimationFrame(() => this._drawNow(false))
  }

  _drawNow(isWhole) {
    if (this.frame) cancelAnimationFrame(this.frame)
    this.frame = null
    const numbered = (text, { mark }, at) => (mark ? text.replaceAll(mark, `[${at + 1}]`) : text)
    show(this.answer, this.sources.reduce(numbered, this.characters.join("")))
    const end = this.answer.childElementCount - (isWhole ? 0 : 1)
    for (; this.isHeard && this.spoken < end; this.spoken++) announce(spoken(this.answer.children[this.spoken]))
    this.drawn?.()
  }
}

/** Return the node of a source: a passage of a file with its page and heading, which `open()` shows, or a page of the web. */
function sourceNode({ name, url, mark, page, heading }, open) {
  const told = visible([name, page && `page ${page}`, heading, name === url ? "" : url].filter(Boolean).join(", "))
  return el("li", {}, mark ? el("button", { type: "button", class: "link", on: { click: open } }, told) : told)
}

/** Return the citations that a stored text has. */
const citationsOf = ({ agentFramework: kept }) =>
  (kept?.annotations ?? [])
    .filter(({ type, title, url }) => type === "citation" && (title || url))
    .map(({ title, url, file_id, additional_properties: place }) => ({ ...place, name: title || url, url, file_id }))

/** Return the node for the input of a workflow that takes an object; null for another content. */
function shownInput({ $type: type, text }) {
  if (type !== "text" || text[0] !== "{") return null
  try {
    return valueNode("Input", JSON.parse(text))
  } catch {
    return null
  }
}

/** Return the node for one content of a stored message; null for hidden ones. */
function shownContent(content) {
  if (content.$type === "text") return el("p", {}, content.text)
  if (content.content?.type === "function_approval_response") return shownDecision(content.content)
  if (content.$type !== "data" && content.$type !== "uri") return null
  const name = content.name ?? content.mediaType ?? "A file"
  if (/^data:image\/(png|jpeg|gif|webp);/.test(content.uri ?? "")) return el("img", { src: content.uri, alt: name })
  return el("p", { class: "file" }, icon("attach"), name)
}

/** Return a workflow's question with its answer, or a decision on a call; with who gave it if known, and when. */
function answeredNode(step) {
  const said = saidOf(step)
  const when = el("p", { class: "note" }, visible(`${said[0].toUpperCase()}${said.slice(1)} `), el("time", { dateTime: step.at, title: inFull(step.at) }, until(step.at)), step.reason ? visible(`: ${step.reason}`) : "")
  const asked = el("h3", {}, el("code", {}, visible(step.tool)), step.value === undefined ? "" : " asked")
  return el("div", { class: "card" }, asked, valueNode(step.value === undefined ? "Arguments" : "Question", step.arguments), step.value === undefined ? "" : valueNode("Answer", step.value), when)
}

function shownDecision({ approved, function_call: call, additional_properties: more }) {
  const reason = more?.reason ? `: ${more.reason}` : ""
  return el("p", { class: "decision" }, icon(approved ? "approve" : "close"), visible(`${approved ? "Approved" : "Refused"} ${call.name}${reason}`))
}

/** Return a person's decision as the conversation stores it. */
export function decisionContent({ tool, arguments: given }, { approved, reason }) {
  const call = { name: tool, arguments: given }
  return { content: { type: "function_approval_response", approved, function_call: call, additional_properties: { reason } } }
}

/** Return a stored tool result as its event; that of a call that was cut off has a mark in what the framework kept. */
function storedResult({ callId: id, result, agentFramework: kept }) {
  const isCutOff = kept?.items?.some((item) => item.additional_properties?.interrupted)
  return { id, tool: "", [isCutOff || kept?.exception ? "error" : "result"]: result, ...(isCutOff && { code: CUT_OFF }) }
}

/** Return the events that a stored response tells again. */
export function* storedEvents(entry) {
  const texts = []
  const citations = []
  let asked = false
  let thought = 0
  for (const { role, contents } of entry.messages ?? [])
    for (const content of contents) {
      const id = content.callId
      if (content.$type === "functionCall") yield ["tool_call", { id, tool: content.name, arguments: content.arguments }]
      else if (content.$type === "reasoning") {
        yield ["reasoning", { text: content.text, offset: thought }]
        thought += [...content.text].length
      } else if (content.$type === "functionResult")
        yield ["tool_result", storedResult(content)]
      else if (content.content?.type === "function_approval_request") asked = true
      else if (content.$type === "text" && role === "assistant") {
        texts.push(content.text)
        citations.push(...citationsOf(content))
      }
      else if (content.$type === "error") {
        const end = entry.status === "cancelled" ? "cancelled" : "failed"
        return yield [end, { detail: content.message, code: content.errorCode }]
      }
    }
  if (entry.status === "interrupted") {
    yield ["delta", { text: texts.join("\n\n"), offset: 0, run_id: entry.run_id }]
    return yield ["cancelled", { code: "run_superseded" }]
  }
  const usage = { total_token_count: entry.usage?.totalTokenCount }
  const { run_id, finish_reason, incomplete } = entry
  yield ["completed", { response: texts.join("\n\n"), usage, run_id, finish_reason, incomplete, citations, asked }]
}
