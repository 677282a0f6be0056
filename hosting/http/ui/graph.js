// The graph of a workflow, drawn by hand: its executors in rows, from the first one on, and what each does in a run.
//
// The drawing is for eyes. Screen readers have the same as a list: each executor, its state, and its next ones.

import { drawing, el } from "./dom.js"

const GAP = { x: 14, y: 34 }
const NODE = { least: 84, most: 176, high: 44 }
const SIDE = 26 // for edges that go back, or past a row
const CHARACTER = 7.6 // how wide one is
const SAYS = { idle: "", running: "running", done: "done", waiting: "waits for a person", failed: "failed", stopped: "stopped" }
const ENDS = new Set(["completed", "failed", "cancelled"])
const CHOSEN = new Set(["conditional", "switch"])

/** A workflow's graph, as `GET workflows` has it. `apply` takes the events of a run, `recall` its timeline. */
export class Graph {
  constructor(shape) {
    this.shape = shape
    this.rows = rowsOf(shape)
    this.states = new Map()
    this.waiting = new Set()
    this.seen = new Set()
    this.canvas = el("div", { class: "canvas", "aria-hidden": "true" })
    this.list = el("ol", { class: "hidden", "aria-label": "Executors of the workflow" })
    this.element = el("figure", { class: "graph" }, this.canvas, this.list)
    this._forget()
    new ResizeObserver(() => this._draw()).observe(this.canvas)
  }

  /** Take one event of the run. */
  apply(event, data) {
    const key = `${event} ${data.executor} ${data.at}` // a connection that is made again brings some once more
    if (data.executor && this.seen.has(key)) return
    this.seen.add(key)
    if (event === "started" || event === "restarted") for (const one of this.states.values()) (one.atWork = 0), (one.failed = false)
    else if (event === "executor_invoked") this._change(data.executor, (one) => one.atWork++)
    else if (event === "executor_completed") this._change(data.executor, (one) => (one.done++, (one.atWork = Math.max(0, one.atWork - 1))))
    else if (event === "executor_failed") this._change(data.executor, (one) => ((one.atWork = 0), (one.failed = true)))
    else if (ENDS.has(event)) for (const one of this.states.values()) (one.isStopped = one.atWork > 0), (one.atWork = 0)
    else return
    this._show()
  }

  /** Apply the run's timeline, after those of the runs that it continues, oldest first. */
  recall(timelines) {
    this._forget()
    for (const { steps, status, ended_at: ended } of timelines)
      for (const step of steps.filter((step) => step.kind === "executor"))
        this._change(step.executor, (one) => {
          if (step.error) one.failed = true
          else if (!step.ended_at) one.atWork++
          else if (status !== "success" && step.ended_at === ended) one.isStopped = true
          else one.done++
        })
    this._show()
  }

  /** Show that an executor waits for a person, or does so no more. */
  waits(id, does = true) {
    if (does) this.waiting.add(id)
    else this.waiting.delete(id)
    this._show()
  }

  _forget() {
    for (const { id } of this.shape.executors) this.states.set(id, { atWork: 0, done: 0, failed: false, isStopped: false })
  }

  _change(id, change) {
    const one = this.states.get(id)
    if (one) change(one)
  }

  _stateOf(id) {
    const { atWork, done, failed, isStopped } = this.states.get(id)
    if (failed) return "failed"
    if (atWork) return "running"
    if (this.waiting.has(id)) return "waiting"
    return isStopped ? "stopped" : done ? "done" : "idle"
  }

  _says(id) {
    const state = this._stateOf(id)
    const { done } = this.states.get(id)
    return state === "done" && done > 1 ? `done ${done} times` : SAYS[state]
  }

  /** Show the executors' states: in the drawing, and in the list. */
  _show() {
    for (const node of this.canvas.querySelectorAll("g.node")) {
      const { id } = node.dataset
      node.setAttribute("class", `node ${this._stateOf(id)}`)
      node.lastChild.textContent = this._says(id)
    }
    const items = this.shape.executors.map(({ id, kind }) => {
      const next = [...new Set(this.shape.edges.filter((edge) => edge.source === id).map((edge) => edge.target))]
      const leads = next.length ? `, leads to ${next.join(", ")}` : ""
      return el("li", { "data-state": this._stateOf(id) }, `${id}${kind === "code" ? "" : ` (${kind})`}: ${this._says(id) || "not started"}${leads}`)
    })
    this.list.replaceChildren(...items)
  }

