// Files on their way up: a small one in one request, a large one in parts. They go on while other views are shown.
//
// A part that was lost is sent again; the file is made of the parts that are named at its end, so none is in it twice.
// Of a large file the tab notes which parts have come. After a reload, the same file goes on behind them when it is
// chosen again: a page cannot open a file by itself. The note names the owner, and nobody else sees it.

import { Unreachable, checked, send, signed, urlOf } from "./api.js"
import { plural } from "./dom.js"

const WHOLE_BYTES = 8 * 1024 * 1024 // up to here a file comes in one request, and a part is so large
const MOST_PARTS = 900
const OCTETS = "application/octet-stream"
const NOTED = "agents.uploads"
const PAUSES_MS = [500, 1000, 2000, 5000, 10_000, 30_000]
const UNKNOWN = "unknown_upload"
const BUSY = 429
const PASSING = new Set([401, BUSY]) // what is refused so may be taken later

const all = new Set()
const watching = new Set()
let isAtWork = false

/** Call `watch(transfer)` after each change of any transfer; returns what ends that. */
export function watched(watch) {
  watching.add(watch)
  return () => watching.delete(watch)
}

/** Return the transfers to a place that are not over. */
export const transfersTo = ({ files, owner }) => [...all].filter(({ place }) => place.files === files && place.owner === owner)

/** Send files to a place, one after the other. */
export function transfer(place, files) {
  for (const file of files) {
    const added = new Transfer(place, file)
    all.add(added)
    added._is("waiting")
  }
  work()
}

/** Return what came of large files before the tab was loaded anew: with `name`, `size`, `came`, and `discard()`. */
export function unfinished(place) {
  const going = new Set(transfersTo(place).map(({ key }) => key))
  const notes = Object.entries(noted()).filter(([key, { to, owner }]) => to === place.files && owner === place.owner && !going.has(key))
  return notes.map(([key, note]) => ({ ...note, came: note.parts.length * note.step, discard: () => discarded(place, key) }))
}

async function work() {
  if (isAtWork) return
  isAtWork = true
  for (let next; (next = [...all].find(({ state }) => state === "waiting")); ) await next.go()
  isAtWork = false
}

/** A file on its way to a place. Its `state` is waiting, sending, lost (and tried again), stopped by a `problem`, done
 * with the `stored` file, or gone. */
class Transfer {
  constructor(place, file) {
    this.place = place
    this.file = file
    this.name = file.name
    this.size = file.size
    this.key = [place.owner, place.files, file.name, file.size, file.lastModified].join("\n")
    this.sent = 0
    this.stopping = new AbortController()
    this.state = "waiting"
  }

  /** Begin again after a problem. */
  again() {
    this._is("waiting")
    work()
  }

  /** Give the file up: it is shown until the app knows. */
  async cancel() {
    this.stopping.abort()
    await discarded(this.place, this.key)
    all.delete(this)
    this._is("gone")
  }

  async go() {
    this.problem = null
    this._is("sending")
    try {
      await this.file.slice(0, 1).arrayBuffer().catch(() => fail(`${this.name} cannot be read. Is it a folder, or was it moved?`))
      const most = this.place.quota?.file_bytes
      if (this.size > most) fail(`The file has ${plural(this.size, "byte")}, and may have ${most.toLocaleString()}. Send a smaller one.`)
      this.stored = await (this.size > WHOLE_BYTES ? this._inParts() : this._whole())
      all.delete(this)
      this._is("done")
    } catch (problem) {
      if (this.stopping.signal.aborted) return
      this.problem = problem
      this._is("stopped")
    }
  }

  _whole() {
    return this._put(`${this.place.files}?${new URLSearchParams({ name: this.name })}`, this.file, this.file.type || OCTETS, 0)
  }

