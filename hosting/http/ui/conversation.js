// The conversation of one thread: the stored entries, the current runs, and the user's next message.
//
// A run is followed wherever it was begun: in this tab, in another one, by another program. So the newest runs are
// asked for now and then, and each that is not known yet is followed from its first event. Leaving the thread ends the
// following, and no run.

import { checked, graphs, paths, randomKey, read, send } from "./api.js"
import { FOCUSABLE, announce, button, byId, dismiss, el, plain, plural } from "./dom.js"
import { eventsAt, untilEnd } from "./events.js"
import { Graph } from "./graph.js"
import { callNode } from "./modelcall.js"
import { OPEN } from "./timeline.js"
import { Turn, decisionContent, storedEvents } from "./turn.js"

const PAGE = 40
const AT_ONCE = 10 // entries are drawn in one go; what somebody types comes in between
const NEWEST_RUNS = 10
const POLL_MS = 2000
const NO_THREAD = "unknown_thread"
const WAITS = "approvals_pending"
const ANSWERED = new Set(["approval_answered", "approval_expired"])
const EVENTS = { Accept: "text/event-stream" }

/** A thread on the screen. `threadId` is empty until the first message of a new one was accepted. */
export class Conversation {
  /** `hooks` are told what happens: `named(id)`, `changed()`, `failed(problem)`, `recovered()`, `drawn()`,
   * `again(contents)`, `forked(id, message)`. `mayReplace()` asks whether what is written and not sent may go.
   * `approvalCard`, `deliveries` and `ratings` make what features show in it, and `source` shows what an answer cites. */
  constructor(agent, threadId, hooks) {
    this.agent = agent
    this.threadId = threadId
    this.begins = "" // the first words of a thread that begins here
    this.hooks = hooks
    this.leaving = new AbortController()
    this.turns = new Map()
    this.sending = new Set() // promises, each kept when it is known which run a message became
    this.waiting = new Map() // what a person is asked here and has not answered, by its id
    this.sight = new IntersectionObserver((changes) => this._recallSeen(changes), { rootMargin: "100% 0px" }) // a screen ahead
    this.continued = new Map() // timelines of runs whose questions were answered: they are not written on
    this.past = new Set() // runs that have ended: a conversation that was reset has nothing of them
    this.first = this.last = 0
    this.isLoaded = false
    this.earlier = button("Earlier messages", () => this._loadEarlier(), "quiet")
    this.earlier.hidden = true
    this.list = el("div", { class: "turns" })
    this.element = el("div", {}, el("div", { class: "earlier" }, this.earlier), this.list)
  }

  /** Whether nothing was said yet. */
  get isEmpty() {
    return !this.list.childElementCount
  }

  /** The current or next run: those behind it wait for its end. */
  get openTurn() {
    return [...this.turns.values()].find((turn) => turn.isOpen && turn.runId && !turn.put)
  }

  /** What is to be answered before the thread takes a message; "" if nothing is. */
  get waitsFor() {
    const asked = [...this.waiting.values()]
    if (!asked.length) return ""
    const word = asked.some((approval) => approval.kind !== "approve") ? "question" : "approval"
    return `Answer the ${asked.length === 1 ? word : plural(asked.length, word)} above first.`
  }

  /** Show the stored entries and the current runs. A new thread begins with its first message. */
  async open() {
    if (!this.threadId) return
    const loading = el("p", { class: "state busy late" }, "Loading")
    this.element.prepend(loading)
    const failure = await this.look().catch((problem) => problem)
    loading.remove()
    this._poll(failure)
  }

  /** Stop looking: the user reads another thread now. */
  leave() {
    this.leaving.abort()
    this.sight.disconnect()
  }

  /** Send a message, and show its turn to the end. Throws the problem of a message that was refused.
   *
   * `busy` is the user's choice for a message during a run; without it the agent's own policy decides. */
  async send(contents, busy) {
    const turn = this._append(this._newTurn())
    turn.known = this._beginSending()
    turn.ask(contents)
    turn.wait()
    const [first, ...others] = contents
    const isText = first?.$type === "text"
    if (!this.threadId && isText) this.begins = first.text
    const body = { stream: true, busy, ...(this.threadId && { thread_id: this.threadId }) }
    if (isText) body.message = first.text
    if (!isText || others.length) body.contents = isText ? others : contents
    // The same key again: if the answer is lost, the message is not sent twice.
    const headers = { ...EVENTS, "Idempotency-Key": randomKey() }
    const begin = () => send("POST", paths.run(this.agent), { body, headers, signal: this.leaving.signal, isCopied: true })
    try {
      await this._follow(turn, (last) => (turn.runId ? this._events(turn.runId)(last) : begin()))
    } catch (problem) {
      if (!turn.runId) {
        turn.known()
        turn.element.remove()
        if (problem.code === WAITS) await this._showApprovals().catch(() => {}) // it was asked since the last look
        throw problem
      }
      turn.fail(problem)
    }
  }

