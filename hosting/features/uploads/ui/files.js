// The files that an agent searches: the thread's, the agent's and the user's own. They are added by a button or dropped,
// and seen on their way up and while they are read; each is saved again, or deleted for good.

import { checked, paths, read, send } from "./api.js"
import { Cards, time } from "./cards.js"
import { confirmed } from "./dialogs.js"
import { save } from "./download.js"
import { announce, button, byId, dismiss, el, lead, plain, plural, visible } from "./dom.js"
import { transfer, transfersTo, unfinished, watched } from "./transfers.js"

const PAGE = 100
const BUSY_MS = 1500
const UNITS = ["kB", "MB", "GB", "TB"]
const STEP = 1024 // as the settings of sizes count
const OVER = new Set(["ready", "failed"])
const SAYS = { queued: "Waits to be read", reading: "Being read", ready: "Ready: agents find it" }
const elsewhere = new BroadcastChannel("agents.files")

/** The files of one agent, and of a thread of it. `administers`: the user may change the agent's. `hasOwner`: the app
 * knows its users. `first` are files to add at once. */
export class Files {
  constructor(agent, threadId, failed, { administers, hasOwner, first }) {
    this.agent = agent
    this.threadId = threadId
    this.hasOwner = hasOwner
    this.first = first
    const places = [
      threadId && { title: "Files of this thread", about: "Runs on the thread search them. They go when the thread is deleted.", files: paths.thread(agent, threadId, "/files"), uploads: "uploads", more: { agent, thread_id: threadId }, isOpen: true },
      { title: `Files of ${agent}`, about: `Everybody who asks ${agent} can read them. ${administers ? "You administer the app, so you may change them." : "Administrators change them."}`, files: `${paths.agent(agent)}/files`, uploads: `${paths.agent(agent)}/uploads`, more: {}, isOpen: administers },
      { title: "Your files", about: "Runs that you begin on your threads search them, with every agent.", files: "files", uploads: "uploads", more: {}, isOpen: true },
    ]
    this.places = places.filter(Boolean).map((place) => new Place(agent, threadId, failed, place))
    this.element = el("div", { class: "view files" }, this.places.map((place) => place.element))
    this.leaving = new AbortController()
  }

  async open() {
    const owner = this.hasOwner ? JSON.stringify(await read("owners/me")) : ""
    const { signal } = this.leaving
    if (signal.aborted) return
    const unwatch = watched((changed) => this.places.forEach((place) => place.moved(changed)))
    const told = ({ data }) => this.places.find(({ place }) => place.files === data)?.look()
    elsewhere.addEventListener("message", told, { signal })
    signal.addEventListener("abort", unwatch)
    for (const [name, listener] of [["dragover", (event) => this._over(event)], ["dragleave", () => this._mark()], ["drop", (event) => this._dropped(event)]])
      document.addEventListener(name, listener, { signal })
    const opened = this.places.map((place) => place.begin(owner))
    if (this.first.length) this.places[0].add(this.first)
    await Promise.all(opened)
  }

  leave() {
    this.leaving.abort()
    for (const place of this.places) place.leave()
  }

  /** Return where what is dropped there would go: the place there, or the first that takes files. */
  _under({ target }) {
    const open = this.places.filter(({ place }) => place.isOpen)
    return open.find(({ element }) => element.contains(target)) ?? open[0]
  }

  _over(event) {
    event.preventDefault()
    this._mark(this._under(event))
  }

  _mark(chosen) {
    for (const place of this.places) place.element.classList.toggle("dropping", place === chosen)
  }

  _dropped(event) {
    event.preventDefault()
    this._mark()
    this._under(event).add(event.dataTransfer.files)
  }
}

/** The files of one place, the oldest first, below those that are on their way to it. */
class Place extends Cards {
  constructor(agent, threadId, failed, place) {
    super(agent, threadId, failed)
    this.place = place
    this.pages = 1
    this.added = new Map() // files that this view added, by their ids: they may be on a page that is not shown yet
    this.states = new Map()
    this.rows = new Map()
    this.picker = el("input", { type: "file", multiple: true, hidden: true, on: { change: () => this._picked() } })
    this.adds = place.isOpen && button("Add files", () => this.picker.click(), "small")
    this.quota = el("p", { class: "note" }, this._drops())
    this.coming = el("ul", { class: "cards" })
    this.kept = el("ul", { class: "cards" })
    this.more = button("More files", () => this._more(), "quiet")
    this.more.hidden = true
    const head = el("div", { class: "row" }, el("h2", {}, visible(place.title)), this.adds)
    this.element = el("section", { "aria-label": plain(place.title) }, head, el("p", { class: "note" }, visible(place.about)), this.quota, this.picker, this.kept, this.coming, this.list, this.note, this.more)
  }

