// A tool's call as a card: what was called, how it came out, and how long it took.

import { el, icon, valueNode, visible } from "./dom.js"
import { CUT_OFF } from "./timeline.js"
import { length } from "./times.js"

const TICK_MS = 1000

/** The card of one call. `at` is when it began, if that is known. `opened` is set by who made it. */
export class ToolCard {
  constructor({ tool, arguments: given, at }) {
    this.at = at
    this.outcome = el("span", { class: "outcome" }, "running")
    this.took = el("span", { class: "took" })
    this.body = el("div", { class: "step-body" }, valueNode("Arguments", given))
    const summary = el("summary", {}, icon("tool"), el("b", {}, visible(tool)), el("code", {}, visible(brief(given))), this.outcome, this.took)
    this.details = el("details", { class: "step busy", on: { toggle: () => this.details.open && this.opened?.() } }, summary, this.body)
    this.element = el("li", {}, this.details)
    if (at) this.ticking = setInterval(() => this._tick(), TICK_MS)
  }

  /** Whether the tool is at work, as far as the page knows. */
  get isBusy() {
    return this.details.classList.contains("busy")
  }

  /** Show the result of the call, or its error. */
  end({ result, error, code, at }, isRefused) {
    const isCutOff = code === CUT_OFF
    this.result = result
    this.leave(isCutOff ? "cut off" : error ? "failed" : isRefused ? "refused" : "done")
    this.details.classList.toggle("bad", Boolean(error && !isCutOff))
    this.body.replaceChildren(this.body.firstChild, valueNode(error ? "Error" : "Result", error ?? result))
    this.lasted(this.at, at)
  }

  /** Show the call as one that has no result here. */
  leave(outcome) {
    clearInterval(this.ticking)
    this.details.classList.remove("busy")
    this.outcome.textContent = outcome
    this.took.textContent = ""
  }

  /** Show how long the call took, if both its begin and its end are known. */
  lasted(at, endedAt) {
    if (at && endedAt) this.took.textContent = length(Math.max(1, Date.parse(endedAt) - Date.parse(at)))
  }

  _tick() {
    if (!this.element.isConnected) return clearInterval(this.ticking)
    const ms = Date.now() - Date.parse(this.at)
    if (ms >= TICK_MS) this.took.textContent = ms < 60_000 ? `${Math.floor(ms / 1000)} s` : length(ms)
  }
}

function brief(value) {
  const text = value && typeof value === "object" ? Object.values(value).map((one) => asText(one)).join(", ") : asText(value)
  return text.length > 60 ? `${text.slice(0, 59)}…` : text
}

const asText = (value) => (value === null || value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value))
