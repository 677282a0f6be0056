// The page put together: the agent and thread in the address, and the parts around the conversation.

import { a2aClient } from "./a2a.js"
import { AgentView, described, showModel } from "./agent.js"
import { aiSdkChat } from "./ai_sdk.js"
import { Problem, graphs, paths, randomKey, read, shared } from "./api.js"
import { approvalCard } from "./approvals.js"
import { isUsedUp, leftOf } from "./budgets.js"
import { showCalls } from "./calls.js"
import { chatClient } from "./chat.js"
import { Composer } from "./composer.js"
import { Conversation } from "./conversation.js"
import { Deliveries } from "./deliveries.js"
import { askForKey, confirmed, deleted, emptied, showReceipt } from "./dialogs.js"
import { download } from "./download.js"
import { button, byId, el, icon, iconButton, pressed, worded } from "./dom.js"
import { emptyThread, noAgents } from "./empty.js"
import { ratings } from "./feedback.js"
import { Figures } from "./figures.js"
import { Inbox, countWaiting } from "./inbox.js"
import { mcpClient } from "./mcp.js"
import { mcpEndpoint } from "./mcp_endpoint.js"
import { Memory } from "./memory.js"
import { renamed } from "./naming.js"
import { openaiClient } from "./openai.js"
import { Schedules } from "./schedules.js"
import { takesText } from "./schemas.js"
import { beginShortcuts, showShortcuts } from "./shortcuts.js"
import { showSharing } from "./sharing.js"
import { standingApprovals } from "./standing.js"
import { beginTheme, changeTheme } from "./theme.js"
import { ThreadList, hrefOf } from "./threads.js"
import { aboutThread, agentLinks, withinAgent } from "./titles.js"

const NEAR_THE_END_PX = 120
const COUNT_POLL_MS = 30_000
const SHARED = "shared="
const FILE_SEARCH = "file_search"
const LATER = { files: () => import("./files.js"), operations: () => import("./operations.js") } // views that few open
const BEHIND_MS = [2500, 10_000] // what is known of all threads together follows a run's end by a moment, or by more where it is slow to read

const others = new BroadcastChannel("agents")
const threads = new ThreadList(() => showTitle())
const composer = new Composer((...given) => say(...given), () => conversation.stop().catch(failed), keep)
let routes = 0
let agents = []
let conversation = null
let shown = null // the agent of both
let view = null // what is shown instead of a conversation
let isAtEnd = true
let counting = []
let unsent = null // what is sent as soon as its thread is open
const kept = [] // files that are added as soon as those of their thread are shown

beginTheme()
beginShortcuts()
byId("menu").append(iconButton("menu", "Agents and threads", () => openSide(true)))
byId("shade").addEventListener("click", () => openSide(false))
byId("side-tools").append(
  iconButton("key", "Key", async () => (await askForKey("")) && start()),
  iconButton("keyboard", "Keyboard shortcuts", showShortcuts),
  iconButton("theme", "Light or dark", changeTheme),
  iconButton("close", "Close", () => openSide(false), "quiet narrow-only"),
)
byId("inbox").firstChild.append(icon("inbox"))
byId("operations").firstChild.append(icon("pulse"))
const views = {
  about: viewButton("about", "model", "Agent"),
  figures: viewButton("figures", "chart", "Figures"),
  schedules: viewButton("schedules", "clock", "Schedules"),
  files: viewButton("files", "file", "Files"),
  memory: viewButton("memory", "bookmark", "Memory"),
  webhooks: viewButton("webhooks", "bell", "Webhooks"),
}
const share = worded(iconButton("share", "Share the thread", () => act(() => showSharing(conversation.agent, conversation.threadId)), "quiet of-thread"), "Share")
const code = worded(iconButton("code", "Call it from your code", () => showCalls(shown, [openaiClient, chatClient, mcpClient, mcpEndpoint, a2aClient, aiSdkChat])), "Code")
const newest = iconButton("down", "To the newest message", () => drawn(true), "newest")
newest.hidden = true
byId("composer").prepend(newest)
byId("tools").append(
  ...Object.values(views),
  code,
  iconButton("download", "Download the thread", save, "quiet of-thread"),
  iconButton("edit", "Rename or pin the thread", rename, "quiet of-thread"),
  share,
  iconButton("reset", "Reset the thread", reset, "quiet of-thread"),
  iconButton("trash", "Delete the thread", remove, "quiet of-thread"),
)
addEventListener("hashchange", route)
addEventListener("scroll", scrolled, { passive: true })
addEventListener("keydown", (event) => pressed(event, "Escape") && openSide(false))
setInterval(() => document.hidden || view instanceof Inbox || count(), COUNT_POLL_MS)
others.addEventListener("message", ({ data }) => {
  if (data.agent !== conversation?.agent) return
  listThreads()
  if (data.thread !== conversation.threadId) return
  if (data.isEmptied) route()
  else conversation.look().catch(failed)
})
start()

