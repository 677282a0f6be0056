// Nodes are made here and nowhere else. Text is always text: nothing that a server or a model says is read as HTML.

const SVG = "http://www.w3.org/2000/svg"
const INPUT_METHOD = 229
const MOST_DEPTH = 8 // of a value that is shown by its members; what lies deeper is JSON
const UNSEEN = /((?![\t\n])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Default_Ignorable_Code_Point}])/u
export const FOCUSABLE = "input, textarea, select, button, output"
const ICONS = {
  approve: "M5 12.5l4.5 4.5L19 7.5",
  attach: "M19 11.5l-7.4 7.4a4.6 4.6 0 0 1-6.5-6.5l8-8a3.1 3.1 0 0 1 4.4 4.4l-8 8a1.5 1.5 0 0 1-2.2-2.2l7.4-7.3",
  bell: "M6 16.5V11a6 6 0 0 1 12 0v5.5l1.5 2h-15zM10 21h4",
  bookmark: "M7 4h10v16l-5-4-5 4z",
  chart: "M4 20h16M7 16v-5M12 16V6M17 16v-8",
  clock: "M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 7v5l3.5 2",
  close: "M6 6l12 12M18 6L6 18",
  code: "M9 7l-5 5 5 5M15 7l5 5-5 5",
  copy: "M9 9h10v10H9zM5 15V5h10",
  edit: "M4 20l1-4L16 5l3 3L8 19zM14 7l3 3",
  down: "M12 5v14M6 13l6 6 6-6",
  download: "M12 4v11M7 10.5l5 5 5-5M5 20h14",
  file: "M6 3h8l4 4v14H6zM14 3v4h4M9 12h6M9 16h6",
  inbox: "M4 13.5L6.5 5h11L20 13.5V19H4zM4 13.5h5a3 3 0 0 0 6 0h5",
  key: "M14.5 9.5a4.5 4.5 0 1 0-4 4.5l2 2H15v2h2v2h3v-3.5l-5.8-5.8a4.6 4.6 0 0 0 .3-1.2zM9 8.5v.01",
  keyboard: "M3 7h18v10H3zM7 10.5h.01M11 10.5h.01M15 10.5h.01M8 14h8",
  menu: "M4 7h16M4 12h16M4 17h16",
  model: "M12 4l1.8 5.2L19 11l-5.2 1.8L12 18l-1.8-5.2L5 11l5.2-1.8zM19 17v4M17 19h4",
  pin: "M9 4h6l-1 6 3 3H7l3-3zM12 13v7",
  plus: "M12 5v14M5 12h14",
  pulse: "M3 12h4l3 7 4-14 3 7h4",
  reset: "M4 12a8 8 0 1 0 2.6-5.9M4 4v4.5h4.5",
  search: "M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM20 20l-4-4",
  send: "M12 19V5M6 11l6-6 6 6",
  share: "M12 15V4M8 8l4-4 4 4M6 12v8h12v-8",
  stop: "M7.5 7.5h9v9h-9z",
  theme: "M12 4a8 8 0 1 0 0 16zM12 4a8 8 0 0 1 0 16",
  thumb: "M8 11v9h9l3-6v-3h-6l1-5-2-2-5 7zM8 20H4v-9h4",
  tool: "M14.5 6.5a4 4 0 0 0-5 5L4 17l3 3 5.5-5.5a4 4 0 0 0 5-5L15 12l-3-3z",
  trash: "M5 7h14M10 7V4.5h4V7M7 7l1 13h8l1-13M10.5 11v5.5M13.5 11v5.5",
}

/** Return a new element. `set` has its properties; `class`, `aria-*`, `data-*` and other names with a dash are
 * attributes, `on` has listeners by their events. Children are nodes, texts, or nothing. */
