// Queued, running and stuck runs of all agents and owners, for administrators; stuck ones are retried here.

import { paths, read, send } from "./api.js"
import { Cards, time } from "./cards.js"
import { button, el, plural } from "./dom.js"
import { money, short } from "./figures.js"
import { OWN, hrefOf } from "./threads.js"
import { inFull } from "./times.js"

const POLL_MS = 30_000 // each look has the engine go through its list of what changed
const WATCH_MS = 30_000 // who works on a run shows a sign of life within it
const AFTER_MS = 3000
const SPANS = [[1, "hour"], [24, "day"], [720, "30 days"]]
const HINTS = {
  Running: "Runs that a process works on",
  Queued: "Runs that no process has claimed yet",
  Oldest: "When the oldest queued run was requested",
  Stuck: "Runs and deletions without progress, listed below",
  Attempts: "Attempts of the queued and running runs",
  "Taken over": "Attempts that followed a lost process",
  "Store calls": "By the process that answered, since it started",
  "Ended today": "Runs that ended on this day in UTC, however they ended",
  Tokens: "Of the runs that ended today",
  "Tokens today": "Of the runs that ended today",
  Cost: "Of the runs that ended today",
  "Cost today": "Of the runs that ended today",
  "Stopped today": "Runs that were cancelled, among those that ended",
  "Failed today": "Runs without an answer, by their codes",
}
const STUCK = {
  not_taken_up: "Not started",
  out_of_time: "Past its time limit",
  silent: "No sign of life",
  deleting: "Deletion stopped",
}

/** The agents with their numbers, and a card for each thread that goes on no more. */
export class Operations extends Cards {
  constructor(failed) {
    super("", "", failed)
    this.pollMs = POLL_MS
    this.watched = new Map()
    this.asked = new Map()
    this.span = el("select", { id: "span", on: { change: () => this._look() } }, SPANS.map(([hours, says]) => el("option", { value: hours }, says)))
    this.seen = el("p", { class: "note" })
    this.facts = el("dl", { class: "facts" })
    this.table = el("div", { class: "table", tabIndex: 0, role: "region", "aria-label": "All agents" })
    const chosen = el("div", { class: "row chosen" }, el("label", { for: "span" }, "Threads changed in the last"), this.span, button("Refresh", () => this._look()))
    this.element.classList.add("operations")
    this.element.prepend(chosen, this.facts, this.table, this.seen, el("h2", {}, "Stuck"))
  }

  async _read() {
    const page = await read(paths.operations(this.span.value))
    if (this.isLeft) return []
    this._show(page)
    const stuck = page.stuck.map((one) => ({ ...one, isSure: this._isSure(one), asked: this.asked.get(keyOf(one)) }))
    for (const known of [this.watched, this.asked])
      for (const key of known.keys()) if (!stuck.some((one) => keyOf(one) === key)) known.delete(key)
    return stuck
  }

  _look() {
    return this._load().catch(this.failed)
  }

  /** Whether it is surely stuck. A silent one is watched for a while first: its steps may be long. */
  _isSure(one) {
    const key = keyOf(one)
    if (!this.watched.has(key)) this.watched.set(key, Date.now())
    return one.code !== "silent" || Date.now() - this.watched.get(key) >= WATCH_MS
  }

  _show({ agents, as_of: at, looked_at: count, complete, stuck, store_calls_here: calls }) {
    const sum = (of) => agents.reduce((all, agent) => all + of(agent), 0)
    const queued = sum((one) => one.queued)
    const oldest = agents.map((one) => one.oldest_queued_at).filter(Boolean).sort()[0]
    const failed = sum(({ today }) => failuresOf(today))
    const stopped = sum(({ today }) => today.cancelled)
    const cost = sum(({ today }) => Number(today.cost ?? 0))
    const facts = [
      ["Running", sum((one) => one.running)],
      ["Queued", [queued, oldest && [" ", el("small", {}, "oldest ", time(oldest))]]],
      ["Stuck", stuck.length, stuck.length && "bad"],
      ["Ended today", sum(({ today }) => today.runs)],
      ["Failed today", failed, failed && "bad"],
      ["Stopped today", stopped],
      ["Tokens today", short(sum(({ today }) => tokensOf(today)))],
      ...(cost ? [["Cost today", money(cost)]] : []),
    ]
    this.facts.replaceChildren(...facts.map(([name, value, kind]) => el("div", {}, el("dt", { title: HINTS[name] }, name), el("dd", { class: kind || null }, shown(value)))))
    this.table.replaceChildren(tableOf(agents, Boolean(cost)))
    const missing = complete ? "" : " There are more: the numbers count only the threads that changed last."
    const called = `Store calls of the process that answered: ${plural(calls.read, "read")}, ${plural(calls.append, "append")}, ${calls.failed.toLocaleString()} failed.`
    this.seen.textContent = `${plural(count, "thread")}, as of ${inFull(at)}.${missing} Today is the day in UTC. ${called}`
  }

