// Shows an OpenAPI document, and tries its operations. Text of the document and of answers is always text.

const VERBS = ["get", "post", "put", "patch", "delete", "head", "options"]
const DEPTH = 6 // as deep as a person reads
const find = document.querySelector("#find")
const key = document.querySelector("#key input")
const main = document.querySelector("main")

const make = (name, set = {}, ...children) => {
  const made = Object.assign(document.createElement(name), set)
  made.append(...children.flat().filter((child) => child !== null && child !== undefined))
  return made
}

/** Return the part that a reference leads to. */
const follow = (all, part) =>
  part?.$ref ? follow(all, part.$ref.slice(2).split("/").reduce((at, key) => at[key.replaceAll("~1", "/").replaceAll("~0", "~")], all)) : part

/** Return the schema with what it refers to in its place. */
function whole(all, part, depth = DEPTH) {
  if (!part || typeof part !== "object") return part
  if (Array.isArray(part)) return part.map((item) => whole(all, item, depth))
  if (part.$ref) return depth ? whole(all, follow(all, part), depth - 1) : part.$ref.split("/").at(-1)
  return Object.fromEntries(Object.entries(part).map(([name, value]) => [name, whole(all, value, depth)]))
}

/** Return a body to begin with: where no member is required, the first one shows how a body looks. */
function bodyOf(schema) {
  const body = exampleOf(schema)
  const first = Object.entries(schema?.properties ?? {})[0]
  return first && JSON.stringify(body) === "{}" ? { [first[0]]: exampleOf(first[1]) } : body
}

/** Return a value of the schema's shape. */
function exampleOf(schema) {
  if (!schema || typeof schema !== "object") return null
  for (const value of [schema.example, schema.examples?.[0], schema.const, schema.default, schema.enum?.[0]]) if (value !== undefined) return value
  const choice = (schema.anyOf ?? schema.oneOf)?.find((part) => part.type !== "null")
  if (choice && !schema.properties) return exampleOf(choice)
  const required = new Set([...(schema.required ?? []), ...(choice?.required ?? [])])
  const type = [schema.type].flat()[0] ?? (schema.properties ? "object" : "string")
  if (type === "object") return Object.fromEntries([...required].map((name) => [name, exampleOf(schema.properties?.[name] ?? choice?.properties?.[name] ?? {})]))
  if (type === "array") return schema.minItems ? [exampleOf(schema.items)] : []
  return { integer: schema.minimum ?? 1, number: schema.minimum ?? 1, boolean: true, null: null }[type] ?? "..."
}

const bodies = (all, content = {}) =>
  Object.entries(content).flatMap(([type, { schema }]) => [
    make("p", {}, make("code", { textContent: type })),
    schema && make("pre", { tabIndex: 0, textContent: JSON.stringify(whole(all, schema), null, 2) }),
  ])

const pretty = (text) => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

