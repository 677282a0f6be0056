// The schedules of an agent: next run and last result of each; made, paused and deleted here.

import { Problem, paths, read, send } from "./api.js"
import { Cards, nothing, time } from "./cards.js"
import { wordsOf } from "./crons.js"
import { confirmed } from "./dialogs.js"
import { button, byId, el, lead, visible } from "./dom.js"
import { Planning } from "./planning.js"
import { hrefOf } from "./threads.js"

const ASKED_CHARACTERS = 300
const TITLE_CHARACTERS = 80

/** The schedules of one agent, the oldest first. */
export class Schedules extends Cards {
  /** `takesText`: the agent is asked by words, and not by JSON. */
  constructor(agent, threadId, failed, takesText) {
    super(agent, threadId, failed)
    this.planning = new Planning(agent, threadId, takesText, (schedule) => this._made(schedule))
    this.planning.element.hidden = true // until it is known that the app has schedules
    this.element.prepend(this.planning.element)
  }

  /** Return the schedules; null where the app has no routes for them. */
  async _read() {
    try {
      return (await read(paths.schedules(this.agent))).schedules
    } catch (problem) {
      if (problem instanceof Problem && problem.status === 404 && !problem.code) return null
      throw problem
    }
  }

  _idOf({ schedule_id: id }) {
    return idOf(id)
  }

  _draw() {
    this.planning.element.hidden = !this.all
    super._draw()
  }

  async _made({ schedule_id: id }) {
    this.changes += 1
    await this._load().catch(this.failed)
    lead(byId(idOf(id))?.querySelector("button"))
  }

  _card(schedule) {
    const { schedule_id: id, status, cron, at, time_zone: zone, request, thread_id: thread, next_run_at: next, problem, last_run: last, last_missed_at: missed } = schedule
    const asked = request.message ?? JSON.stringify(request.input ?? request.contents ?? request)
    const title = titleOf(asked)
    const rows = [
      ["When", [cron ? [wordsOf(cron) && `${wordsOf(cron)} · `, el("code", {}, cron)] : `Once, on ${dateOf(at, zone)}`, ` in ${zone}`].flat()],
      asked.trim() !== title && ["Message", visible(asked.length > ASKED_CHARACTERS ? `${asked.slice(0, ASKED_CHARACTERS)}…` : asked)],
      ["Thread", thread ? el("a", { href: hrefOf(this.agent, thread) }, visible(thread)) : "a new thread for each run"],
      ["Next run", next ? dated(next, zone) : `none (${status})`],
      problem && ["Problem", problem],
      last && ["Last run", [dated(last.at, zone), " · ", last.run_id ? el("a", { href: hrefOf(this.agent, last.thread_id) }, "its thread") : el("code", {}, last.code)]],
      cron && !last && ["Last run", "none yet"],
      missed && ["Skipped", dated(missed, zone)],
    ].filter(Boolean)
    const paused = status === "paused"
    const turned = button(paused ? "Resume" : "Pause", () => this._act(schedule, paused ? "resume" : "pause"))
    const actions = el("div", { class: "actions" }, status === "ended" ? null : turned, button("Delete", () => this._delete(id)))
    return el("section", { class: "card" }, el("h2", {}, visible(title)), el("dl", { class: "receipt" }, rows.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])), actions)
  }

  async _act({ schedule_id: id }, verb) {
    await this._changed(() => send("POST", paths.schedules(this.agent, id, `/${verb}`)), `Schedule ${verb}d.`)
    lead(byId(idOf(id))?.querySelector("button"))
  }

  async _delete(id) {
    const text = "It starts no more runs. Its threads stay, and a run in progress continues."
    if (!(await confirmed("Delete this schedule?", text, "Delete schedule"))) return
    await this._changed(() => send("DELETE", paths.schedules(this.agent, id)), "Schedule deleted.")
    lead(this.list.querySelector("button"))
  }

  _nothing(schedules) {
    return schedules
      ? nothing("No schedules yet", `A schedule runs ${this.agent} at set times: every weekday at nine, for example, or once.`)
      : nothing("Schedules are off", "This app was started without schedules.")
  }
}

/** Return how a request begins: its first line, as the list of threads has it. */
function titleOf(asked) {
  const line = asked.trim().split("\n", 1)[0].trim()
  return line.length > TITLE_CHARACTERS ? `${line.slice(0, TITLE_CHARACTERS)}…` : line
}

/** Return a time as a date, and how far it is. */
const dated = (at, zone) => el("span", {}, dateOf(at, zone), " · ", time(at))

/** Return a date in the schedule's time zone; in the reader's own where the browser does not know that. */
function dateOf(at, zone) {
  const shown = { weekday: "short", year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" }
  try {
    return new Date(at).toLocaleString(undefined, { ...shown, timeZone: zone })
  } catch {
    return new Date(at).toLocaleString(undefined, { ...shown, timeZoneName: "short" })
  }
}

const idOf = (id) => `schedule-${id}`