  async _inParts(isAgain = false) {
    const { place, file, key } = this
    const note = noted()[key] ?? (await this._begun())
    const path = `${place.uploads}/${note.id}`
    try {
      for (let at = note.parts.length * note.step; at < this.size; at += note.step) {
        const { part_id: part } = await this._steadily(() => this._put(`${path}/parts`, file.slice(at, at + note.step), OCTETS, at))
        note.parts.push(part)
        keep(key, note)
      }
      this._sent(this.size)
      const stored = await this._steadily(() => post(`${path}/complete`, { part_ids: note.parts }, this.stopping.signal))
      keep(key)
      return stored
    } catch (problem) {
      const isRefused = problem.status < 500 && !PASSING.has(problem.status)
      if (isRefused) await discarded(place, key)
      if (problem.code === UNKNOWN && !isAgain) return this._inParts(true) // it had expired
      throw problem
    }
  }

  async _begun() {
    const { place, name, size, file, key } = this
    const body = { name, bytes: size, media_type: file.type || OCTETS, ...place.more }
    const { upload_id: id } = await post(place.uploads, body) // once, and to its end: each holds room in the quota
    const note = { id, to: place.files, owner: place.owner, name, size, step: Math.max(WHOLE_BYTES, Math.ceil(size / MOST_PARTS)), parts: [] }
    keep(key, note)
    if (this.stopping.signal.aborted) await discarded(place, key)
    this.stopping.signal.throwIfAborted()
    return note
  }

  /** Return the answer to what may be asked again, once there is one. */
  async _steadily(ask) {
    const { signal } = this.stopping
    for (let tries = 0; ; tries++) {
      try {
        const answer = await ask()
        this._is("sending")
        return answer
      } catch (problem) {
        const isPassing = problem instanceof Unreachable || problem.status >= 500 || problem.status === BUSY
        if (!isPassing || tries === PAUSES_MS.length) throw problem
        this._is("lost")
        await pause(PAUSES_MS[tries], signal)
      }
    }
  }

  /** Send bytes, and say how many of the file have gone out: `fetch` does not tell. */
  _put(path, bytes, type, before) {
    const { signal } = this.stopping
    return new Promise((done, failed) => {
      const request = new XMLHttpRequest()
      request.open("POST", urlOf(path))
      for (const [name, value] of Object.entries(signed({ "Content-Type": type, Accept: "application/json" }))) request.setRequestHeader(name, value)
      request.upload.addEventListener("progress", ({ loaded }) => this._sent(before + loaded))
      request.addEventListener("load", () => done(answerOf(new Response(request.responseText, { status: request.status }))))
      request.addEventListener("error", () => failed(new Unreachable()))
      request.addEventListener("abort", () => failed(signal.reason))
      signal.addEventListener("abort", () => request.abort(), { once: true })
      request.send(bytes)
    })
  }

  _sent(bytes) {
    this.sent = Math.min(bytes, this.size)
    this._is(this.state)
  }

  _is(state) {
    this.state = state
    for (const watch of watching) watch(this)
  }
}

function fail(text) {
  throw new Error(text)
}

/** Wait, unless the file is given up. */
async function pause(ms, signal) {
  await new Promise((done) => {
    setTimeout(done, ms)
    signal.addEventListener("abort", done, { once: true })
  })
  signal.throwIfAborted()
}

const answerOf = async (response) => (await checked(response)).json()
const post = async (path, body, signal) => answerOf(await send("POST", path, { body, signal }))

/** Let go of what came of a file: of the note, and of the parts at the app, which go by themselves within a day. */
async function discarded(place, key) {
  const note = noted()[key]
  if (note) await send("POST", `${place.uploads}/${note.id}/cancel`, { body: {} }).catch(() => {})
  keep(key)
}

const noted = () => JSON.parse(sessionStorage.getItem(NOTED) ?? "{}")

/** Note what came of a file, or nothing any more. */
function keep(key, note) {
  sessionStorage.setItem(NOTED, JSON.stringify({ ...noted(), [key]: note }))
}