  /** Begin to send what may begin a run: looks wait until what is returned is called, when it is known which run it is. */
  _beginSending() {
    let known
    const sent = new Promise((done) => (known = done)).then(() => this.sending.delete(sent))
    this.sending.add(sent)
    return known
  }

  /** Stop the run that is open. */
  async stop() {
    const turn = this.openTurn
    if (turn) await checked(await send("POST", this._run(turn.runId, "/cancel")))
  }

  /** Make a fork and go there, with a `message` to be edited or sent, if any. `body` is the same each time, so one that
   * was made before its answer was lost is found. */
  async _fork(body, message) {
    if (this.isForking) return
    this.isForking = true
    try {
      if (message.next === "edit" && !(await this.hooks.mayReplace())) return void (this.isForking = false)
      await checked(await send("POST", this._path("/fork"), { body, signal: this.leaving.signal }))
      this.hooks.forked(body.thread_id, message)
    } catch (problem) {
      this.hooks.failed(problem)
      this.isForking = false
    }
  }

  /** Look at once for news, because another tab announced some. */
  async look() {
    if (!this.threadId || this.leaving.signal.aborted) return
    try {
      if (!this.isLoaded) await this._loadNewest()
      await this._lookForRuns()
      await this._showApprovals()
      await [...this.turns.values()].at(-1)?.recall().catch(() => {})
    } catch (problem) {
      if (problem.code !== NO_THREAD) throw problem
    }
  }

  /** Look again and again. A look that fails is told of, and the next one may go well: `failure` is the last one's. */
  async _poll(failure) {
    for (;;) {
      if (this.leaving.signal.aborted) return
      if (failure) this.hooks.failed(failure)
      await new Promise((wait) => setTimeout(wait, POLL_MS))
      if (document.hidden || this.openTurn) continue
      const before = failure
      failure = await this.look().catch((problem) => problem)
      if (before && !failure) this.hooks.recovered()
    }
  }

  async _lookForRuns() {
    const { runs, last_put: put } = await this._read(`/runs?limit=${NEWEST_RUNS}`)
    const fresh = runs.filter((run) => !this.turns.has(run.run_id) && !this.past.has(run.run_id)).reverse()
    const ended = fresh.filter((run) => !OPEN.has(run.status))
    if (ended.length || put !== this.put) await this._loadLater()
    this.put = put
    for (const run of ended) this.past.add(run.run_id)
    for (const run of fresh) if (OPEN.has(run.status) && !this.turns.has(run.run_id)) await this._take(run.run_id)
  }

  /** Follow a run that this tab did not begin. */
  async _take(runId) {
    const turn = this._append(this._newTurn(runId))
    turn.wait("Following")
    const { message } = await read(this._run(runId), { signal: this.leaving.signal })
    if (message) turn.ask([{ $type: "text", text: message }], false)
    if (turn.graph) await this._timeline(turn)
    const ended = this._follow(turn, this._events(runId))
    ended.then(() => this._loadLater(), (problem) => turn.fail(problem)).catch(this.hooks.failed) // what else was asked
  }

  async _follow(turn, open) {
    for await (const { event, data, isOld } of untilEnd(open, () => turn.lost(), () => this._reconnected(turn))) {
      if (this.leaving.signal.aborted) return
      turn.apply(event, data, isOld)
      if (event === "accepted") this._named(turn, data)
      for (const approval of data.pending_approvals ?? []) this._showApproval(turn, approval)
      this.hooks.drawn()
    }
    this.hooks.changed()
  }

  /** Say when a silent run goes on, now that its app is back: until then nobody knows whether its process is. */
  async _reconnected(turn) {
    if (!turn.runId) return
    const { status, takeover_seconds: seconds } = await read(this._run(turn.runId), { signal: this.leaving.signal }).catch(() => ({}))
    if (status) turn.reconnected(status === "accepted" ? 0 : seconds)
  }

