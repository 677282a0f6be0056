// The schedules of an agent: when each has its next run, what became of its last one; paused, resumed and deleted here.

import { Problem, checked, paths, read, send } from "./api.js"
import { confirmed } from "./dialogs.js"
import { announce, button, byId, el } from "./dom.js"
import { hrefOf } from "./threads.js"
import { inFull, until } from "./times.js"

const POLL_MS = 10_000
const ASKED_CHARACTERS = 300

/** The schedules of one agent, the oldest first. `threadId` is the thread that the page goes back to. */
export class Schedules {
  constructor(agent, threadId, failed) {
    this.agent = agent
    this.threadId = threadId
    this.failed = failed
    this.isLeft = false
    this.changes = 0
    this.shown = ""
    this.list = el("ul", { class: "cards" })
    this.note = el("div", {})
    this.element = el("div", { class: "view" }, this.list, this.note)
  }

  /** Show them, and what becomes of them. */
  async open() {
    while (!this.isLeft) {
      if (!document.hidden) await this._load().catch(this.failed)
      await new Promise((wait) => setTimeout(wait, POLL_MS))
    }
  }

  leave() {
    this.isLeft = true
  }

  async _load() {
    const { changes } = this
    const schedules = await this._read()
    if (this.isLeft || changes !== this.changes) return // it was asked before something was changed here
    this.note.replaceChildren(...(schedules?.length ? [] : [nothingYet(this.agent, schedules)]))
    const shown = JSON.stringify(schedules)
    if (shown === this.shown) return this._showTimes()
    this.shown = shown
    const card = document.activeElement?.closest(".cards > li")
    const focused = card ? [...card.querySelectorAll("button, a")].indexOf(document.activeElement) : -1
    this.list.replaceChildren(...(schedules ?? []).map((one) => el("li", { id: `schedule-${one.schedule_id}` }, this._card(one))))
    if (card) byId(card.id)?.querySelectorAll("button, a")[focused]?.focus()
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

  _card(schedule) {
    const { schedule_id: id, status, cron, at, time_zone: zone, request, thread_id: thread, next_run_at: next, last_run: last, last_missed_at: missed } = schedule
    const when = cron ? [el("code", {}, cron), ` in ${zone}`] : [`Once, on ${inFull(at)}`]
    const asked = request.message ?? JSON.stringify(request.input ?? request.contents ?? request)
    const rows = [
      ["Asks", asked.length > ASKED_CHARACTERS ? `${asked.slice(0, ASKED_CHARACTERS)}…` : asked],
      ["Thread", thread ? el("a", { href: hrefOf(this.agent, thread) }, thread) : "a new one for each run"],
      ["Next run", next ? time(next) : `none (${status})`],
      last && ["Last run", [time(last.at), ", ", last.run_id ? el("a", { href: hrefOf(this.agent, last.thread_id) }, "its thread") : el("code", {}, last.code)]],
      missed && ["Skipped", time(missed)],
    ].filter(Boolean)
    const paused = status === "paused"
    const turned = button(paused ? "Resume" : "Pause", () => this._act(schedule, paused ? "resume" : "pause"))
    const actions = el("div", { class: "actions" }, status === "ended" ? null : turned, button("Delete", () => this._delete(id)))
    return el("section", { class: "card" }, el("h2", {}, when), el("dl", { class: "receipt" }, rows.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, value)])), actions)
  }

  async _act({ schedule_id: id }, verb) {
    await this._changed(() => send("POST", paths.schedules(this.agent, id, `/${verb}`), { action: true }), `The schedule is ${verb}d.`)
    byId(`schedule-${id}`)?.querySelector("button").focus()
  }

  async _delete(id) {
    const text = "No run of it begins any more. Its threads, and a run that has begun, stay as they are."
    if (!(await confirmed("Delete this schedule?", text, "Delete it"))) return
    await this._changed(() => send("DELETE", paths.schedules(this.agent, id), { action: true }), "The schedule is deleted.")
    this.list.querySelector("button")?.focus()
  }

  async _changed(request, says) {
    this.changes += 1
    try {
      await checked(await request())
      announce(says)
    } catch (problem) {
      this.failed(problem)
    }
    this.changes += 1
    await this._load().catch(this.failed)
  }

  _showTimes() {
    for (const one of this.list.querySelectorAll("time")) one.textContent = until(one.dateTime)
  }
}

const time = (at) => el("time", { dateTime: at, title: inFull(at) }, until(at))

function nothingYet(agent, schedules) {
  const [title, text] = schedules
    ? ["No schedules yet", `A schedule has ${agent} run by itself, each weekday at nine or once at a time. A program makes it, by POST to the agent's schedules.`]
    : ["This app has no schedules", "They are switched off here, or its worker runs without them."]
  return el("section", { class: "empty" }, el("h2", {}, title), el("p", {}, text))
}
