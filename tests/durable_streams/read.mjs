// Reads a run with the protocol's own client, in the way that is asked for; prints what it got as one line of JSON.
import { DurableStream, stream } from "@durable-streams/client"

const [way, url, offset] = process.argv.slice(2)

async function catchUp() {
  const response = await stream({ url, offset, live: false })
  return { items: await response.json(), offset: response.offset, closed: response.streamClosed }
}

// Follows until the stream is closed, or until one batch has come.
async function follow(live, from, batches = Infinity) {
  const response = await stream({ url, offset: from, live })
  const items = []
  await new Promise((resolve, reject) => {
    response.closed.catch(reject)
    response.subscribeJson((batch) => {
      items.push(...batch.items)
      batches -= 1
      if (batches === 0) response.cancel()
      if (batches === 0 || batch.streamClosed) resolve()
    })
  })
  return { items, offset: response.offset, closed: response.streamClosed }
}

// Takes one batch, drops the connection, and goes on from the offset that the batch named.
async function resume(live) {
  const first = await follow(live, offset, 1)
  const rest = await follow(live, first.offset)
  return { ...rest, items: [...first.items, ...rest.items], resumed: !first.closed }
}

const ways = {
  "catch-up": catchUp,
  "long-poll": () => follow("long-poll", offset),
  sse: () => follow("sse", offset),
  "resume long-poll": () => resume("long-poll"),
  "resume sse": () => resume("sse"),
  head: () => DurableStream.head({ url }),
}

console.log(JSON.stringify(await ways[way]()))
