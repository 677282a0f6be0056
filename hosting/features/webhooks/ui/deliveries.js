// Deliveries of the ends of runs to receivers: of a run, of a thread, or the undelivered ones of all threads.

import { paths, read, send } from "./api.js"
import { Cards, nothing, time } from "./cards.js"
import { button, byId, el, lead } from "./dom.js"
import { OWN, hrefOf } from "./threads.js"

const MOST = 200
const AFTER_MS = 2000
const POLL_MS = 10_000
const QUIET_MS = 60_000
const STATES = { waiting: "Waiting for the next try", delivered: "Delivered", dead: "Given up" }
const RECEIVERS = { agent: "the agent's webhook", request: "the request's webhook" }
const PROBLEMS = {
  timeout: "no answer in time",
  name_not_found: "its name does not resolve",
  tls_failed: "its certificate is not trusted",
  not_reached: "no connection",
  inside_network: "inside the network, so nothing was sent",
  not_allowed: "not allowed, so nothing was sent",
}

/** The deliveries, the newest first: of `runId`, else of the thread, else those of all threads that were not taken. */
export class Deliveries extends Cards {
  /** `administers`: the user may send them again, and sees those of all threads. */
  constructor(agent, threadId, failed, administers, runId = "") {
    super(agent, threadId, failed)
    this.administers = administers
    this.runId = runId
    this.asked = new Map()
    this.more = el("p", { class: "note", hidden: true }, `There are more. Only ${MOST} are shown.`)
    this.element.append(this.more)
    if (threadId && administers && !runId) this.element.prepend(el("p", {}, el("a", { href: hrefOf(agent, "", "webhooks") }, "Undelivered notifications of all threads")))
  }

  /** Return the deliveries; null if the user may not see them. */
  async _read() {
    if (!this.threadId && !this.administers) return null
    const query = { limit: MOST, ...(this.runId && { run_id: this.runId }) }
    const { deliveries, next_cursor: more } = await read(paths.webhooks(this.agent, this.threadId, query))
    this.more.hidden = !more
    if (this.runId) this.pollMs = deliveries.length && deliveries.every(({ state }) => state !== "waiting") ? QUIET_MS : POLL_MS
    return deliveries.map((one) => ({ ...one, asked: this.asked.get(keyOf(one)) === one.tries.length })).sort((one, other) => lastOf(other).localeCompare(lastOf(one)))
  }

  _idOf(one) {
    return `delivery-${this.runId && "of-run-"}${keyOf(one)}`
  }

  _card(one) {
    const { owner, thread_id: thread, run_id: run, receiver, host, event, state, tries, next_try_at: next, asked } = one
    const last = tries.at(-1)
    const rows = [
      ["To", [el("code", {}, host), `, ${RECEIVERS[receiver] ?? "a receiver of the task"}`]],
      !this.threadId && ["Thread", owner === OWN ? el("a", { href: hrefOf(this.agent, thread) }, thread) : thread],
      !this.threadId && owner !== OWN && ["Owner", owner],
      !this.runId && ["Run", el("code", {}, run)],
      last && ["Tries", [`${tries.length}, the last `, time(last.at), `: ${last.status ?? PROBLEMS[last.problem] ?? last.problem}`]],
      ["Next try", next ? time(next) : "none"],
    ].filter(Boolean)
    const list = el("dl", { class: "receipt" }, rows.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]))
    const again = this.administers ? button(state === "waiting" ? "Send now" : "Send again", () => this._again(one)) : null
    const says = el("p", { class: "note", role: "status" }, asked ? "It is being sent." : "")
    const head = el("h2", { class: state }, STATES[state] ?? state, ": ", el("code", {}, event))
    return el("section", { class: "card delivery" }, head, list, el("div", { class: "actions" }, again, says))
  }

  async _again(one) {
    const { owner, thread_id: thread, run_id: run, receiver, tries } = one
    const path = paths.runs(this.agent, thread, run, `/webhooks/${encodeURIComponent(receiver)}?${new URLSearchParams({ owner })}`)
    this.asked.set(keyOf(one), tries.length)
    const isTaken = await this._changed(() => send("POST", path), "Sent again.")
    if (!isTaken) this.asked.delete(keyOf(one))
    lead(byId(this._idOf(one))?.querySelector("button"))
    setTimeout(() => this.isLeft || this._load().catch(this.failed), AFTER_MS)
  }

  _nothing(deliveries) {
    if (this.runId) return el("p", { class: "note" }, "No webhook was sent yet.")
    if (!deliveries) return nothing("Open a thread first", "You then see the notifications of its runs. Only administrators see those of all threads.")
    return this.threadId
      ? nothing("No notifications yet", "Notifications sent when this thread's runs end appear here for 30 days.")
      : nothing("Everything was delivered", "A notification that its receiver does not accept appears here until it is delivered.")
  }
}

const keyOf = ({ thread_id: thread, run_id: run, receiver, owner }) => [owner, thread, run, receiver].join("/")
const lastOf = ({ tries }) => tries.at(-1)?.at ?? ""
