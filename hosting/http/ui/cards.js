// A list of the app's things as cards: polled, and drawn anew after a change.

import { checked } from "./api.js"
import { announce, byId, el } from "./dom.js"
import { inFull, until } from "./times.js"

const POLL_MS = 10_000
const FOCUSED = "button, a, textarea"

/** The things of one agent, in the app's order. `threadId` is the thread that the page goes back to.
 *
 * Each kind has `_read()`, `_idOf(one)`, `_card(one)`, and `_nothing(all)` for where there is none. */
export class Cards {
  constructor(agent, threadId, failed) {
    this.agent = agent
    this.threadId = threadId
    this.failed = failed
    this.pollMs = POLL_MS
    this.isLeft = false
    this.changes = 0
    this.all = null
    this.shown = ""
    this.list = el("ul", { class: "cards" })
    this.note = el("div", {})
    this.element = el("div", { class: "view" }, this.list, this.note)
  }

  /** Show them, and follow their changes. */
  async open() {
    while (!this.isLeft) {
      if (!document.hidden) await this._load().catch(this.failed)
      await new Promise((wait) => {
        this.look = wait // called, it looks at once
        setTimeout(wait, this.pollMs)
      })
    }
  }

  leave() {
    this.isLeft = true
  }

  async _load() {
    const { changes } = this
    const all = await this._read()
    if (this.isLeft || changes !== this.changes) return // it was asked before something was changed here
    const shown = JSON.stringify(all)
    if (shown === this.shown) return this._showTimes()
    this.shown = shown
    this.all = all
    this._draw()
  }

  /** Draw all of them; the focus stays where it is on its card. */
  _draw() {
    const card = document.activeElement?.closest(".cards > li")
    const focused = card ? [...card.querySelectorAll(FOCUSED)].indexOf(document.activeElement) : -1
    this.list.replaceChildren(...(this.all ?? []).map((one) => el("li", { id: this._idOf(one) }, this._card(one))))
    this.note.replaceChildren(...(this.all?.length ? [] : [this._nothing(this.all)]))
    if (card) byId(card.id)?.querySelectorAll(FOCUSED)[focused]?.focus()
  }

  /** Send a change and show its result. Returns whether it was accepted. */
  async _changed(request, says) {
    let isTaken = false
    this.changes += 1
    try {
      await checked(await request())
      isTaken = true
      announce(says)
    } catch (problem) {
      this.failed(problem)
    }
    this.changes += 1
    await this._load().catch(this.failed)
    return isTaken
  }

  _showTimes() {
    for (const one of this.list.querySelectorAll("time")) one.textContent = until(one.dateTime)
  }
}

/** Return a time for a card: relative, and in full on hover. */
export const time = (at) => el("time", { dateTime: at, title: inFull(at) }, until(at))

/** Return the content of an empty view. */
export const nothing = (title, text) => el("section", { class: "empty" }, el("h2", {}, title), el("p", {}, text))
