// The list of an agent's threads: pinned ones and the newest change first, found by words.

import { paths, read } from "./api.js"
import { byId, el, icon, pressed } from "./dom.js"
import { inFull, until } from "./times.js"

const PAGE = 100
const TYPING_MS = 250
const BEHIND_MS = 2500 // the list follows a run's end by a moment
const ID = /^[\w.~-]{1,64}$/
const NEW = "New thread"
const STATES = { running: "running", paused: "paused", waiting: "waits for approval" }

/** The owner of all threads without a sign-in. */
export const OWN = "app"

/** Return the address on this page of a thread; of a new one without an id. `view` is one of its views. */
export const hrefOf = (agent, thread = "", view = "") =>
  `#/${encodeURIComponent(agent)}${thread && `/${encodeURIComponent(thread)}`}${view && `?${view}`}`

/** Return the address on this page of a thread that was shared by this grant. */
export const hrefOfShared = (grant) => `#/?shared=${encodeURIComponent(grant)}`

/** The list of one agent's threads, at the side of the page. */
export class ThreadList {
  /** `loaded` is called when the list has come. */
  constructor(loaded) {
    this.loaded = loaded
    this.known = new Map() // threads as the app told them last, by their ids
    this.listed = []
    this.agent = this.open = ""
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
      this.known.clear()
      this.listed = []
      this._draw()
      byId("threads-note").textContent = ""
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
    const query = { sort: "pinned", limit: PAGE, ...(cursor && { cursor }), ...(wanted && { search: wanted }) }
    const page = await read(paths.threads(agent, query))
    if (agent !== this.agent || wanted !== byId("search").value.trim()) return
    const before = cursor ? this.listed : []
    for (const thread of page.threads) this.known.set(thread.thread_id, thread)
    this.listed = [...new Set([...before, ...page.threads.map((thread) => thread.thread_id)])]
    this.cursor = page.next_cursor
    this._draw(wanted)
    const none = wanted ? "Nothing found. " : this.rows.size ? "" : "No threads yet. Your first message starts one."
    byId("threads-note").textContent = `${this.listed.length || this.cursor ? "" : none}${page.behind ? `Not searched yet: ${page.behind} of the threads.` : ""}`
    byId("more-threads").hidden = !this.cursor
    this.loaded()
  }

  /** Take over what the app told of a thread. */
  told(thread) {
    this.known.set(thread.thread_id, { ...this.known.get(thread.thread_id), ...thread })
    this._draw(byId("search").value.trim())
    this.loaded()
  }

  /** Return what is known of a thread; undefined before the app told it. */
  of(id) {
    return this.known.get(id)
  }

  /** Return the title of a thread, "New thread" until it has one; nothing for a thread that is not known yet. */
  titleOf(id) {
    const thread = this.known.get(id)
    return thread ? thread.title || NEW : ""
  }

  _draw(wanted = "") {
    const focused = [...this.rows].find(([, row]) => row.contains(document.activeElement))?.[0]
    const missing = wanted ? !this.listed.length && ID.test(wanted) && wanted : !this.listed.includes(this.open) && this.open
    const ids = [...(missing ? [missing] : []), ...this.listed]
    ids.sort((one, other) => Boolean(this.known.get(other)?.pinned) - Boolean(this.known.get(one)?.pinned))
    this.rows = new Map(ids.map((id) => [id, this._row(id, this.known.get(id) ?? {}, Boolean(wanted))]))
    byId("threads").replaceChildren(...this.rows.values())
    this._mark()
    if (focused) this.rows.get(focused)?.firstChild.focus()
  }

  _row(id, { title, updated_at: at, status, pinned, forked_from: origin, snippet }, isSearch) {
    const here = id === this.open ? "" : el("span", { class: "note" }, "open")
    const time = at ? el("time", { dateTime: at, title: inFull(at) }, until(at)) : here
    const says = STATES[status]
    const state = says && el("span", { class: `dot ${status}`, title: says }, el("span", { class: "hidden" }, `(${says})`))
    const pin = pinned && el("span", { class: "pin", title: "Pinned" }, icon("pin"), el("span", { class: "hidden" }, "(pinned)"))
    const name = el("span", { class: "name" }, title || (isSearch && !at ? id : NEW))
    return el(
      "li",
      {},
      el("a", { href: hrefOf(this.agent, id), title: id }, pin, name, state, time),
      isSearch && snippet && el("span", { class: "origin" }, snippet.before.slice(-20), el("mark", {}, snippet.hit), snippet.after),
      origin && el("a", { class: "origin", href: hrefOf(this.agent, origin.thread_id) }, `Fork of ${this.titleOf(origin.thread_id) || origin.thread_id}`),
    )
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