/** Read the agents, and ask for a key if the app needs one; then show the view in the address. */
async function start() {
  try {
    const { agents: listed, workflows_url: more, operations_url: operated, me_url: me } = await read(paths.agents())
    const { workflows } = more ? await read(paths.workflows()) : { workflows: [] }
    for (const { name, graph } of workflows) graphs.set(name, graph)
    byId("operations").parentNode.hidden = !operated
    share.hidden = !me // without owners everybody has every thread
    agents = [...listed, ...workflows].filter((agent) => agent.run_url)
  } catch (problem) {
    if (problem.isSignIn && (await askForKey(problem.message))) return start()
    failed(problem)
    if (!(problem instanceof Problem)) setTimeout(start, 2000)
    return
  }
  quiet()
  count()
  await route()
}

async function route() {
  const { hash } = location
  const number = ++routes
  const isLeft = () => number !== routes || location.hash !== hash // the user went on, or the agents came meanwhile
  const [place, wanted = ""] = hash.slice(2).split("?")
  const grant = wanted.startsWith(SHARED) ? decodeURIComponent(wanted.slice(SHARED.length)) : ""
  const given = grant ? await read(paths.shared(grant)).catch((problem) => problem) : {}
  const loaded = Object.hasOwn(LATER, wanted) ? await later(LATER[wanted]).catch((problem) => problem) : {}
  if (isLeft()) return
  const [name, thread = ""] = grant ? [given.agent, given.thread_id] : place.split("/").map(decodeURIComponent)
  const agent = agentOf(name) ?? (await withinAgent(name, thread)) ?? agents[0]
  if (isLeft()) return
  openSide(false)
  const { activeElement: from } = document
  quiet()
  const first = unsent?.threadId === thread ? unsent.contents : null
  unsent = null
  conversation?.leave()
  view?.leave()
  conversation = view = null
  Object.assign(shared, thread && grant ? { grant, thread } : { grant: "", thread: "" })
  document.body.classList.toggle("shared", Boolean(shared.grant))
  for (const problem of [given, loaded]) if (problem instanceof Error) failed(problem)
  for (const [name, one] of Object.entries(views)) one.setAttribute("aria-pressed", String(wanted === name))
  shown = agent
  views.about.hidden = views.figures.hidden = code.hidden = Boolean(agent?.isWithin)
  views.schedules.hidden = !agent?.schedules_url
  views.files.hidden = !agent?.files_url
  views.memory.hidden = !agent?.memory_url
  views.webhooks.hidden = !agent?.webhooks_url
  showModel(["approvals", "operations"].includes(wanted) || agent?.isWithin ? null : agent)
  byId("tools").hidden = !agent
  if (!agent) return byId("conversation").replaceChildren(noAgents())
  if (wanted === "approvals") return showView(new Inbox({ counted, failed }), "approvals", "Approvals", "Tool calls and questions that wait for your answer")
  if (loaded.Operations && administers()) return showView(new loaded.Operations(failed), "operations", "Operations", "Queued, running and stuck runs of all agents")
  if (wanted === "about") return showView(new AgentView(agent.name, thread, standingApprovals), "about", agent.name, agent.description, agent)
  if (wanted === "figures") {
    const about = thread ? `The newest runs of this thread with ${agent.name}` : "Runs by day, in all threads"
    return showView(new Figures(agent.name, thread), "figures", thread || agent.name, about, agent)
  }
  if (wanted === "schedules") return showView(new Schedules(agent.name, thread, failed, takesText(agent)), "schedules", agent.name, "Runs that start at set times", agent)
  if (loaded.Files && agent.files_url) {
    const first = kept.splice(0)
    return showView(new loaded.Files(agent.name, thread, failed, { administers: administers(), hasOwner: !share.hidden, first }), "files", agent.name, "Documents that it searches and cites", agent)
  }
  if (wanted === "memory" && agent.memory_url) return showView(new Memory(agent.name, thread, failed), "memory", agent.name, "Facts that it uses in every thread", agent)
  if (wanted === "webhooks" && agent.webhooks_url) {
    const about = thread ? "Notifications sent when runs of this thread ended" : "Notifications that were not delivered, in all threads"
    return showView(new Deliveries(agent.name, thread, failed, administers()), "webhooks", thread || agent.name, about, agent)
  }
  delete document.body.dataset.view
  showAgents(agent)
  conversation = new Conversation(agent.name, thread, { named, changed, failed, recovered: quiet, drawn, approvalCard, deliveries: deliveriesOf, ratings: ratings(agent.name, failed), source, again, forked, mayReplace })
  byId("conversation").replaceChildren(conversation.element)
  byId("composer").hidden = Boolean(agent.isWithin)
  byId("used-up").hidden = true
  byId("begin-new").href = hrefOf(agent.name)
  byId("message").placeholder = `Message ${agent.name}`
  composer.fit(takesText(agent) ? null : agent.input_schema)
  isAtEnd = true
  showBox()
  showTop()
  listThreads()
  const opened = conversation
  composer.prefer("queue")
  composer.keeps = false
  if (!agent.isWithin)
    described(agent.name).then((told) => {
      if (!told || conversation !== opened) return
      composer.prefer(told.rules.busy)
      composer.keeps = !shared.grant && Boolean(told.context_providers?.includes(FILE_SEARCH))
    })
  await opened.open()
  if (conversation !== opened) return
  if (opened.isEmpty) byId("conversation").append(emptyThread(agent, thread, (text) => composer.write(text)))
  scrolled()
  changed(false)
  const { activeElement: at } = document
  const hasGone = at !== from && at.matches("button, a:not(#threads a)") // somebody went there meanwhile
  if (!hasGone && !matchMedia("(pointer: coarse)").matches) composer.focus({ preventScroll: true })
  if (first && (await say(first))) await again(first)
}

