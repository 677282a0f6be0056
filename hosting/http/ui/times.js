// Times as a person says them.

const UNITS = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
]
const words = new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" })

/** Return how long ago or ahead a time is. */
export function until(time, now = Date.now()) {
  const seconds = (Date.parse(time) - now) / 1000
  const [unit, length] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? ["second", 1]
  if (Math.abs(seconds) < 60) return seconds > 1 ? "in a moment" : "just now"
  return words.format(Math.round(seconds / length), unit)
}

/** Return a time in full, as the reader's own clock has it. */
export const inFull = (time) => new Date(time).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" })

/** Return how long something took. */
export function length(ms) {
  if (!ms) return "0"
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`
  const minutes = Math.round(ms / 60_000)
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

/** Return the time of a message: of the clock, with the day if it is another one. */
export function clock(time, now = new Date()) {
  const at = new Date(time)
  const isToday = at.toDateString() === now.toDateString()
  return at.toLocaleString(undefined, { dateStyle: isToday ? undefined : "medium", timeStyle: "short" })
}
