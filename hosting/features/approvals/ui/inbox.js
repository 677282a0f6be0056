// The inbox: every tool call that waits for a person, whichever agent asks, on whichever thread.

import { approvalCard } from "./approvals.js"
import { checked, paths, read, send } from "./api.js"
import { FOCUSABLE, button, dismiss, el, lead, visible } from "./dom.js"
import { hrefOf } from "./threads.js"
import { inFull, until } from "./times.js"

const PAGE = 50
const POLL_MS = 4000

/** Return how many calls wait, as far as one page tells. */
export async function countWaiting() {
  const { approvals, next_cursor: more } = await read(paths.waiting(PAGE))
  return `${approvals.length || ""}${more ? "+" : ""}`
}

/** The waiting approvals, the longest first. `counted(text)` gets their number, `failed(problem)` an error. */
export class Inbox {
  constructor({ counted, failed }) {
    this.hooks = { counted, failed }
    this.cards = new Map()
    this.isLeft = false
    this.pages = 1
    this.list = el("div", { class: "inbox", role: "list" })
    this.note = el("div", {})
    this.more = button("More", () => this._load(this.pages + 1).catch(failed), "quiet")
    this.more.hidden = true
    this.element = el("div", { class: "view" }, this.list, this.note, this.more)
  }

  /** Show them, and those that come. */
  async open() {
    while (!this.isLeft) {
      if (!document.hidden) await this._load().catch(this.hooks.failed)
      await new Promise((wait) => setTimeout(wait, POLL_MS))
    }
  }

  leave() {
    this.isLeft = true
  }

  /** Read so many pages; what is on none of them any more was answered elsewhere. */
  async _load(pages = this.pages) {
    const approvals = []
    let cursor = ""
    for (let left = pages; left && (cursor || left === pages); left--) {
      const page = await read(paths.waiting(PAGE, cursor))
      approvals.push(...page.approvals)
      cursor = page.next_cursor
    }
    if (this.isLeft || pages < this.pages) return
    const here = new Set(approvals.map(keyOf))
    for (const [key, card] of this.cards)
      if (!here.has(key) && !card.isDecided) {
        const next = card.element.nextElementSibling ?? card.element.previousElementSibling
        dismiss(card.element, next?.querySelector(FOCUSABLE))
        this.cards.delete(key)
      }
    for (const approval of approvals) if (!this.cards.has(keyOf(approval))) this._add(approval)
    this.pages = pages
    this.cursor = cursor
    this.more.hidden = !cursor
    this._count()
  }

  _add(approval) {
    const card = { isDecided: false }
    const href = hrefOf(approval.agent, approval.thread_id)
    const asked = el("time", { dateTime: approval.requested_at, title: inFull(approval.requested_at) }, until(approval.requested_at))
    const from = el("h2", { class: "from" }, el("b", {}, visible(approval.agent)), " on ", el("a", { href }, visible(approval.thread_id)), " · ", asked)
    const shown = approvalCard(approval, async (_, decision) => {
      const path = paths.thread(approval.agent, approval.thread_id, `/approvals/${encodeURIComponent(approval.id)}`, approval.agent_kind)
      try {
        await checked(await send("POST", path, { body: { ...decision, wait_for_response: false } }))
      } catch (problem) {
        card.isDecided = true
        this._count()
        throw problem
      }
      card.isDecided = true
      const said = "value" in decision ? "Answered" : decision.approved ? "Approved" : `Refused${decision.reason ? `: ${decision.reason}` : ""}`
      const done = el("p", { role: "status", tabIndex: -1 }, visible(`${said}. `), el("code", {}, visible(approval.tool)), " on ", el("a", { href }, visible(approval.thread_id)))
      card.element.replaceChildren(from, el("div", { class: "card" }, done))
      lead(done)
      this._count()
    })
    card.element = el("div", { role: "listitem" }, from, words(approval), shown)
    this.cards.set(keyOf(approval), card)
    this.list.append(card.element)
  }

  _count() {
    const open = [...this.cards.values()].filter((card) => !card.isDecided).length
    this.hooks.counted(`${open || ""}${this.cursor ? "+" : ""}`)
    const nothing = [el("h2", {}, "Nothing waits for you"), el("p", {}, "Tool calls that need your approval appear here, from every thread."), el("p", { class: "note" }, "Set ", el("code", {}, 'approval_mode="always_require"'), " on a tool to make it ask.")]
    this.note.replaceChildren(...(this.cards.size ? [] : [el("section", { class: "empty" }, nothing)]))
  }
}

/** Return the words before the question: what was asked of the agent, and what it said. */
function words({ agent, message, response }) {
  const said = [["Asked", message], [`${agent} said`, response]].filter(([, text]) => text?.trim())
  if (!said.length) return null
  return el("dl", { class: "words" }, said.flatMap(([who, text]) => [el("dt", {}, visible(who)), el("dd", { tabIndex: 0 }, visible(text.trim()))]))
}

const keyOf = ({ agent, thread_id: thread, id }) => `${agent}/${thread}/${id}`
