// Requests to the app's own routes, which lie beside the page; a refusal is thrown as a `Problem`.

const KEY = "agents.key"
const TOKEN = "agents.token"
const API = new URL("../", document.baseURI)

/** A refusal as the app says it (RFC 9457): `message` names the fault and the remedy. */
export class Problem extends Error {
  constructor(status, told) {
    super(told.detail || told.title || (status === 401 ? unauthorized() : `The app answered ${status}.`))
    this.status = status
    this.code = told.code ?? ""
    this.runId = told.run_id ?? ""
  }

  /** Whether the app needs a key or a sign-in. */
  get isSignIn() {
    return this.status === 401
  }
}

/** The app cannot be reached: it restarts, or there is no network. */
export class Unreachable extends Error {
  constructor() {
    super("The app does not answer. Is it running? This page reconnects when it is back.")
  }
}

/** The credentials for the app; kept until this tab is closed. */
export const credentials = {
  get key() {
    return sessionStorage.getItem(KEY) ?? ""
  },
  get token() {
    return sessionStorage.getItem(TOKEN) ?? ""
  },
  set({ key, token }) {
    sessionStorage.setItem(KEY, key)
    sessionStorage.setItem(TOKEN, token)
  },
}

/** Return what is missing where the host asks for a key, which says nothing itself. */
function unauthorized() {
  if (credentials.key) return "The key was refused. Check it and enter it again."
  return credentials.token ? "The token was refused, and there is no key." : "This app needs a key."
}

/** The last request that began or planned a run: a message or a schedule. It is what a reader sends again; a stop, an
 * answer to an approval, a reset or a deletion is not. */
export let lastRequest = null

const part = encodeURIComponent

/** The graphs of the app's workflows, by their names: workflows have routes of their own kind. */
export const graphs = new Map()

const kindOf = (name) => (graphs.has(name) ? "workflow" : "agent")
const of = (name, kind = kindOf(name)) => `${kind}s/${part(name)}`

/** The thread of somebody else that is on the page, and the grant by which it is; both empty without one. */
export const shared = { grant: "", thread: "" }

/** Where the app's things are. */
export const paths = {
  agents: () => "agents",
  workflows: () => "workflows",
  shared: (grant, rest = "") => `shared/${part(grant)}${rest}`,
  run: (agent) => (shared.grant ? paths.shared(shared.grant, "/run") : `${of(agent)}/run`),
  agent: (agent) => of(agent),
  threads: (agent, query) => `${of(agent)}/threads?${new URLSearchParams(query)}`,
  operations: (hours) => `operations?hours=${hours}`,
  figures: (agent, days) => `${of(agent)}/figures?days=${days}`,
  schedules: (agent, id = "", rest = "") => `${of(agent)}/schedules${id && `/${part(id)}`}${rest}`,
  webhooks: (agent, thread, query) => `${thread ? paths.thread(agent, thread) : of(agent)}/webhooks?${new URLSearchParams(query)}`,
  budget: (agent) => `${of(agent)}/budget`,
  memory: (agent, id = "") => `${of(agent)}/memory${id && `/${part(id)}`}`,
  waiting: (limit, cursor = "") => `approvals?${new URLSearchParams({ limit, ...(cursor && { cursor }) })}`,
  thread: (agent, thread, rest = "", kind = kindOf(agent)) =>
    shared.grant && thread === shared.thread ? paths.shared(shared.grant, rest) : `${of(agent, kind)}/threads/${part(thread)}${rest}`,
  runs: (agent, thread, run = "", rest = "") => paths.thread(agent, thread, `/runs${run && `/${part(run)}`}${rest}`),
}

/** Return where a path of the app is. */
export const urlOf = (path) => new URL(path, API)

/** Return the headers of a request with the credentials. */
export function signed(headers) {
  const opened = { ...headers }
  if (credentials.key) opened["x-functions-key"] = credentials.key
  if (credentials.token) opened.Authorization = `Bearer ${credentials.token}`
  return opened
}

/** Send a request and return its response, whatever its status; one that `isCopied` is the `lastRequest` from then on. */
export async function send(method, path, { body, headers = {}, signal, isCopied = false } = {}) {
  const url = urlOf(path)
  const sent = { ...headers, ...(body === undefined ? {} : { "Content-Type": "application/json" }) }
  const text = body === undefined ? undefined : JSON.stringify(body)
  if (isCopied) lastRequest = { method, url: url.href, headers: sent, body: text }
  try {
    return await fetch(url, { method, headers: signed(sent), body: text, signal, cache: "no-store" })
  } catch (error) {
    throw error.name === "AbortError" ? error : new Unreachable()
  }
}

/** Return the response if it is a good one; throw its problem otherwise. */
export async function checked(response) {
  if (response.ok) return response
  const told = await response.json().catch(() => ({}))
  if (response.status >= 500 && !told.code) throw new Unreachable() // a worker that is just starting has no words
  throw new Problem(response.status, told)
}

/** Return the answer to a GET. */
export const read = async (path, options) => (await checked(await send("GET", path, options))).json()

/** Return a unique key. `crypto.randomUUID` exists over https and on this machine only. */
export const randomKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("")
