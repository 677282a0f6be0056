// The page, and the way from it to the app. AGENTS_URL: the app; AGENTS_KEY: its function key, on Azure; PORT: where we listen.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const { AGENTS_URL = "http://127.0.0.1:7071", AGENTS_KEY, PORT = "4000" } = process.env;
const here = (name) => fileURLToPath(new URL(name, import.meta.url));

const bundle = await build({
  entryPoints: [here("page.jsx")],
  bundle: true,
  format: "esm",
  jsx: "automatic",
  define: { "process.env.NODE_ENV": '"production"' },
  write: false,
});
const files = {
  "/": ["text/html; charset=utf-8", await readFile(here("page.html"))],
  "/page.mjs": ["text/javascript; charset=utf-8", bundle.outputFiles[0].contents],
};

async function relay(request, response) {
  const sent = request.method === "POST" ? { body: Readable.toWeb(request), duplex: "half" } : {};
  const key = AGENTS_KEY ? { "x-functions-key": AGENTS_KEY } : {};
  const headers = { "content-type": "application/json", ...key };
  const address = `${AGENTS_URL}/api/ai-sdk/guide${request.url.slice("/chat".length)}`;
  const answer = await fetch(address, { method: request.method, headers, ...sent });
  response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "text/plain" });
  if (!answer.body) return void response.end();
  Readable.fromWeb(answer.body).on("error", () => response.destroy()).pipe(response);
}

const server = createServer((request, response) => {
  const { host, origin = `http://${host}` } = request.headers;
  if (!/^(localhost|127\.0\.0\.1):\d+$/.test(host) || origin !== `http://${host}`) {
    response.writeHead(403).end("Only pages of this address are answered.\n");
  } else if (/^\/chat(\/[\w-]+(\/stream)?)?$/.test(request.url)) {
    relay(request, response).catch(() => response.writeHead(502).end("The app cannot be reached.\n"));
  } else if (files[request.url]) {
    const [type, body] = files[request.url];
    response.writeHead(200, { "content-type": type }).end(body);
  } else {
    response.writeHead(404).end();
  }
});
server.listen(Number(PORT), "127.0.0.1", () => console.log(`Open http://localhost:${server.address().port}/`));