  /** Draw it for the width that there is. */
  _draw() {
    const width = this.canvas.clientWidth
    if (!width || width === this.width) return
    this.width = width
    const { places, size, height } = placesOf(this.rows, this.shape.edges, width)
    const svg = drawing("svg", { viewBox: `0 0 ${width} ${height}`, width, height })
    for (const { source, target, kind } of this.shape.edges) {
      const [path, head] = line(places.get(source), places.get(target), size, width)
      const name = CHOSEN.has(kind) ? "edge chosen" : "edge"
      svg.append(drawing("path", { class: name, d: path }), drawing("path", { class: "head", d: head }))
    }
    for (const { id, kind } of this.shape.executors) {
      const { x, y } = places.get(id)
      const name = { class: "name", x: x + size / 2, y: y + 18 }
      const box = { x, y, width: size, height: NODE.high, rx: kind === "agent" ? 14 : 5 }
      const texts = [drawing("text", name, cut(id, size)), drawing("text", { ...name, class: "says", y: y + 34 })]
      svg.append(drawing("g", { "data-id": id }, drawing("title", {}, id), drawing("rect", box), ...texts))
      svg.lastChild.setAttribute("class", "node")
    }
    this.canvas.replaceChildren(svg)
    this._show()
  }
}

/** Return the executors by rows: each below all that lead to it, but for edges that go back. */
function rowsOf({ start, executors, edges }) {
  const next = new Map(executors.map(({ id }) => [id, []]))
  for (const { source, target } of edges) next.get(source).push(target)
  const order = []
  const open = new Set()
  const seen = new Set()
  const forward = []
  const visit = (first) => {
    const path = [[first, 0]]
    seen.add(first)
    open.add(first)
    while (path.length) {
      const top = path.at(-1)
      const [id, at] = top
      if (at === next.get(id).length) {
        path.pop()
        open.delete(id)
        order.push(id)
        continue
      }
      top[1]++
      const target = next.get(id)[at]
      if (open.has(target)) continue
      forward.push([id, target])
      if (seen.has(target)) continue
      seen.add(target)
      open.add(target)
      path.push([target, 0])
    }
  }
  for (const id of [start, ...next.keys()]) if (!seen.has(id)) visit(id)
  const rank = new Map(order.map((id) => [id, 0]))
  for (const id of order.reverse()) for (const [source, target] of forward) if (source === id) rank.set(target, Math.max(rank.get(target), rank.get(id) + 1))
  const rows = []
  for (const { id } of executors) (rows[rank.get(id)] ??= []).push(id)
  return rows
}

/** Return where each executor stands, how wide one is, and how high all of it. A row that is too long is broken. */
function placesOf(rows, edges, width) {
  const room = width - 2 * SIDE
  const most = Math.max(1, Math.floor((room + GAP.x) / (NODE.least + GAP.x)))
  const broken = rows.flatMap((row, rank) => Array.from({ length: Math.ceil(row.length / most) }, (_, at) => ({ rank, row: row.slice(at * most, (at + 1) * most) })))
  const longest = Math.max(...broken.map(({ row }) => row.length))
  const size = Math.min(NODE.most, (room - (longest - 1) * GAP.x) / longest)
  const places = new Map()
  broken.forEach(({ rank, row }, level) => {
    const middle = (id) => {
      const above = edges.filter((edge) => edge.target === id && places.has(edge.source)).map((edge) => places.get(edge.source).x)
      return above.length ? above.reduce((sum, x) => sum + x, 0) / above.length : width / 2
    }
    const sorted = row.map((id) => [id, middle(id)]).sort((one, other) => one[1] - other[1])
    const left = (width - row.length * size - (row.length - 1) * GAP.x) / 2
    sorted.forEach(([id], at) => places.set(id, { x: left + at * (size + GAP.x), y: 2 + level * (NODE.high + GAP.y), rank }))
  })
  return { places, size, height: broken.length * (NODE.high + GAP.y) - GAP.y + 4 }
}

/** Return the path of an edge, and that of its head. */
function line(from, to, size, width) {
  const [x, y] = [to.x + size / 2, to.y - 1]
  const [a, b] = [from.x + size / 2, from.y + NODE.high]
  const bend = GAP.y / 2
  if (to.rank === from.rank + 1) return [`M${a},${b} C${a},${b + bend} ${x},${y - bend - 3} ${x},${y - 3}`, `M${x - 4},${y - 7} L${x},${y} L${x + 4},${y - 7} z`]
  // Back and to oneself at the right, past rows at the left.
  const isBack = to.rank <= from.rank
  const side = isBack ? size : 0
  const way = isBack ? 1 : -1
  const [left, top, end, low] = [from.x + side, from.y + NODE.high / 2 + 6, to.x + side, to.y + NODE.high / 2 - 6]
  const far = isBack ? Math.min(width - 2, Math.max(left, end) + SIDE) : Math.max(2, Math.min(left, end) - SIDE)
  return [`M${left},${top} C${far},${top} ${far},${low} ${end + 3 * way},${low}`, `M${end + 7 * way},${low - 4} L${end + way},${low} L${end + 7 * way},${low + 4} z`]
}

const cut = (text, size) => {
  const most = Math.floor((size - 10) / CHARACTER)
  return text.length > most ? `${text.slice(0, most - 1)}…` : text
}