  _idOf(one) {
    return `stuck-${keyOf(one)}`
  }

  _card(one) {
    const { agent, owner, thread_id: thread, run_id: run, code, reason, since, isSure, asked } = one
    const rows = [
      ["Agent", agent],
      ["Thread", owner === OWN ? el("a", { href: hrefOf(agent, thread) }, thread) : thread],
      ...(owner === OWN ? [] : [["Owner", owner]]),
      ...(run ? [["Run", el("code", {}, run)]] : []),
      ["Since", time(since)],
    ]
    const says = asked ? `Retried: ${asked}.` : isSure ? "" : "Waiting half a minute for a sign of life."
    const again = isSure ? button(run ? "Retry" : "Delete again", () => this._repair(one)) : null
    const list = el("dl", { class: "receipt" }, rows.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]))
    return el("section", { class: "card" }, el("h3", {}, STUCK[code] ?? code), el("p", {}, reason), list, el("div", { class: "actions" }, again, el("p", { class: "note", role: "status" }, says)))
  }

  /** Have its thread's entity look after it: to read the run does that, and a deletion goes on where it is asked again. */
  async _repair(one) {
    const { agent, kind, owner, thread_id: thread, run_id: run } = one
    const path = paths.thread(agent, thread, `${run ? `/runs/${run}` : ""}?${new URLSearchParams({ owner })}`, kind)
    const request = async () => {
      if (!run && !(await this._isStill(one))) return new Response() // the thread may have begun anew
      const answer = await send(run ? "GET" : "DELETE", path)
      const told = answer.ok && answer.status !== 204 ? await answer.clone().json() : { status: "deleted" }
      if (answer.ok) this.asked.set(keyOf(one), run ? told.status : answer.status === 204 ? "deleted" : "under way")
      return answer
    }
    if (await this._changed(request, "Retried.")) setTimeout(() => this.isLeft || this._look(), AFTER_MS)
  }

  async _isStill(one) {
    const { stuck } = await read(paths.operations(this.span.value))
    return stuck.some((now) => keyOf(now) === keyOf(one))
  }

  _nothing() {
    return el("p", { class: "note" }, "Nothing is stuck. A run that no process takes for a minute appears here, and a run without progress for five.")
  }
}

function tableOf(agents, isPriced) {
  const columns = [
    ["Agent", ({ agent }) => agent],
    ["Queued", (one) => one.queued],
    ["Oldest", ({ oldest_queued_at: at }) => at && time(at)],
    ["Running", (one) => one.running],
    ["Attempts", (one) => one.attempts],
    ["Taken over", (one) => one.taken_over],
    ["Store calls", ({ store_calls_here: { read, append, failed } }) => read + append + failed],
    ["Ended today", ({ today }) => today.runs],
    ["Tokens", ({ today }) => tokensOf(today)],
    ...(isPriced ? [["Cost", ({ today }) => today.cost && money(Number(today.cost))]] : []),
    ["Stopped today", ({ today }) => today.cancelled],
    ["Failed today", ({ today }) => [failuresOf(today), Object.entries(today.failures).map(([code, count]) => el("small", {}, ` ${count.toLocaleString()} ${code}`))]],
  ]
  const cell = (one, [name, of], at) => el(at ? "td" : "th", { role: at ? "cell" : "rowheader", scope: at ? null : "row", "data-name": name }, shown(of(one) ?? "–"))
  const heads = el("tr", { role: "row" }, columns.map(([name]) => el("th", { role: "columnheader", scope: "col", title: HINTS[name] }, name)))
  const rows = agents.map((one) => el("tr", { role: "row" }, columns.map((column, at) => cell(one, column, at))))
  return el("table", { role: "table" }, el("thead", { role: "rowgroup" }, heads), el("tbody", { role: "rowgroup" }, rows)) // said, as a phone lays it out as blocks
}

const shown = (value) => [value].flat(2).map((part) => (typeof part === "number" ? part.toLocaleString() : part))
const failuresOf = ({ failures }) => Object.values(failures).reduce((sum, count) => sum + count, 0)
const tokensOf = ({ usage }) => usage.total_token_count ?? (usage.input_token_count ?? 0) + (usage.output_token_count ?? 0)
const keyOf = ({ agent, owner, thread_id: thread, run_id: run, seen }) => [agent, owner, thread, run, seen].join("/")
