// Cron expressions as a person says them. Only frequent shapes have words: of others the expression says more than a guess.

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"]
const MONTHLY = /^([1-9]|[12]\d|3[01])$/

/** Return when a cron expression has its runs, as in "At 09:00, Monday to Friday"; "" for a shape without words. */
export function wordsOf(cron) {
  const [minute, hour, day, month, weekday, ...rest] = cron.trim().toUpperCase().split(/\s+/)
  if (rest.length || !weekday || month !== "*") return ""
  const isDaily = day === "*" && weekday === "*"
  const every = /^\*\/([1-9]\d?)$/.exec(minute)?.[1]
  if (isDaily && hour === "*" && minute === "*") return "Every minute"
  if (isDaily && hour === "*" && every && 60 % every === 0) return `Every ${every} minutes`
  if (!isIn(minute, 59)) return ""
  if (isDaily && hour === "*") return `Every hour, at minute ${Number(minute)}`
  if (!isIn(hour, 23)) return ""
  const days = day === "*" ? daysOf(weekday) : weekday === "*" && MONTHLY.test(day) ? `on day ${day} of each month` : ""
  return days && `At ${hour.padStart(2, "0")}:${minute.padStart(2, "0")}, ${days}`
}

function daysOf(weekday) {
  if (weekday === "*") return "every day"
  const [first, last] = weekday.split("-").map(dayOf)
  if (/^\w+-\w+$/.test(weekday)) return first && last && first !== last ? `${first} to ${last}` : ""
  const days = weekday.split(",").map(dayOf)
  return days.every(Boolean) ? days.join(", ") : ""
}

const isIn = (text, most) => /^\d{1,2}$/.test(text) && Number(text) <= most
const dayOf = (text) => (/^[0-7]$/.test(text) ? DAYS[text % 7] : DAYS.find((day) => day.slice(0, 3).toUpperCase() === text))
