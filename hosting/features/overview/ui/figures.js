// Figures of an agent by day, or of a thread by run: latency, tokens and ends, each drawn and as a table.

import { paths, read } from "./api.js"
import { drawing, el, plural } from "./dom.js"
import { inFull, length } from "./times.js"

const DAYS = 30
const RUNS = 100
const FAILED = new Set(["failed", "timed_out"])
const HEIGHT = 170
const EDGE = { top: 10, right: 6, bottom: 22, left: 46 }

/** The figures of one agent's runs by day; with a thread, its newest runs one by one. */
export class Figures {
  constructor(agent, threadId) {
    this.agent = agent
    this.threadId = threadId
    this.element = el("div", { class: "view figures" })
    this.resized = new ResizeObserver(() => this._draw())
    this.charts = []
  }

  async open() {
    const points = this.threadId ? await this._runs() : await this._days()
    this.element.replaceChildren(...(points.length ? this._shown(points) : [nothingYet(this.agent, this.threadId)]))
    this.resized.observe(this.element)
  }

  leave() {
    this.resized.disconnect()
  }

  async _days() {
    const { days } = await read(paths.figures(this.agent, DAYS))
    return days.map(({ day, runs, failures, cancelled, latency_seconds: took, usage, cost, feedback }) => ({
      label: new Date(day).toLocaleDateString(undefined, { month: "short", day: "numeric", timeZone: "UTC" }),
      title: day,
      runs,
      failed: Object.values(failures).reduce((sum, count) => sum + count, 0),
      stopped: cancelled,
      why: Object.entries(failures).map(([code, count]) => `${count} ${code}`).join(", "),
      fast: took.p50,
      slow: took.p95,
      taken: usage.input_token_count ?? 0,
      given: usage.output_token_count ?? 0,
      cost: Number(cost ?? 0),
      rated: feedback?.count ?? 0,
      scores: feedback ? feedback.count * feedback.mean_score : 0,
    }))
  }

  async _runs() {
    const { runs } = await read(`${paths.runs(this.agent, this.threadId)}?limit=${RUNS}`).catch((problem) => {
      if (problem.code === "unknown_thread") return { runs: [] }
      throw problem
    })
    const ended = runs.filter((run) => run.ended_at).reverse()
    return ended.map(({ created_at: begun, ended_at: end, status, code, usage, cost }) => ({
      label: new Date(begun).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" }),
      title: inFull(begun),
      runs: 1,
      failed: FAILED.has(status) ? 1 : 0,
      stopped: status === "cancelled" ? 1 : 0,
      why: code ?? "",
      slow: (Date.parse(end) - Date.parse(begun)) / 1000,
      taken: usage.input_token_count ?? 0,
      given: usage.output_token_count ?? 0,
      cost: Number(cost ?? 0),
    }))
  }

  _shown(points) {
    const sum = (name) => points.reduce((all, point) => all + point[name], 0)
    const runs = sum("runs")
    const slowest = Math.max(...points.map((point) => point.slow))
    const facts = [
      ["Runs", runs.toLocaleString()],
      ["Failed", sum("failed") ? `${sum("failed").toLocaleString()} (${((100 * sum("failed")) / runs).toFixed(1)} %)` : "0"],
      ["Stopped", sum("stopped").toLocaleString()],
      [this.threadId ? "Slowest" : "Slowest day, p95", length(1000 * slowest)],
      ["Tokens", (sum("taken") + sum("given")).toLocaleString()],
      ...(hasCosts(points) ? [["Cost", money(sum("cost"))]] : []),
      ...(sum("rated") ? [["Feedback, mean", `${sum("rated").toLocaleString()}, ${(sum("scores") / sum("rated")).toFixed(2)}`]] : []),
    ]
    const took = [{ name: this.threadId ? "run" : "p95", kind: "curve main", of: (point) => point.slow }]
    if (!this.threadId) took.push({ name: "p50", kind: "curve second", of: (point) => point.fast })
    this.charts = [
      chart("Latency", points, took, (value) => length(1000 * value)),
      chart("Tokens", points, [{ name: "input", kind: "column main", of: (point) => point.taken }, { name: "output", kind: "column second", of: (point) => point.given }], short),
      chart("Runs by how they ended", points, [{ name: "answered", kind: "column main", of: (point) => point.runs - point.failed - point.stopped }, { name: "stopped", kind: "column second", of: (point) => point.stopped }, { name: "failed", kind: "column bad", of: (point) => point.failed }], short),
    ]
    const summary = el("dl", { class: "facts" }, facts.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))))
    return [summary, ...this.charts.map((one) => one.element), table(points, Boolean(this.threadId))]
  }

  _draw() {
    for (const one of this.charts) one.draw()
  }
}

function nothingYet(agent, threadId) {
  return el("section", { class: "empty" }, el("h2", {}, "No runs yet"), el("p", {}, threadId ? "Send a message on this thread first." : `Send ${agent} a message first. A run counts on the day it ends.`))
}