  _named(turn, { run_id: runId, thread_id: threadId }) {
    this.turns.set(runId, turn)
    turn.known?.()
    if (!this.threadId) {
      this.threadId = threadId
      this.hooks.named(threadId)
      this._poll()
    }
    this.hooks.changed()
  }

  async _showApprovals() {
    const { approvals } = await this._read("/approvals")
    const { size } = this.waiting
    for (const [id, approval] of this.waiting) if (!approvals.some((other) => other.id === id)) this._answeredElsewhere(approval)
    for (const approval of approvals) {
      const turn = this.turns.get(approval.run_id)
      if (turn) this._showApproval(turn, approval)
    }
    if (this.waiting.size !== size) this.hooks.drawn()
  }

  /** Take away the card of what somebody answered in another place, or what expired. */
  _answeredElsewhere({ id, run_id: run, tool }) {
    this.waiting.delete(id)
    this.hooks.drawn() // which opens the box before it may have the focus
    const card = this.list.querySelector(cardOf(id))
    if (!card) return
    dismiss(card, [...this.list.querySelectorAll(".card.ask")].find((other) => other !== card)?.querySelector(FOCUSABLE) ?? byId("message"))
    announce(`${plain(tool)} no longer waits for an answer.`)
    const isAsked = [...this.waiting.values()].some((other) => other.run_id === run && other.tool === tool)
    if (!isAsked) this.turns.get(run)?.graph?.waits(tool, false)
  }

  _showApproval(turn, approval) {
    this.waiting.set(approval.id, approval)
    if (turn.cards.querySelector(cardOf(approval.id))) return
    const card = this.hooks.approvalCard({ ...approval, agent: this.agent, thread_id: this.threadId }, (...given) => this._answer(...given))
    card.dataset.approval = approval.id
    turn.cards.append(card)
    turn.graph?.waits(approval.tool)
  }

  async _answer(approval, decision) {
    const path = this._path(`/approvals/${encodeURIComponent(approval.id)}`)
    const known = this._beginSending()
    try {
      const response = await checked(await send("POST", path, { body: decision, headers: EVENTS }))
      this.turns.get(approval.run_id)?.graph?.waits(approval.tool, false)
      this._answered(approval)
      this.hooks.changed()
      if (response.headers.get("content-type")?.startsWith("text/event-stream")) await this._goOn(response, approval, decision)
    } catch (problem) {
      if (ANSWERED.has(problem.code)) this._answered(approval)
      throw problem
    } finally {
      known()
    }
  }

  _answered({ id }) {
    this.waiting.delete(id)
    this.hooks.drawn()
  }

  /** Show the run that continues after a decision, from the `response` that streams it. */
  async _goOn(response, approval, decision) {
    const turn = this._append(this._newTurn(response.headers.get("x-ms-run-id") ?? ""))
    turn.wait()
    if (turn.graph) await this._resume(turn, approval.run_id).catch(() => {})
    else turn.ask([decisionContent(approval, decision)])
    let begun = response
    const open = (last) => {
      const now = begun ?? this._events(turn.runId)(last)
      begun = null
      return now
    }
    this._follow(turn, open).catch((problem) => turn.fail(problem))
  }

  async _loadNewest() {
    const page = await this._messages({ order: "desc", limit: PAGE })
    await this._show(page.entries.reverse())
    this.earlier.hidden = !page.has_more
    this.isLoaded = true
  }

  async _loadEarlier() {
    this.earlier.disabled = true
    try {
      const page = await this._messages({ order: "desc", limit: PAGE, before: this.first })
      await this._show(page.entries.reverse(), true)
      this.earlier.hidden = !page.has_more
    } catch (problem) {
      this.hooks.failed(problem)
    }
    this.earlier.disabled = false
  }

  async _loadLater() {
    for (;;) {
      const page = await this._messages({ order: "asc", limit: PAGE, after: this.last })
      await this._show(page.entries)
      if (!page.has_more) return
    }
  }

