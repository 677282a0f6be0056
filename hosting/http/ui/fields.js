// The fields of a form: a control for each kind of schema, and a box for JSON where none fits.

import { FOCUSABLE, button, el, iconButton, plain, plural, visible } from "./dom.js"
import { accepts, alternatives, isObject, isOf, isSame, resolved } from "./schemas.js"

const DEPTH = 8 // of objects and lists; what lies deeper is JSON
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i
const MEANT = { boolean: "Yes or no", integer: "Whole number", number: "Number", object: "Object", array: "List", string: "Text" }
const KEYBOARDS = { email: "email", uri: "url", integer: "numeric", number: "decimal" }
const LIMITS = [
  ["minimum", (n) => `at least ${n}`],
  ["exclusiveMinimum", (n) => `more than ${n}`],
  ["maximum", (n) => `at most ${n}`],
  ["exclusiveMaximum", (n) => `less than ${n}`],
  ["multipleOf", (n) => `a multiple of ${n}`],
  ["minLength", (n) => `at least ${plural(n, "character")}`],
  ["maxLength", (n) => `at most ${plural(n, "character")}`],
  ["pattern", (text) => `as the pattern ${text}`],
  ["minItems", (n) => `at least ${plural(n, "item")}`],
  ["maxItems", (n) => `at most ${plural(n, "item")}`],
  ["format", (name) => (Object.hasOwn(FORMATS, name) ? FORMATS[name] : "")],
]
const FORMATS = { time: "as 09:30:00", "date-time": "as 2026-01-31T09:30:00Z", duration: "as PT1H30M", uuid: "a UUID" }
const MOST_BLANK = 5 // items that a new list begins with
let ids = 0

/** Return the field for a part of the schema. `at` has where it stands: its `name` and `path()`, the value that is
 * `given`, whether it `isRequired`, and whether the object around it `isNew`, so that its constants count.
 *
 * A field has its `element`, `read(faults)`, `focus()`, `says(text)` for a fault, and `named(name)` for another name. */
export function drawn(schema, at) {
  const part = resolved(schema, at.form.root)
  const { parts, isNullable } = alternatives(part, at.form.root)
  const inner = parts.length === 1 ? { ...parts[0], title: part.title ?? parts[0].title } : part
  const shown = at.given === undefined ? inner.default : at.given
  const place = { ...at, shown, isNullable, name: at.isItem ? at.name : (part.title ?? at.name) }
  const field = controlOf(inner, parts, place)(inner, place, parts)
  let isTouched = false
  field.element.addEventListener("input", () => (isTouched = true))
  const { read } = field
  const isAsked = at.given === undefined && (at.isRequired || (at.isNew && inner.const !== undefined))
  field.read = (faults) => (isTouched || isAsked ? read(faults) : at.given)
  return field
}

/** Return the function that draws such a value of that schema. */
function controlOf(schema, parts, { form, shown, depth, isRequired, isNullable }) {
  const isOpen = shown === undefined || (shown === null && isNullable)
  if (depth > DEPTH) return box
  if (!parts.length) return isNullable && isOpen ? choice : box
  if (parts.length > 1) return isOpen || parts.some((part) => accepts(part, shown, form.root)) ? union : box
  if (schema.const !== undefined) return shown === undefined || isSame(shown, schema.const) ? constant : box
  if (schema.enum) return isOpen || schema.enum.some((each) => isSame(each, shown)) ? choice : box
  if (!isOpen && !isOf(schema.type, shown)) return box
  switch (schema.type) {
    case "string":
    case "integer":
    case "number":
      return line
    case "boolean":
      return isNullable || (shown === undefined && !isRequired) ? choice : toggle
    case "array":
      return isObject(schema.items) && !schema.prefixItems ? list : box
    case "object":
      return isObject(schema.properties) && Object.keys(shown ?? {}).every((name) => Object.hasOwn(schema.properties, name)) ? group : box
    default:
      return box
  }
}

/** A text or a number. */
function line(schema, at) {
  const isText = schema.type === "string"
  const { default: usual } = schema
  const hasNull = at.isNullable && (at.isRequired || (usual !== undefined && usual !== null))
  const shown = at.shown === undefined || at.shown === null ? "" : String(at.shown)
  const placeholder = at.isRequired ? "" : usual === undefined || usual === null ? "Optional" : plain(`Default: ${usual}`)
  const input = { value: shown, placeholder, autocomplete: "off", inputMode: KEYBOARDS[schema.format] ?? KEYBOARDS[schema.type], spellcheck: isText && !schema.format }
  const control = isText && !schema.format ? el("textarea", { rows: at.depth ? 1 : 3, ...input }) : el("input", { type: schema.format === "date" && /^(\d{4}-\d\d-\d\d)?$/.test(shown) ? "date" : "text", ...input })
  const none = hasNull ? el("input", { type: "checkbox", checked: at.shown === null }) : null
  none?.addEventListener("change", () => none.checked && (control.value = ""))
  control.addEventListener("input", () => none && control.value && (none.checked = false))

  function read(faults) {
    if (none?.checked) return null
    const text = control.value
    if (!text.trim() && !at.isRequired) return text && isText ? text : absent(at)
    if (isText) return text || fault(faults, field, "Fill this in.")
    const value = Number(text)
    if (!NUMBER.test(text.trim()) || !Number.isFinite(value)) return fault(faults, field, "Write a number.")
    if (schema.type === "integer" && !Number.isInteger(value)) return fault(faults, field, "Write a whole number.")
    if (Number.isInteger(value) && !Number.isSafeInteger(value) && /^[+-]?\d+$/.test(text.trim())) return fault(faults, field, "This number has more digits than the page can keep.")
    return value
  }
  const field = row(schema, at, control, read, none && el("label", { class: "note" }, none, " None (null)"))
  return field
}