/** Return a chart: `series` are drawn over each other, those of bars upon each other. */
function chart(title, points, series, unit) {
  const stacked = series[0].kind.startsWith("column")
  const tops = points.map((point) => (stacked ? series.reduce((sum, one) => sum + one.of(point), 0) : Math.max(...series.map((one) => one.of(point)))))
  const top = nice(Math.max(...tops, 0))
  const says = `${title}: ${plural(points.length, "point")} from ${points[0].title} to ${points.at(-1).title}, at most ${unit(Math.max(...tops))}.`
  const keys = series.map(({ name, kind }) => el("span", { class: `key ${kind.split(" ")[1]}` }, name))
  const canvas = el("div", { class: "canvas" })
  const element = el("figure", { class: "chart" }, el("figcaption", {}, el("h2", {}, title), el("span", { class: "keys" }, keys)), canvas)
  const draw = () => {
    const width = canvas.clientWidth
    if (width) canvas.replaceChildren(plot({ points, series, unit, top, stacked, says, width }))
  }
  return { element, draw }
}

function plot({ points, series, unit, top, stacked, says, width }) {
  const wide = width - EDGE.left - EDGE.right
  const high = HEIGHT - EDGE.top - EDGE.bottom
  const slot = wide / points.length
  const x = (at) => EDGE.left + slot * (at + 0.5)
  const y = (value) => EDGE.top + high * (1 - value / top)
  const svg = drawing("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, role: "img", "aria-label": says })
  for (const part of [0, 0.5, 1]) {
    svg.append(drawing("line", { class: "grid", x1: EDGE.left, x2: width - EDGE.right, y1: y(part * top), y2: y(part * top) }))
    svg.append(drawing("text", { class: "axis end", x: EDGE.left - 8, y: y(part * top) + 4 }, unit(part * top)))
  }
  const every = Math.ceil(points.length / Math.max(1, Math.floor(wide / 70)))
  const labels = points.map(({ label }, at) => at % every === 0 && label !== points[at - every]?.label && [at, label]).filter(Boolean)
  for (const [at, label] of labels) svg.append(drawing("text", { class: "axis middle", x: x(at), y: HEIGHT - 4 }, label))
  const below = points.map(() => 0)
  for (const { name, kind, of } of series) {
    if (stacked)
      points.forEach((point, at) => {
        const value = of(point)
        if (!value) return
        const bar = { class: kind, x: x(at) - Math.min(18, slot * 0.36), width: Math.min(36, slot * 0.72), y: y(below[at] + value), height: (high * value) / top, rx: 1.5 }
        svg.append(drawing("rect", bar, drawing("title", {}, `${point.title}: ${unit(value)} ${name}${kind.endsWith("bad") && point.why ? ` (${point.why})` : ""}`)))
        below[at] += value
      })
    else {
      svg.append(drawing("polyline", { class: kind, points: points.map((point, at) => `${x(at)},${y(of(point))}`).join(" ") }))
      points.forEach((point, at) => svg.append(drawing("circle", { class: kind, cx: x(at), cy: y(of(point)), r: 3 }, drawing("title", {}, `${point.title}: ${unit(of(point))}, ${name}`))))
    }
  }
  return svg
}

function table(points, isOfRuns) {
  const priced = hasCosts(points)
  const heads = [isOfRuns ? "Run" : "Day", ...(isOfRuns ? [] : ["Runs", "p50"]), isOfRuns ? "Took" : "p95", "Failed", "Stopped", "Input tokens", "Output tokens", ...(priced ? ["Cost"] : [])]
  const cells = (point) => [
    point.title,
    ...(isOfRuns ? [] : [point.runs, length(1000 * point.fast)]),
    length(1000 * point.slow),
    point.failed ? point.why : "",
    point.stopped && isOfRuns ? point.why : point.stopped || "",
    point.taken.toLocaleString(),
    point.given.toLocaleString(),
    ...(priced ? [money(point.cost)] : []),
  ]
  const rows = [...points].reverse().map((point) => el("tr", {}, cells(point).map((text, at) => el(at ? "td" : "th", { scope: at ? null : "row" }, String(text)))))
  return el("details", { class: "as-table" }, el("summary", {}, "As a table"), el("div", { class: "table", tabIndex: 0, role: "region", "aria-label": "Figures as a table" }, el("table", {}, el("thead", {}, el("tr", {}, heads.map((head) => el("th", { scope: "col" }, head)))), el("tbody", {}, rows))))
}

/** Whether any of the runs had a price. */
function hasCosts(points) {
  return points.some((point) => point.cost)
}

/** Return an amount in the unit of the app's own prices, which the page does not know. */
export function money(amount) {
  return amount.toLocaleString(undefined, { maximumSignificantDigits: 6 })
}

/** Return the next number above that an axis may end with. */
function nice(most) {
  if (most <= 0) return 1
  const unit = 10 ** Math.floor(Math.log10(most))
  return [1, 2, 3, 4, 6, 8, 10].find((step) => step * unit >= most) * unit
}

export const short = (value) => new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format(value)
