// Requests as commands and as programs. No credentials are in them, for they are pasted into chats: variables stand there.
// Nor is an `Idempotency-Key`, which finds the run that the page began: a command begins one of its own.

const KEY = "x-functions-key"
const SPENT = "Idempotency-Key"
const LINES = { imports: [], body: ["for line in response:", `    print(line.decode(), end="")`] }

/** Return the request for a shell with curl. `given` says which of `key` and `token` the app is sent. */
export function asCurl({ method, url, headers, body }, given, keyName = "KEY") {
  const isStream = headers.Accept?.includes("text/event-stream")
  const lines = [`curl ${isStream ? "-sN" : "-s"}${method === "POST" ? (body ? "" : " -X POST") : ` -X ${method}`} ${quoted(url)}`]
  for (const [name, value] of copied(headers)) lines.push(`-H ${quoted(`${name}: ${value}`)}`)
  if (given.key) lines.push(`-H "${KEY}: $${keyName}"`)
  if (given.token) lines.push(`-H "Authorization: Bearer $TOKEN"`)
  if (body) lines.push(`-d ${quoted(body)}`)
  return lines.join(" \\\n  ")
}

/** Return the request as a program that needs Python's standard library alone; `reading` has what it does with the
 * `response`, and prints it otherwise. */
export function asPython({ method, url, headers, body }, given, reading = LINES) {
  const sent = [...copied(headers).map(([name, value]) => `${literal(name)}: ${literal(value)}`), ...pythonHeaders(given)]
  return [
    ...[...reading.imports, ...(isOpen(given) ? [] : ["os"]), "urllib.request"].map((name) => `import ${name}`),
    "",
    `request = urllib.request.Request(`,
    `    ${literal(url)},`,
    `    method=${literal(method)},`,
    ...(body ? [`    data=${literal(body)}.encode(),`] : []),
    ...(sent.length ? ["    headers={", ...sent.map((line) => `        ${line},`), "    },"] : []),
    `)`,
    `with urllib.request.urlopen(request) as response:`,
    ...reading.body.map((line) => `    ${line}`),
  ].join("\n")
}

/** Return the request with this JSON value for a shell with curl. */
export const curlOf = (url, value, given, headers = {}, keyName = "KEY") =>
  asCurl({ method: "POST", url, headers: { "Content-Type": "application/json", ...headers }, body: JSON.stringify(value) }, given, keyName)

/** Return a program of OpenAI's client that ends with these lines. */
export const ofOpenai = (url, given, lines) =>
  [
    "# pip install openai",
    ...(isOpen(given) ? [] : ["import os", ""]),
    "from openai import OpenAI",
    "",
    "client = OpenAI(",
    `    base_url=${literal(url)},`,
    `    api_key=${given.token ? `os.environ["TOKEN"]` : `"unused"`},`,
    ...(given.key ? [`    default_headers={${pythonHeaders({ key: true })}},`] : []),
    ")",
    ...lines,
  ].join("\n")

/** Return a program of asynchronous code. Credentials are sent by what `http` makes with their headers. */
export const ofAsyncio = (packages, imports, given, http, lines, keyName) =>
  [
    `# pip install ${packages}`,
    "import asyncio",
    ...(isOpen(given) ? [] : ["import os"]),
    "",
    ...imports,
    "",
    "",
    "async def main():",
    ...[...(isOpen(given) ? [] : [`http = ${http(`headers={${pythonHeaders(given, keyName).join(", ")}}`)}`]), ...lines].map((line) => `    ${line}`),
    "",
    "",
    "asyncio.run(main())",
  ].join("\n")

/** Return the call of an MCP tool, as both. Arguments that are more than texts are read from JSON. */
export function mcpCall(url, tool, args, given, keyName) {
  const json = literal(JSON.stringify(args))
  const isOfTexts = Object.values(args).every((value) => typeof value === "string")
  const signed = isOpen(given) ? [] : ["from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client"]
  const server = isOpen(given) ? literal(url) : `streamable_http_client(${literal(url)}, http_client=http)`
  const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: tool, arguments: args } }
  return {
    curl: curlOf(url, call, given, { Accept: "application/json, text/event-stream" }, keyName),
    python: ofAsyncio(
      "mcp",
      [...(isOfTexts ? [] : ["import json", ""]), "from mcp import Client", ...signed],
      given,
      (headers) => `create_mcp_http_client(${headers})`,
      [
        `async with Client(${server}) as client:`,
        `    result = await client.call_tool(${literal(tool)}, ${isOfTexts ? JSON.stringify(args) : `json.loads(${json})`})`,
        `    print(result.structured_content["response"])`,
      ],
      keyName,
    ),
  }
}

/** Return the members of a dict of Python by which a program sends the credentials. */
export const pythonHeaders = (given, keyName = "KEY") => [
  ...(given.key ? [`"${KEY}": os.environ["${keyName}"]`] : []),
  ...(given.token ? [`"Authorization": "Bearer " + os.environ["TOKEN"]`] : []),
]

/** Whether a program needs no credentials. */
export const isOpen = (given) => !given.key && !given.token

const copied = (headers) => Object.entries(headers).filter(([name]) => name !== SPENT)
const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`

/** A string of JSON is one of Python's, but for characters beyond the first plane, which stand as they are. */
export const literal = (text) => JSON.stringify(text)
