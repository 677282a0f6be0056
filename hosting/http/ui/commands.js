// A request as a command. No key is in it: a command is pasted into chats. Nor is its `Idempotency-Key`, which finds the
// run that the page began: a command begins one of its own.

const KEY = "x-functions-key"
const SPENT = "Idempotency-Key"

/** Return the request for a shell with curl. */
export function asCurl({ method, url, headers, body }, hasKey) {
  const isStream = headers.Accept === "text/event-stream"
  const lines = [`curl ${isStream ? "-sN" : "-s"}${method === "POST" ? (body ? "" : " -X POST") : ` -X ${method}`} ${quoted(url)}`]
  for (const [name, value] of copied(headers)) lines.push(`-H ${quoted(`${name}: ${value}`)}`)
  if (hasKey) lines.push(`-H "${KEY}: $KEY"`)
  if (body) lines.push(`-d ${quoted(body)}`)
  return lines.join(" \\\n  ")
}

/** Return the request as a program that needs Python's standard library alone. */
export function asPython({ method, url, headers, body }, hasKey) {
  const given = copied(headers).map(([name, value]) => `    ${literal(name)}: ${literal(value)},`)
  if (hasKey) given.push(`    "${KEY}": os.environ["KEY"],`)
  return [
    ...(hasKey ? ["import os"] : []),
    "import urllib.request",
    "",
    `request = urllib.request.Request(`,
    `    ${literal(url)},`,
    `    method=${literal(method)},`,
    ...(body ? [`    data=${literal(body)}.encode(),`] : []),
    ...(given.length ? ["    headers={", ...given.map((line) => `    ${line}`), "    },"] : []),
    `)`,
    `with urllib.request.urlopen(request) as response:`,
    `    for line in response:`,
    `        print(line.decode(), end="")`,
  ].join("\n")
}

const copied = (headers) => Object.entries(headers).filter(([name]) => name !== SPENT)
const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`

/** A string of JSON is one of Python's, but for characters beyond the first plane, which stand as they are. */
const literal = (text) => JSON.stringify(text)
