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
  return Math.abs(seconds) < 60 ? "just now" : words.format(Math.round(seconds / length), unit)
}

/** Return a time in full, as the reader's own clock has it. */
export const inFull = (time) => new Date(time).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" })