/** Return the form that sends a request of the operation, and shows its answer. */
function trial(all, path, verb, parameters, body) {
  const fields = parameters.map((part) => {
    const values = part.schema?.enum ?? (part.schema?.type === "boolean" ? [true, false] : null)
    const input = values ? make("select", {}, [...(part.required ? [] : [""]), ...values].map((value) => make("option", { textContent: value }))) : make("input", { required: part.required ?? false, spellcheck: false, autocomplete: "off" })
    return { part, input, label: make("label", {}, `${part.name}${part.required ? "" : " (optional)"}`, make("span", { textContent: [part.in, part.description].filter(Boolean).join(" · ") }), input) }
  })
  const types = Object.keys(body?.content ?? {})
  const type = make("select", {}, types.map((name) => make("option", { textContent: name })))
  const text = make("textarea", { spellcheck: false })
  const filled = () => {
    const { example, examples, schema } = body.content[type.value]
    const value = example ?? follow(all, Object.values(examples ?? {})[0])?.value ?? bodyOf(whole(all, schema))
    text.value = typeof value === "string" ? value : JSON.stringify(value, null, 2)
  }
  type.addEventListener("change", filled)
  if (types.length) filled()
  const status = make("p", { role: "status" })
  const answer = make("pre", { tabIndex: 0, hidden: true })
  const send = make("button", { type: "submit", className: "primary", textContent: "Send" })
  let sent = null

  async function run() {
    sent = new AbortController()
    send.textContent = "Stop"
    answer.textContent = ""
    status.className = status.textContent = ""
    try {
      const response = await fetch(address(all, path, fields), { ...options(), signal: sent.signal })
      status.textContent = `${response.status} ${response.statusText} · ${response.headers.get("content-type") ?? "no body"}`
      status.className = response.ok ? "" : "bad"
      answer.hidden = false
      for await (const part of parts(response)) answer.append(part)
      if (/json/.test(response.headers.get("content-type"))) answer.textContent = pretty(answer.textContent)
    } catch (error) {
      status.textContent = error.name === "AbortError" ? "Stopped." : `The host does not answer: ${error.message}`
      status.className = error.name === "AbortError" ? "" : "bad"
    }
    sent = null
    send.textContent = "Send"
  }

  function options() {
    const given = fields.filter(({ part, input }) => part.in === "header" && input.value).map(({ part, input }) => [part.name, input.value])
    const headers = new Headers([...given, ...(key.value ? [["x-functions-key", key.value]] : []), ...(types.length ? [["Content-Type", type.value]] : [])])
    return { method: verb.toUpperCase(), headers, body: types.length ? text.value : undefined, cache: "no-store" }
  }

  const [needed, others] = [true, false].map((is) => fields.filter(({ part }) => Boolean(part.required) === is).map(({ label }) => label))
  const more = others.length ? make("details", {}, make("summary", { textContent: `Optional parameters (${others.length})` }), others) : null
  const form = make("form", {}, needed, more, types.length > 1 ? make("label", {}, "Content type", type) : null, types.length ? make("label", {}, "Body", text) : null, send, status, answer)
  form.addEventListener("submit", (event) => {
    event.preventDefault()
    if (sent) sent.abort()
    else run()
  })
  return form
}

/** Yield the text of a response as it comes. */
async function* parts(response) {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true }
    if (done) return
    yield value
  }
}

/** Return the operation's address on this host: a key is sent nowhere else. */
function address(all, path, fields) {
  const base = new URL(all.servers?.[0]?.url ?? "/", location).pathname.replace(/\/$/, "")
  const filled = fields.reduce((at, { part, input }) => (part.in === "path" ? at.replace(`{${part.name}}`, encodeURIComponent(input.value)) : at), path)
  const query = new URLSearchParams(fields.filter(({ part, input }) => part.in === "query" && input.value).map(({ part, input }) => [part.name, input.value]))
  return `${location.origin}${base}${filled}${query.size ? `?${query}` : ""}`
}

function operation(all, path, verb, item) {
  const described = item[verb]
  const parameters = [...(item.parameters ?? []), ...(described.parameters ?? [])].map((part) => follow(all, part))
  const body = follow(all, described.requestBody)
  const responses = Object.entries(described.responses ?? {}).map(([status, part]) => {
    const response = follow(all, part)
    return make("details", {}, make("summary", { textContent: `${status} ${response.description ?? ""}` }), bodies(all, response.content))
  })
  const shown = make("details", {}, make("summary", {}, make("b", { textContent: verb.toUpperCase() }), make("code", { textContent: path }), ` ${described.summary ?? ""}`))
  shown.addEventListener("toggle", () => {
    if (shown.childElementCount > 1) return
    const request = body ? make("details", {}, make("summary", { textContent: "Schema of the body" }), bodies(all, body.content)) : null
    shown.append(make("div", { className: "inside" }, make("p", { className: "note", textContent: described.description ?? "" }), make("h2", { textContent: "Try it" }), trial(all, path, verb, parameters, body), make("h2", { textContent: "Request and responses" }), request, responses))
  })
  return shown
}

async function show() {
  const response = await fetch(main.dataset.document + location.search)
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
  const all = await response.json()
  document.querySelector("h1").textContent = document.title = `${all.info.title} ${all.info.version}`
  document.querySelector("#about").textContent = all.info.description ?? ""
  key.value = new URLSearchParams(location.search).get("code") ?? ""
  key.parentNode.hidden = !all.components?.securitySchemes
  for (const [path, item] of Object.entries(all.paths)) for (const verb of VERBS.filter((name) => item[name])) main.append(operation(all, path, verb, item))
}

find.addEventListener("input", () => {
  for (const shown of main.children) shown.hidden = !shown.firstChild.textContent.toLowerCase().includes(find.value.trim().toLowerCase())
})
show().catch((error) => (document.querySelector("#about").textContent = `The document cannot be shown: ${error.message}`))