  _drops() {
    return this.place.isOpen ? " Drop files here, or add them." : ""
  }

  async begin(owner) {
    this.place.owner = owner
    this._drawKept()
    for (const known of transfersTo(this.place)) this.moved(known)
    await this.open()
  }

  /** Send files there. */
  add(files) {
    transfer(this.place, files)
    this._drawKept()
  }

  _picked() {
    this.add([...this.picker.files])
    this.picker.value = ""
  }

  async _more() {
    this.pages += 1
    const before = this.all?.length ?? 0
    await this._load().catch(this.failed)
    lead(this.list.children[before]?.querySelector("button"))
  }

  /** Return the files of the pages that are shown, and those that were added since; null where the thread was deleted. */
  async _read() {
    const files = new Map()
    let cursor = ""
    for (let page = 0; page < this.pages && cursor !== null; page++) {
      const told = await read(`${this.place.files}?${new URLSearchParams({ limit: PAGE, cursor })}`).catch((problem) => problem)
      if (told.code === "unknown_thread") return null
      if (told instanceof Error) throw told
      for (const file of told.files) files.set(file.file_id, file)
      this._showQuota(told.quota)
      cursor = told.next_cursor
    }
    this.more.hidden = cursor === null
    for (const [id, file] of this.added) {
      if (cursor === null || files.has(id)) this.added.delete(id)
      else files.set(id, await this._again(file))
    }
    const shown = [...files.values()].filter(Boolean)
    this.pollMs = shown.some(isInWork) ? BUSY_MS : 10_000
    return shown
  }

  /** Return an added file as it is now; undefined where it is gone. */
  async _again(file) {
    const now = isInWork(file) ? await read(`${this.place.files}/${file.file_id}`).catch(({ status }) => (status === 404 ? undefined : file)) : file
    if (now) this.added.set(file.file_id, now)
    else this.added.delete(file.file_id)
    return now
  }

  _showQuota(quota) {
    this.place.quota = quota
    if (!quota) return
    const used = quota.bytes + quota.open_bytes
    this.quota.textContent = `${sizeOf(used)} of ${sizeOf(quota.quota_bytes)} used. A file has at most ${sizeOf(quota.file_bytes)}.${this._drops()}`
  }

  _draw() {
    super._draw()
    for (const { file_id: id, name, index } of this.all ?? []) {
      const before = this.states.get(id)
      if (index && before && before !== index.status && OVER.has(index.status))
        announce(index.status === "ready" ? `${plain(name)} is ready.` : `${plain(name)} cannot be searched. ${index.error}`)
      this.states.set(id, index?.status)
    }
  }

  _idOf({ file_id: id }) {
    return idOf(id)
  }

  _card(file) {
    const { name, bytes, created_at: at, index } = file
    const named = (says, click) => {
      const made = button(says, click, "small")
      made.setAttribute("aria-label", `${says} ${plain(name)}`)
      return made
    }
    const actions = el("div", { class: "actions" }, named("Download", (event) => this._save(file, event.target)), this.place.isOpen && named("Delete", () => this._delete(file)))
    return el("section", { class: "card file" }, nameNode(name), el("p", { class: "note" }, sizeOf(bytes), " · added ", time(at)), index && stateNode(name, index), actions)
  }

  async _save({ file_id: id, name }, pressed) {
    pressed.disabled = true
    try {
      const response = await checked(await send("GET", `${this.place.files}/${id}/content`))
      save(await response.blob(), name)
    } catch (problem) {
      this.failed(problem)
      this.look()
    }
    pressed.disabled = false
  }

  async _delete({ file_id: id, name }) {
    const text = `${name}, its text and its place in the search are erased for good. Answers that cite it stay.`
    if (!(await confirmed("Delete this file?", text, "Delete file"))) return
    this.added.delete(id)
    const isTaken = await this._changed(() => send("DELETE", `${this.place.files}/${id}`), "File deleted.")
    if (isTaken) elsewhere.postMessage(this.place.files)
    lead(this.list.querySelector("button") ?? this.adds)
  }