/** Return a button that opens a view, and closes it again. */
function viewButton(name, drawing, says) {
  const made = iconButton(drawing, says, () => {
    const { agent, threadId } = conversation ?? view
    location.hash = hrefOf(agent, threadId, made.getAttribute("aria-pressed") === "true" ? "" : name)
  })
  return worded(made, says)
}

/** Show a view in place of a conversation: the inbox, figures, schedules, files, a memory, or deliveries. */
async function showView(opened, name, title, about, agent = null) {
  view = opened
  document.body.dataset.view = name
  showAgents(agent)
  document.body.classList.remove("has-thread")
  byId("composer").hidden = true
  byId("title").textContent = title
  byId("subtitle").textContent = about
  document.title = `${title} · ${agent ? views[name].title : "Agents"}`
  byId("conversation").replaceChildren(view.element)
  threads.show(agent?.name ?? (threads.agent || agents[0].name), view.threadId).catch(failed)
  await view.open().catch(failed)
}

const agentOf = (name) => agents.find((one) => one.name.toLowerCase() === name?.toLowerCase())

/** Show the list of the agent's threads; one that works for another agent has none, and the list stays. */
function listThreads() {
  if (!shown.isWithin) threads.show(shown.name, ownThread()).catch(failed)
}

function count() {
  countWaiting().then(counted, () => {})
}

/** Show how many calls wait for a person. */
function counted(text) {
  byId("waiting").textContent = text
  byId("waiting").setAttribute("aria-label", text ? `${text} waiting for you` : "")
}

async function say(...given) {
  quiet()
  byId("empty")?.remove()
  isAtEnd = true
  try {
    return void (await conversation.send(...given))
  } catch (problem) {
    if (!composer.waits && !composer.shows(problem)) failed(problem) // it says why itself
    return problem
  }
}

function save() {
  return act(() => download(conversation.agent, conversation.threadId, byId("title").textContent))
}

async function rename() {
  const { agent, threadId } = conversation
  await act(async () => {
    const thread = await renamed(agent, threadId, threads.of(threadId) ?? {})
    if (!thread) return
    threads.told(thread)
    others.postMessage({ agent, thread: threadId })
  })
}

async function reset() {
  const { agent, threadId } = conversation
  await act(async () => {
    if (!(await emptied(agent, threadId))) return
    others.postMessage({ agent, thread: threadId, isEmptied: true })
    await route()
  })
}

async function remove() {
  const { agent, threadId } = conversation
  await act(async () => {
    const receipt = await deleted(agent, threadId, () => conversation.leave())
    if (receipt === undefined) return
    others.postMessage({ agent, thread: threadId, isEmptied: true })
    location.hash = hrefOf(agent)
    if (receipt) await showReceipt(receipt)
  })
}

async function act(work) {
  await work().catch(failed)
}

/** The id of the thread on the page; "" for one that somebody else shared. */
function ownThread() {
  return shared.grant ? "" : conversation.threadId
}

/** Whether the user administers the app, as far as it says. */
function administers() {
  return !byId("operations").parentNode.hidden
}

// Events of the conversation.

function deliveriesOf(threadId, runId, signal) {
  const made = new Deliveries(conversation.agent, threadId, failed, administers(), runId)
  signal.addEventListener("abort", () => made.leave())
  return made
}

/** Load what is needed now for the first time. A newer version of the app does not have it. */
async function later(load) {
  return load().catch(() => {
    throw new Error("This part of the page cannot be loaded. Reload the page: the app may have a newer version.")
  })
}

