// The list of an agent's threads: the newest change first, found by their ids.

import { paths, read } from "./api.js"
import { byId, el } from "./dom.js"
import { inFull, until } from "./times.js"

const PAGE = 100

/** Return the address on this page of a thread; of a new one without an id. */
export const hrefOf = (agent, thread = "") => `#/${encodeURIComponent(agent)}${thread && `/${encodeURIComponent(thread)}`}`

/** What the side of the page shows of the threads of one agent. */
export class ThreadList {
  constructor() {
    this.agent = this.open = ""
    this.threads = new Map()
    this.cursor = null
    byId("search").addEventListener("input", () => this._show())
    byId("search").addEventListener("keydown", (event) => {
      const found = byId("threads").querySelector("a")
      if (event.key === "Enter" && found) location.hash = found.hash
    })
    byId("more-threads").addEventListener("click", () => this._load(this.cursor))
    setInterval(() => this._showTimes(), 30_000)
  }

  /** Show the threads of this agent, and mark the one that is open. */
  async show(agent, open) {
    this.open = open
    if (agent !== this.agent) {
      this.agent = agent
      this.threads.clear()
      byId("search").value = ""
    }
    byId("new").href = hrefOf(agent)
    this._show()
    await this._load()
  }

  async _load(cursor = "") {
    const { agent } = this
    const query = new URLSearchParams({ limit: PAGE, ...(cursor && { cursor }) })
    const page = await read(`${paths.threads(agent)}?${query}`)
    if (agent !== this.agent) return
    if (!cursor) this.threads.clear()
    for (const { thread_id: id, updated_at: at } of page.threads) this.threads.set(id, at)
    this.cursor = page.next_cursor
    this._show()
  }

  _show() {
    const wanted = byId("search").value.trim()
    const found = [...this.threads].filter(([id]) => id.toLowerCase().includes(wanted.toLowerCase()))
    found.sort(([, one], [, other]) => Date.parse(other) - Date.parse(one))
    const rows = found.map(([id, at]) => this._row(id, at))
    if (wanted && !this.threads.has(wanted)) rows.push(this._row(wanted, null))
    byId("threads").replaceChildren(...rows)
    byId("threads-note").textContent = rows.length ? "" : "None yet. Your first message begins one."
    byId("more-threads").hidden = !this.cursor
  }

  _row(id, at) {
    const time = at
      ? el("time", { dateTime: at, title: inFull(at) }, until(at))
      : el("span", { class: "note" }, "open this id")
    const link = el("a", { href: hrefOf(this.agent, id), title: id, "aria-current": id === this.open ? "page" : null }, el("span", {}, id), time)
    return el("li", {}, link)
  }

  _showTimes() {
    for (const time of byId("threads").querySelectorAll("time")) time.textContent = until(time.dateTime)
  }
}