export function el(name, set = {}, ...children) {
  const made = document.createElement(name)
  for (const [key, value] of Object.entries(set)) {
    if (value === undefined || value === null) continue
    if (key === "on") for (const [event, listener] of Object.entries(value)) made.addEventListener(event, listener)
    else if (key === "class" || key === "for" || key === "role" || key.includes("-")) made.setAttribute(key, value)
    else made[key] = value
  }
  made.append(...children.flat().filter((child) => child !== undefined && child !== null && child !== false))
  return made
}

/** Return an icon, which is decoration: its parent has the words. */
export const icon = (name) =>
  drawing("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" }, drawing("path", { d: ICONS[name] }))

/** Return a part of a drawing. `set` has its attributes. */
export function drawing(name, set = {}, ...children) {
  const made = document.createElementNS(SVG, name)
  for (const [key, value] of Object.entries(set)) made.setAttribute(key, value)
  made.append(...children)
  return made
}

/** Return a button that shows an icon, and has its text as tooltip and label. */
export const iconButton = (name, says, click, kind = "quiet") =>
  el("button", { type: "button", class: `icon-button ${kind}`, title: says, "aria-label": says, on: { click } }, icon(name))

/** Return the button with a word beside its icon, which stands there as far as there is room. */
export function worded(button, word) {
  button.append(el("span", { class: "word" }, word))
  return button
}

/** Return a button with words on it. */
export const button = (says, click, kind = "") =>
  el("button", { type: "button", class: `button ${kind}`, on: { click } }, says)

/** Return a value with its title, as a person reads it: an object by its members. */
export function valueNode(title, value) {
  const heading = el("h4", { role: "heading", "aria-level": "3" }, title)
  if (hasMembers(value)) return el("div", {}, heading, el("div", { class: "values", tabIndex: 0 }, shown(value)))
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2)
  return el("div", {}, heading, el("pre", { tabIndex: 0 }, visible(text ?? "none")))
}

function shown(value, depth = 0) {
  if (typeof value === "string" && value) return visible(value)
  if (!hasMembers(value) || depth > MOST_DEPTH) return el("code", {}, visible(JSON.stringify(value)))
  if (Array.isArray(value)) return el("ol", {}, value.map((item) => el("li", {}, shown(item, depth + 1))))
  return el("dl", {}, Object.entries(value).flatMap(([name, member]) => [el("dt", {}, visible(name)), el("dd", {}, shown(member, depth + 1))]))
}

const hasMembers = (value) => typeof value === "object" && value !== null && Object.keys(value).length > 0

/** Return the nodes of a text by which a person decides: what would show nothing, or turn the words beside it, is
 * written out, as JSON escapes it. */
export function visible(text) {
  const escaped = (unseen) => unseen.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
  return String(text ?? "").split(UNSEEN).map((part, at) => (at % 2 ? el("mark", { class: "unseen", title: "An invisible character" }, escaped(part)) : part))
}

/** Return the same as one text, for where no nodes can be. */
export const plain = (text) => visible(text).map((part) => part.textContent ?? part).join("")

/** Return whether that key was pressed, and not to choose a word of an input method. Safari ends the word before the
 * key that confirms it: there only the old code says so. */
export const pressed = (event, key) => event.key === key && !event.isComposing && event.keyCode !== INPUT_METHOD

/** Return a count with its noun, as in "1 message" and "1,200 messages". */
export const plural = (count, noun) => `${count.toLocaleString()} ${noun}${count === 1 ? "" : "s"}`

/** Return the element of the page that has this id. */
export const byId = (id) => document.getElementById(id)

/** Move the focus there after an action, unless the user has gone to another field or turn. */
export function lead(element, options) {
  if (!document.activeElement?.closest("input, textarea, select, dialog, .turns")) element?.focus(options)
}

/** Remove an element. A focus in it goes to the other one. */
export function dismiss(element, other) {
  const hadFocus = element.contains(document.activeElement)
  element.remove()
  if (hadFocus) other?.focus()
}

/** Have a screen reader say it after its earlier messages. */
export function announce(text) {
  byId("live").append(el("p", {}, text))
  while (byId("live").childElementCount > 20) byId("live").firstChild.remove()
}