/** Add a file to those of the thread, and show them. */
function keep(file) {
  const { agent, threadId } = conversation
  kept.push(file)
  location.hash = hrefOf(agent, threadId || randomKey(), "files")
}

/** Show the passage that an answer cites. */
function source(threadId, ...cited) {
  const { agent } = conversation
  return act(async () => (await later(() => import("./passages.js"))).showPassage(agent, threadId, ...cited))
}

async function again(contents) {
  if (await mayReplace()) composer.take(contents)
}

async function mayReplace() {
  return composer.isEmpty || confirmed("Replace your draft?", "You have not sent it. The other message replaces it.", "Replace draft")
}

function forked(threadId, { next, contents }) {
  if (next === "edit") composer.take(contents)
  if (next === "send") unsent = { threadId, contents }
  location.hash = hrefOf(conversation.agent, threadId)
}

function named(threadId) {
  if (!conversation) return
  if (!shared.grant) history.replaceState(null, "", hrefOf(conversation.agent, threadId))
}

function changed(isNews = true) {
  if (!conversation) return
  const { agent, threadId } = conversation
  showBox()
  showTop()
  if (!isNews) return
  others.postMessage({ agent, thread: threadId })
  listThreads()
  count()
  counting.forEach(clearTimeout)
  counting = BEHIND_MS.map((wait) => setTimeout(count, wait))
}

function drawn(isForced = false) {
  if (!conversation?.isEmpty) byId("empty")?.remove() // another tab or program may have begun
  if (isForced || isAtEnd) window.scrollTo(0, document.documentElement.scrollHeight)
  showBox()
  scrolled()
}

/** Have the box offer what can be done now: to send, to stop a run, or nothing before an answer. */
function showBox() {
  const isRunning = Boolean(conversation?.openTurn)
  composer.isRunning = isRunning
  composer.waitsFor = (!isRunning && conversation?.waitsFor) || "" // a run can always be stopped
}

/** Note whether the newest words are seen: if so they stay in sight, else a button leads there. */
function scrolled() {
  isAtEnd = distanceToEnd() < NEAR_THE_END_PX
  newest.hidden = isAtEnd || !conversation || conversation.isEmpty
}

function failed(problem) {
  if (problem.name === "AbortError") return
  const open = problem.isSignIn ? button("Enter a key", async () => (await askForKey(problem.message)) && start(), "small") : null
  const code = problem.code ? el("code", {}, problem.code) : null
  byId("notice").replaceChildren(el("p", {}, problem.message, " ", code), open ?? "", iconButton("close", "Close", quiet))
  byId("notice").hidden = false
}

function quiet() {
  byId("notice").hidden = true
}

// The parts around the conversation.

function showAgents(open) {
  for (const [id, name] of [["inbox", "approvals"], ["operations", "operations"]]) byId(id).ariaCurrent = document.body.dataset.view === name ? "page" : null
  byId("agents").replaceChildren(...agentLinks(agents, open))
}

async function showTop() {
  const { agent, threadId } = conversation
  showTitle()
  document.body.classList.toggle("has-thread", Boolean(ownThread()))
  const { description, budget_url: hasBudget } = shown
  if (!threadId) {
    byId("subtitle").textContent = description
    const budget = hasBudget && (await read(paths.budget(agent)).catch(() => null))?.budget
    if (budget && conversation?.agent === agent && !conversation.threadId) byId("subtitle").textContent = [leftOf(budget), description].filter(Boolean).join(" · ")
    return
  }
  const told = await read(paths.thread(agent, threadId)).catch(() => null)
  if (!told || conversation?.threadId !== threadId) return
  byId("used-up").hidden = !isUsedUp(told.budget)
  if (ownThread()) threads.told({ thread_id: threadId, title: told.title, pinned: told.pinned, forked_from: told.forked_from })
  else conversation.begins = told.title || "Shared thread"
  showTitle()
  byId("subtitle").replaceChildren(...aboutThread(agent, threadId, told, told.budget && leftOf(told.budget)))
}

/** Show the title of the conversation, or how it begins until the app told it. */
function showTitle() {
  if (!conversation) return
  const { agent, threadId } = conversation
  const title = threads.of(ownThread())?.title || conversation.begins || threads.titleOf(ownThread())
  byId("title").textContent = title || agent
  byId("title").title = threadId
  document.title = title ? `${title} · ${agent}` : agent
}

function openSide(is) {
  const wasOpen = document.body.classList.contains("side-open")
  document.body.classList.toggle("side-open", is)
  if (is) (byId("side").querySelector("[aria-current]") ?? byId("side").querySelector("a")).focus()
  else if (wasOpen) byId("menu").firstChild.focus()
}

const distanceToEnd = () => document.documentElement.scrollHeight - scrollY - innerHeight