  /** Show entries in their order, before or behind the others; a turn that is there already is left as it is. */
  async _show(entries, isEarlier = false) {
    const made = isEarlier ? document.createDocumentFragment() : this.list
    let turn = null
    for (const [at, entry] of entries.entries()) {
      if (at && at % AT_ONCE === 0) await new Promise((wait) => setTimeout(wait))
      const key = entry.run_id ?? `entry ${entry.position}`
      const known = this.turns.get(key)
      turn = known ?? (entry.type === "response" && turn && !entry.run_id && entry.put?.id === turn.put ? turn : null)
      if (!turn) made.append((turn = this._newTurn(key)).element)
      if (entry.put) turn.putIn(entry.put)
      if (entry.type === "request") {
        if (!turn.isWhole) turn.ask((entry.messages ?? []).flatMap((message) => message.contents))
      } else if (turn.isOpen && !turn.steps.size) {
        turn.wait("")
        for (const [event, data] of storedEvents(entry)) turn.apply(event, data)
      }
      turn.positions[entry.type] = entry.position
      if (entry.created_at) turn.timed(entry.type, entry.created_at)
      this.first = this.first ? Math.min(this.first, entry.position) : entry.position
      this.last = Math.max(this.last, entry.position)
    }
    if (isEarlier) {
      const { scrollHeight } = document.documentElement
      this.list.prepend(made)
      window.scrollBy(0, document.documentElement.scrollHeight - scrollHeight)
    }
    this.hooks.drawn()
    for (const turn of this.turns.values()) if (turn.lacksSteps) this.sight.observe(turn.element)
  }

  /** Show what the stored entries lack of the ended runs that come in sight. */
  async _recallSeen(changes) {
    const seen = new Set(changes.filter((change) => change.isIntersecting).map(({ target }) => target))
    for (const element of seen) this.sight.unobserve(element)
    const turns = [...this.turns.values()].filter((turn) => seen.has(turn.element))
    await Promise.all(turns.map((turn) => turn.recallMissing().catch(() => {})))
    if (turns.length) this.hooks.drawn()
  }

  /** Read a run's timeline. A turn of a workflow that continues others gets what they did, and they lose their graphs. */
  async _timeline(turn) {
    const told = await this._told(turn.runId)
    if (turn.graph && told.continues && !turn.before.length) await this._resume(turn, told.continues).catch(() => {}) // older runs go by their age
    return told
  }

  async _resume(turn, asking) {
    const before = []
    for (let id = asking; id; id = before[0].continues) {
      if (!this.continued.has(id)) this.continued.set(id, await this._told(id))
      before.unshift(this.continued.get(id))
      this.turns.get(id)?.handOver()
    }
    turn.resume(before)
  }

  _told(runId) {
    return read(this._run(runId, "/timeline"), { signal: this.leaving.signal })
  }

  _newTurn(runId = "") {
    const turn = new Turn(this.agent, graphs.has(this.agent) ? new Graph(graphs.get(this.agent)) : null)
    turn.runId = runId
    turn.drawn = () => this.hooks.drawn()
    turn.again = this.hooks.again
    turn.byHand = async (verb) => {
      try {
        await checked(await send("POST", this._run(turn.runId, verb)))
      } catch (problem) {
        this.hooks.failed(problem)
      }
    }
    if (!turn.graph) turn.fork = (...given) => this._fork(...given)
    turn.deliveriesOf = (run) => this.hooks.deliveries(this.threadId, run, this.leaving.signal)
    turn.openCall = (step, steps) => callNode(this.agent, this._run(turn.runId, `/step?${new URLSearchParams({ id: step.id })}`), step, steps)
    turn.openSource = (...cited) => this.hooks.source(this.threadId, ...cited)
    turn.rating = () => this.hooks.ratings(this.threadId, turn.runId)
    if (!runId.startsWith("entry ")) turn.readTimeline = () => this._timeline(turn)
    if (runId) this.turns.set(runId, turn)
    return turn
  }

  _append(turn) {
    turn.isHeard = true
    this.list.append(turn.element)
    this.hooks.drawn(true)
    return turn
  }

  _messages(window) {
    return this._read(`/messages?${new URLSearchParams(window)}`)
  }

  /** Read what there is of the thread; a run of it may be this tab's own, so return once it is known which are. */
  async _read(rest) {
    const found = await read(this._path(rest), { signal: this.leaving.signal })
    await Promise.all(this.sending)
    return found
  }

  _events(runId) {
    return eventsAt(this._run(runId), this.leaving.signal)
  }

  _path(rest) {
    return paths.thread(this.agent, this.threadId, rest)
  }

  _run(runId, rest = "") {
    return paths.runs(this.agent, this.threadId, runId, rest)
  }
}

const cardOf = (id) => `[data-approval="${CSS.escape(id)}"]`
