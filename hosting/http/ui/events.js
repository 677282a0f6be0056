// A run's events, from the first to the last, over as many connections as it takes.

import { Problem, Unreachable, checked, send } from "./api.js"

const LAST = new Set(["completed", "failed", "cancelled", "joined"])
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 4000

/** Yield each frame of an event stream as `{ id, event, data, isFirst }`; comments, which keep a connection open, are
 * none. What was there already comes in one piece: its frames are the first ones. */
export async function* frames(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let text = ""
  let isFirst = true
  try {
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return
      const parts = (text += value).split("\n\n")
      text = parts.pop()
      for (const frame of parts) {
        const fields = Object.fromEntries(frame.split("\n").map((line) => line.split(/: ?(.*)/s, 2)))
        if (fields.event) yield { id: fields.id, event: fields.event, data: JSON.parse(fields.data), isFirst }
      }
      isFirst &&= parts.length === 0
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}

/** Yield a run's events to its end. A connection that breaks is made again from the last id that came.
 *
 * `open(lastId)` returns the response that begins behind that id. `lost` is called when a connection broke, and `made`
 * when there is one again. */
export async function* untilEnd(open, lost, made) {
  let last = ""
  let isLost = false
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    try {
      const response = await checked(await open(last))
      if (response.status === 204) return
      const isAgain = isLost
      if (isAgain) made()
      isLost = false
      for await (const frame of frames(response)) {
        last = frame.id ?? last
        pause = FIRST_PAUSE_MS
        yield { ...frame, isOld: isAgain && frame.isFirst }
        if (LAST.has(frame.event)) return
      }
    } catch (error) {
      if (error.name === "AbortError") return
      const isOver = error instanceof Problem && error.status !== 429 && error.status !== 503
      if (isOver) throw error
      if (!(error instanceof TypeError || error instanceof Unreachable || error instanceof Problem)) throw error
    }
    lost()
    isLost = true
    await new Promise((wait) => setTimeout(wait, pause))
  }
}

/** Return the opener of a run that is known: its events behind an id. */
export const eventsAt = (path, signal) => (last) =>
  send("GET", `${path}/events`, { headers: last ? { "Last-Event-ID": last } : {}, signal })
