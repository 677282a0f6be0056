// The form of a new schedule: time, message and thread; a refusal stands with its field.

import { checked, paths, randomKey, send } from "./api.js"
import { wordsOf } from "./crons.js"
import { announce, button, el, pressed } from "./dom.js"

const FIELD = /^The field '([a-z_]+)'/ // how a refusal begins that is about one of them; some are known by their codes
const FIELDS = { missing_message: "message", invalid_input: "message", invalid_thread_id: "thread_id" }
const CRON = "Minute, hour, day of the month, month, day of the week: 0 9 * * 1-5 means every weekday at nine."

/** The fields of a new schedule behind a button. `made(schedule)` gets the new one. */
export class Planning {
  /** `takesText`: the message is text, and not JSON. `threadId` is the thread that was open before, if any. */
  constructor(agent, threadId, takesText, made) {
    this.agent = agent
    this.takesText = takesText
    this.made = made
    const often = chosen("plan-often", [["cron", "Repeatedly"], ["at", "Once"]], () => this._fit())
    const where = chosen("plan-where", [["", "A new thread for each run"], ["one", "One thread for all runs"]], () => this._fit())
    const missed = chosen("plan-missed", [["run_once", "Run once for all of them"], ["skip", "Skip them"]])
    this.fields = {
      often,
      cron: el("input", { id: "plan-cron", spellcheck: false, autocomplete: "off", placeholder: "0 9 * * 1-5" }),
      at: el("input", { id: "plan-at", type: "datetime-local" }),
      time_zone: el("select", { id: "plan-zone" }, zones()),
      message: el("textarea", { id: "plan-message", rows: 3 }),
      where,
      thread_id: el("input", { id: "plan-thread", value: threadId || randomKey(), spellcheck: false, autocomplete: "off" }),
      missed,
    }
    this.refusal = el("p", { class: "refusal", id: "plan-refusal", role: "alert" })
    this.open = button("New schedule", () => this._open(true))
    this.open.setAttribute("aria-expanded", "false")
    const actions = el("div", { class: "actions" }, button("Create", () => this._make(), "primary"), button("Cancel", () => this._open(false)))
    const names = { often: "How often", cron: "Cron expression", at: "At", time_zone: "Time zone", message: takesText ? "Message of each run" : "Input, as JSON", where: "Thread", thread_id: "Thread id", missed: "Missed runs" }
    this.rows = Object.fromEntries(Object.entries(names).map(([name, says]) => [name, this._row(name, says)]))
    const hint = el("p", { class: "note", id: "plan-cron-hint" }, CRON)
    this.rows.cron.append(hint)
    this.fields.cron.setAttribute("aria-describedby", hint.id)
    this.fields.cron.addEventListener("input", () => (hint.textContent = wordsOf(this.fields.cron.value) || CRON))
    this.card = el("section", { class: "card planning", "aria-label": "New schedule", hidden: true, on: { keydown: (event) => this._pressed(event) } }, Object.values(this.rows), this.refusal, actions)
    this.element = el("div", { class: "plan" }, this.open, this.card)
    this._fit()
  }

  _row(name, says) {
    const field = this.fields[name]
    return el("div", { class: "row-of-field" }, el("label", { for: field.id }, says), field)
  }

  /** Have only those fields there that count. */
  _fit() {
    this.rows.cron.hidden = this.fields.often.value !== "cron"
    this.rows.missed.hidden = this.rows.cron.hidden
    this.rows.at.hidden = !this.rows.cron.hidden
    this.rows.thread_id.hidden = !this.fields.where.value
  }

  _open(is) {
    this.card.hidden = !is
    this.open.setAttribute("aria-expanded", String(is))
    this._refuse(null)
    if (is) this.fields.often.focus()
    else this.open.focus()
  }

  _pressed(event) {
    if (pressed(event, "Escape")) this._open(false)
    if (!pressed(event, "Enter") || event.target.tagName !== "INPUT") return
    event.preventDefault()
    this._make()
  }

  async _make() {
    if (this.isSent) return
    this.isSent = true
    this._refuse(null)
    try {
      const body = this._body()
      const text = JSON.stringify(body)
      if (text !== this.asked) [this.asked, this.key] = [text, randomKey()] // again the same one, if its answer was lost
      const sent = await checked(await send("POST", paths.schedules(this.agent), { body, headers: { "Idempotency-Key": this.key }, isCopied: true }))
      this.asked = ""
      this.fields.message.value = ""
      this._open(false)
      announce("Schedule created.")
      this.made(await sent.json())
    } catch (problem) {
      this._refuse(problem)
    } finally {
      this.isSent = false
    }
  }

  /** Return the request. Empty fields are sent as they are: the app says what is missing. */
  _body() {
    const { often, cron, at, time_zone: zone, message, where, thread_id: thread, missed } = this.fields
    const when = often.value === "cron" ? { cron: cron.value, missed: missed.value } : { at: at.value }
    return { ...when, time_zone: zone.value, ...this._asked(message.value), ...(where.value && { thread_id: thread.value }) }
  }

  _asked(text) {
    if (this.takesText) return { message: text }
    try {
      return { input: JSON.parse(text) }
    } catch {
      throw new Error("The field 'message' is not JSON. Write the workflow's input as JSON.")
    }
  }

  /** Show why it is refused, at the field that is meant, which has the focus then; null for no refusal. */
  _refuse(problem) {
    for (const field of Object.values(this.fields)) field.removeAttribute("aria-invalid")
    this.refusal.textContent = problem?.message ?? ""
    if (!problem) return
    const field = this.fields[FIELD.exec(problem.message)?.[1] ?? FIELDS[problem.code]]
    if (!field) return
    field.setAttribute("aria-invalid", "true")
    field.focus()
  }
}

/** Return the browser's time zones to choose from, its own first. */
function zones() {
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC"
  const groups = new Map([["Here, and UTC", new Set([own, "UTC"])]])
  for (const zone of Intl.supportedValuesOf("timeZone")) {
    const region = zone.includes("/") ? zone.split("/")[0] : "Other"
    if (!groups.has(region)) groups.set(region, new Set())
    groups.get(region).add(zone)
  }
  return [...groups].map(([label, names]) => el("optgroup", { label }, [...names].map((value) => el("option", { value }, value.replaceAll("_", " ")))))
}

const chosen = (id, options, change) => el("select", { id, on: change ? { change } : {} }, options.map(([value, says]) => el("option", { value }, says)))
