// The list of an agent's threads: the newest change first, found by a part of their ids.

import { paths, read } from "./api.js"
import { byId, el, pressed } from "./dom.js"
import { inFull, until } from "./times.js"

const PAGE = 100
const TYPING_MS = 250
const BEHIND_MS = 2500 // the list follows a run's end by a moment
const STATES = { running: "running", waiting: "waits for approval" }

/** The owner of all threads without a sign-in. */
export const OWN = "app"

/** Return the address on this page of a thread; of a new one without an id. `view` is one of its views. */
export const hrefOf = (agent, thread = "", view = "") =>
  `#/${encodeURIComponent(agent)}${thread && `/${encodeURIComponent(thread)}`}${view && `?${view}`}`

/** The list of one agent's threads, at the side of the page. */
export class ThreadList {
  /** `loaded` is called when the list has come. */
  constructor(loaded) {
    this.loaded = loaded
    this.titles = new Map()
    this.agent = this.open = this.wanted = ""
    this.rows = new Map()
    this.cursor = null
    byId("search").addEventListener("input", () => {
      clearTimeout(this.typing)
      this.typing = setTimeout(() => this._load().catch(() => {}), TYPING_MS)
    })
    byId("search").addEventListener("keydown", (event) => {
      const found = byId("threads").querySelector("a")
      if (pressed(event, "Enter") && found) location.hash = found.hash
    })
    byId("more-threads").addEventListener("click", () => this._load(this.cursor).catch(() => {}))
    setInterval(() => this._showTimes(), 30_000)
  }

  /** Show the threads of this agent, and mark the one that is open. */
  async show(agent, open) {
    this.open = open
    if (agent !== this.agent) {
      this.agent = agent
      byId("search").value = ""
      byId("threads").replaceChildren()
      byId("threads-note").textContent = ""
      this.rows.clear()
      this.titles.clear()
    }
    byId("new").href = hrefOf(agent)
    this._mark()
    clearTimeout(this.behind)
    this.behind = setTimeout(() => this._load().catch(() => {}), BEHIND_MS)
    await this._load()
  }

  async _load(cursor = "") {
    const { agent } = this
    const wanted = byId("search").value.trim()
    const query = { sort: "changed", limit: PAGE, ...(cursor && { cursor }), ...(wanted && { search: wanted }) }
    const page = await read(paths.threads(agent, query))
    if (agent !== this.agent || wanted !== byId("search").value.trim()) return
    const focused = document.activeElement?.closest("#threads a")?.title
    if (!cursor) this.rows.clear()
    if (this.open && !cursor && !wanted && page.threads.every((thread) => thread.thread_id !== this.open))
      this.rows.set(this.open, this._row({ thread_id: this.open }))
    for (const thread of page.threads) {
      this.rows.set(thread.thread_id, this._row(thread))
      this.titles.set(thread.thread_id, thread.title)
    }
    if (wanted && !this.rows.has(wanted)) this.rows.set(wanted, this._row({ thread_id: wanted }))
    this.cursor = page.next_cursor
    byId("threads").replaceChildren(...this.rows.values())
    byId("threads-note").textContent = this.rows.size ? "" : "No threads yet. Your first message starts one."
    byId("more-threads").hidden = !this.cursor
    this._mark()
    if (focused) this.rows.get(focused)?.firstChild.focus()
    this.loaded()
  }

  /** Return how a thread of the list begins; nothing for another one. */
  titleOf(id) {
    return this.titles.get(id) ?? ""
  }

  _row({ thread_id: id, title, updated_at: at, status }) {
    const here = id === this.open ? "" : el("span", { class: "note" }, "open")
    const time = at ? el("time", { dateTime: at, title: inFull(at) }, until(at)) : here
    const says = STATES[status]
    const state = says && el("span", { class: `dot ${status}`, title: says }, el("span", { class: "hidden" }, `(${says})`))
    return el("li", {}, el("a", { href: hrefOf(this.agent, id), title: id }, el("span", { class: "name" }, title || id), state, time))
  }

  _mark() {
    for (const [id, { firstChild: link }] of this.rows)
      if (id === this.open) link.setAttribute("aria-current", "page")
      else link.removeAttribute("aria-current")
  }

  _showTimes() {
    for (const time of byId("threads").querySelectorAll("time")) time.textContent = until(time.dateTime)
  }
}