/** One of several values: of an enum, or yes, no and null. */
function choice(schema, at) {
  const values = schema.enum ?? (schema.type === "boolean" ? [true, false] : [])
  const all = at.isNullable && !values.includes(null) ? [...values, null] : values
  const index = all.findIndex((value) => isSame(value, at.shown))
  const control = el("select", {}, blank(schema, at, index < 0), all.map((value, at) => el("option", { value: at }, said(value))))
  control.value = index < 0 ? "" : index
  const read = (faults) => (control.value ? all[control.value] : at.isRequired ? fault(faults, field, "Choose one.") : undefined)
  const field = row(schema, at, control, read)
  return field
}

/** Yes or no. */
function toggle(schema, at) {
  const control = el("input", { type: "checkbox", role: "switch", checked: at.shown === true })
  const field = row(schema, at, control, () => control.checked)
  field.element.classList.add("switched")
  return field
}

/** A value that cannot be another one. */
function constant(schema, at) {
  const control = el("output", { tabIndex: -1 }, visible(said(schema.const)))
  return row(schema, at, control, () => schema.const)
}

/** A value of one of several schemas. */
function union(schema, at, parts) {
  const options = parts.map((part, index) => el("option", { value: index }, plain(part.title ?? MEANT[part.type] ?? `Choice ${index + 1}`)))
  const none = at.isNullable ? el("option", { value: "null" }, said(null)) : null
  const control = el("select", {}, at.isRequired ? null : blank(schema, at, true), options, none)
  const first = at.shown === undefined ? (at.isRequired ? 0 : -1) : parts.findIndex((part) => accepts(part, at.shown, at.form.root))
  control.value = first >= 0 ? first : at.shown === null ? "null" : ""
  const made = new Map()
  const body = el("div", { class: "chosen-part" })
  control.addEventListener("input", show)

  function show() {
    const { value: index } = control
    if (!made.has(index) && parts[index])
      made.set(index, drawn(parts[index], { ...at, name: plain(control.selectedOptions[0].textContent), isItem: true, given: Number(index) === first ? at.shown : undefined, isRequired: true, isNew: true, depth: at.depth + 1 }))
    body.replaceChildren(made.get(index)?.element ?? "")
  }
  const read = (faults) => (control.value === "null" ? null : made.get(control.value)?.read(faults))
  const field = row(schema, at, control, read, body)
  show()
  return field
}

/** A list, whose items are added and removed. */
function list(schema, at) {
  const items = []
  const rows = el("ol", { class: "items" })
  const more = button("Add", () => changed(() => add().field.focus()), "small")

  function add(given) {
    const item = {}
    items.push(item)
    item.field = drawn(schema.items, { ...at, name: "", isItem: true, given, isRequired: true, isNew: given === undefined, depth: at.depth + 1, path: () => [...at.path(), items.indexOf(item)] })
    item.remove = iconButton("close", "", () => changed(() => remove(item)))
    item.element = el("li", {}, item.field.element, item.remove)
    rows.append(item.element)
    number()
    return item
  }
  function remove(item) {
    const index = items.indexOf(item)
    items.splice(index, 1)
    item.element.remove()
    number()
    const next = items[index] ?? items.at(-1)
    const focused = next ? next.remove : more
    focused.focus()
  }
  function number() {
    for (const [index, { field, remove: button }] of items.entries()) {
      const name = plain(`${at.name} ${index + 1}`)
      field.named(name)
      button.title = `Remove ${name}`
      button.setAttribute("aria-label", button.title)
    }
    more.setAttribute("aria-label", plain(`Add to ${at.name}`))
  }
  function changed(change) {
    change()
    rows.dispatchEvent(new Event("input", { bubbles: true }))
  }
  const isEmptyMeant = at.isRequired || at.given !== undefined || schema.default?.length
  const read = (faults) => {
    const values = items.map(({ field }) => field.read(faults))
    return values.length || isEmptyMeant ? values : undefined
  }
  for (const given of at.shown ?? []) add(given)
  if (at.shown === undefined && at.isRequired) for (let missing = Math.min(schema.minItems ?? 0, MOST_BLANK); missing > 0; missing--) add()
  number()
  return framed(schema, { ...at, isRequired: at.isRequired || !at.isNullable }, () => [rows, more], read)
}