  _nothing(files) {
    return el("p", { class: "note" }, files ? "No files yet." : "This thread was deleted, and its files with it.")
  }

  // Files on their way.

  /** Show a transfer as it is now. */
  moved(changed) {
    if (!transfersTo(this.place).includes(changed) && !this.rows.has(changed)) return
    if (changed.state === "done" || changed.state === "gone") return this._arrived(changed)
    let row = this.rows.get(changed)
    if (!row) {
      row = new Row(changed)
      this.rows.set(changed, row)
      this.coming.append(row.element)
    }
    row.show()
  }

  _arrived(over) {
    const { state, name, stored } = over
    if (state === "done") {
      this.added.set(stored.file_id, stored)
      announce(`${plain(name)} is uploaded.`)
      elsewhere.postMessage(this.place.files)
    }
    const row = this.rows.get(over)
    this.rows.delete(over)
    if (row) dismiss(row.element, this.adds)
    this.changes += 1 // what was asked before does not have it
    this._load().then(() => this.look?.(), this.failed)
  }

  /** Show large files that were on their way when the tab was loaded anew. */
  _drawKept() {
    const rows = this.place.isOpen ? unfinished(this.place) : []
    this.kept.replaceChildren(...rows.map(({ name, size, came, discard }) => {
      const drop = async () => {
        await discard()
        this._drawKept()
        this.adds.focus()
      }
      const says = el("p", { class: "note" }, `${sizeOf(Math.min(came, size))} of ${sizeOf(size)} came before this page was loaded again. Choose the same file, and it goes on from there.`)
      const actions = el("div", { class: "actions" }, button("Choose file", () => this.picker.click(), "small"), button("Discard", drop, "small"))
      return el("li", {}, el("section", { class: "card file" }, nameNode(name), says, actions))
    }))
  }
}

/** A file on its way, with its share. */
class Row {
  constructor(transfer) {
    this.transfer = transfer
    this.bar = el("progress", { max: transfer.size || 1, value: 0, "aria-label": `Upload of ${plain(transfer.name)}` })
    this.says = el("p", { class: "note" })
    this.problem = el("p", { class: "refusal", role: "alert" })
    this.again = button("Try again", () => transfer.again(), "small")
    this.stop = button("Cancel", () => transfer.cancel(), "small")
    const actions = el("div", { class: "actions" }, this.again, this.stop)
    this.element = el("li", {}, el("section", { class: "card file" }, nameNode(transfer.name), this.says, this.bar, this.problem, actions))
  }

  show() {
    const { state, sent, size, problem } = this.transfer
    const isStopped = state === "stopped"
    this.bar.value = sent
    this.bar.hidden = this.says.hidden = isStopped
    this.again.hidden = !isStopped
    const label = isStopped ? "Remove" : "Cancel"
    if (this.stop.textContent !== label) this.stop.textContent = label
    const refusal = isStopped ? problem.message : ""
    if (this.problem.textContent !== refusal) this.problem.replaceChildren(...visible(refusal))
    const share = `${sizeOf(sent)} of ${sizeOf(size)}`
    this.says.textContent = { waiting: `${sizeOf(size)}, waits for its turn`, lost: `${share}. Connection lost. Trying again` }[state] ?? `Uploading: ${share}`
  }
}

const isInWork = ({ index }) => index && !OVER.has(index.status)
const nameNode = (name) => el("h3", {}, el("bdi", {}, visible(name)))
const idOf = (id) => `file-${id}`

/** Return how far the search is with a file. */
function stateNode(name, { status, chunks, embedded, code, error }) {
  if (status === "failed") return el("p", { class: "refusal" }, `Cannot be searched. ${error} `, el("code", {}, code))
  if (status !== "embedding") return el("p", { class: status === "ready" ? "state" : "state busy" }, SAYS[status])
  const bar = el("progress", { max: chunks || 1, value: embedded, "aria-label": `Reading of ${plain(name)}` })
  return el("div", {}, el("p", { class: "state busy" }, `Being read: ${embedded.toLocaleString()} of ${plural(chunks, "passage")}`), bar)
}

/** Return a number of bytes as a person says it. */
function sizeOf(bytes) {
  if (bytes < STEP) return plural(bytes, "byte")
  let unit = -1
  for (; bytes >= STEP - 0.5 && unit < UNITS.length - 1; unit++) bytes /= STEP
  return `${bytes < 9.95 ? Math.round(bytes * 10) / 10 : Math.round(bytes)} ${UNITS[unit]}`
}
