// Keys that lead to what is used most, and their list. They work outside of fields, and can be turned off: who speaks to
// a computer presses letters without meaning to.

import { choice, opened } from "./dialogs.js"
import { byId, el } from "./dom.js"

const KEPT = "agents.shortcuts"
const OFF = "off"
const TYPED = "input, textarea, select, dialog"

const SHORTCUTS = [
  ["m", "Write a message", () => byId("message").focus()],
  ["n", "New thread", () => (location.hash = byId("new").hash)],
  ["/", "Find a thread", find],
  ["j", "Next turn", () => step(1)],
  ["k", "Turn before", () => step(-1)],
  ["c", "Copy the answer of this turn, or of the newest one", () => press(".copy")],
  ["t", "Its timeline", () => press(".foot [aria-expanded]")],
  ["a", "Approvals", () => (location.hash = byId("inbox").hash)],
  ["?", "This list", showShortcuts],
]
const IN_THE_BOX = [
  ["Enter", "Send the message"],
  ["Shift+Enter", "Start a new line"],
]

/** Have the keys work. */
export function beginShortcuts() {
  addEventListener("keydown", (event) => {
    const { key, target } = event
    const isOther = event.defaultPrevented || event.isComposing || event.ctrlKey || event.metaKey || event.altKey
    if (isOther || target.closest?.(TYPED) || document.querySelector("dialog[open]") || localStorage.getItem(KEPT) === OFF) return
    const [, , run] = SHORTCUTS.find(([name]) => name === key) ?? []
    if (!run) return
    event.preventDefault()
    run()
  })
}

/** Show the list of keys, where they are turned on and off. */
export async function showShortcuts() {
  const isOn = el("input", { type: "checkbox", checked: localStorage.getItem(KEPT) !== OFF })
  isOn.addEventListener("change", () => (isOn.checked ? localStorage.removeItem(KEPT) : localStorage.setItem(KEPT, OFF)))
  const rows = [...SHORTCUTS, ...IN_THE_BOX].flatMap(([key, says]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, says)])
  await opened(
    "Keyboard shortcuts",
    el("dl", { class: "receipt" }, ...rows),
    el("label", { class: "check" }, isOn, "Use keys without Ctrl or Alt"),
    el("div", { class: "actions" }, choice("Close", "", "primary")),
  )
}

/** Focus the search, in the side that a narrow screen opens first. */
function find() {
  if (byId("menu").offsetParent) byId("menu").firstChild.click()
  byId("search").focus()
}

const turnHere = () => document.activeElement?.closest(".turn")

/** Go to another turn; behind the newest one is the box, before the first one what is not loaded yet. */
function step(by) {
  const turns = [...document.querySelectorAll(".turn")]
  const here = turns.indexOf(turnHere())
  const next = here < 0 ? turns.at(-1) : turns[here + by]
  if (!next) return (by > 0 ? byId("message") : document.querySelector(".earlier button:not([hidden])"))?.focus()
  next.tabIndex = -1
  next.focus({ preventScroll: true })
  next.scrollIntoView()
}

function press(selector) {
  const turn = turnHere()
  const buttons = (turn ?? document).querySelectorAll(turn ? selector : `.turn ${selector}`)
  ;[...buttons].at(-1)?.click()
}