/** The members of an object. Where it may be left out they are drawn when it is not: a schema may name itself. */
function group(schema, at) {
  let members = []
  const draw = () => {
    members = Object.entries(schema.properties).map(([name, part]) => {
      const given = at.shown && Object.hasOwn(at.shown, name) ? at.shown[name] : undefined
      return [name, drawn(part, { ...at, name, isItem: false, given, isRequired: Boolean(schema.required?.includes(name)), isNew: !at.shown, depth: at.depth + 1, path: () => [...at.path(), name] })]
    })
    return members.map(([, field]) => field.element)
  }
  const read = (faults) => Object.fromEntries(members.map(([name, field]) => [name, field.read(faults)]).filter(([, value]) => value !== undefined))
  return framed(schema, at, draw, read)
}

/** JSON, for what no other control draws. */
export function box(schema, at) {
  const control = el("textarea", { class: "json", rows: 4, spellcheck: false, placeholder: at.isRequired ? "JSON" : "JSON, optional", value: at.given === undefined ? "" : JSON.stringify(at.given, null, 2) })
  const read = (faults) => {
    if (!control.value.trim() && !at.isRequired) return undefined
    try {
      return JSON.parse(control.value)
    } catch (error) {
      return fault(faults, field, `This is not JSON: ${error.message}`)
    }
  }
  const field = row(schema, at, control, read)
  field.isBox = true
  return field
}

/** Return a field of one control with its name, its hint and its fault. */
function row(schema, at, control, read, more = null) {
  const id = `field-${++ids}`
  const label = el("label", { for: id }, visible(at.name))
  const [hint, refusal] = [hintOf(schema, `${id}-hint`), el("p", { class: "refusal", id: `${id}-fault` })]
  control.id = id
  control.setAttribute("aria-describedby", `${hint ? `${id}-hint ` : ""}${id}-fault`)
  const says = (text) => {
    refusal.replaceChildren(...visible(text))
    if (text) control.setAttribute("aria-invalid", "true")
    else control.removeAttribute("aria-invalid")
  }
  const element = el("div", { class: "row-of-field" }, label, control, more, hint, refusal)
  return kept(at, { element, read, says, focus: () => control.focus(), named: (name) => label.replaceChildren(name) })
}

/** Return a field of several, under its name. One that may be left out, or be null, has a switch for that. */
function framed(schema, at, draw, read) {
  const id = `field-${++ids}`
  const canBeOff = !at.isRequired || at.isNullable
  const [hint, refusal] = [hintOf(schema, `${id}-hint`), el("p", { class: "refusal", id: `${id}-fault` })]
  const body = el("div", { class: "members" })
  const name = el("span", {}, visible(at.name))
  const on = canBeOff ? el("input", { type: "checkbox", role: "switch", checked: Boolean(at.shown) }) : null
  const show = () => {
    if ((on?.checked ?? true) && !body.childElementCount) body.append(...draw())
    body.hidden = !(on?.checked ?? true)
  }
  on?.addEventListener("input", show)
  const legend = el("legend", {}, on ? el("label", { class: "switched" }, on, name) : name)
  const element = at.depth ? el("fieldset", { "aria-describedby": `${hint ? `${id}-hint ` : ""}${id}-fault` }, legend, hint, body, refusal) : el("div", {}, hint, body, refusal)
  show()
  return kept(at, {
    element,
    read: (faults) => (on?.checked ?? true ? read(faults) : at.isRequired ? null : absent(at)),
    says: (text) => refusal.replaceChildren(...visible(text)),
    focus: () => (on ?? element.querySelector(FOCUSABLE))?.focus(),
    named: (text) => name.replaceChildren(text),
  })
}

/** Return the field, which the form knows from now on. */
function kept(at, field) {
  at.form.fields.add(field)
  return Object.assign(field, { path: at.path, isThere: () => field.element.isConnected && !field.element.closest("[hidden]") })
}

/** Return what an empty field reads that may be left out: null where that was given. */
const absent = ({ given }) => (given === null ? null : undefined)

function fault(faults, field, text) {
  faults.push([field, text])
}

function hintOf(schema, id) {
  const rules = LIMITS.map(([name, says]) => (schema[name] === undefined ? "" : says(schema[name]))).filter(Boolean).join(", ")
  const text = [schema.description, rules && `${rules[0].toUpperCase()}${rules.slice(1)}.`].filter(Boolean).join(" ")
  return text ? el("p", { class: "note", id }, visible(text)) : null
}

const blank = ({ default: usual }, { isRequired }, isOffered) => (isRequired && !isOffered ? null : el("option", { value: "" }, isRequired ? "Choose" : usual === undefined || usual === null ? "Left out" : `Default: ${said(usual)}`))
const said = (value) => (value === true ? "Yes" : value === false ? "No" : value === null ? "None (null)" : plain(typeof value === "string" ? value : JSON.stringify(value)))
