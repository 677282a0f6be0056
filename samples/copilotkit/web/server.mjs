// CopilotKit's runtime, and the page. AGENTS_URL: the app; AGENTS_KEY: its function key, on Azure; PORT: where we listen.
import "./no_telemetry.mjs";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { HttpAgent } from "@ag-ui/client";
import { CopilotRuntime } from "@copilotkit/runtime/v2";
import { createCopilotNodeListener } from "@copilotkit/runtime/v2/node";
import { build } from "esbuild";

const { AGENTS_URL = "http://127.0.0.1:7071", AGENTS_KEY, PORT = "4000" } = process.env;
const here = (name) => fileURLToPath(new URL(name, import.meta.url));

const guide = new HttpAgent({
  url: `${AGENTS_URL}/api/ag-ui/guide`,
  headers: AGENTS_KEY ? { "x-functions-key": AGENTS_KEY } : {},
});
const answerCopilot = createCopilotNodeListener({
  runtime: new CopilotRuntime({ agents: { guide } }),
  basePath: "/api/copilotkit",
});

const bundle = await build({ entryPoints: [here("page.mjs")], bundle: true, format: "esm", write: false });
const files = {
  "/": ["text/html; charset=utf-8", await readFile(here("page.html"))],
  "/page.mjs": ["text/javascript; charset=utf-8", bundle.outputFiles[0].contents],
};

const server = createServer((request, response) => {
  const { host, origin = `http://${host}` } = request.headers;
  if (!/^(localhost|127\.0\.0\.1):\d+$/.test(host) || origin !== `http://${host}`) {
    response.writeHead(403).end("Only pages of this address are answered.\n");
  } else if (request.url.startsWith("/api/copilotkit/")) {
    answerCopilot(request, response);
  } else if (files[request.url]) {
    const [type, body] = files[request.url];
    response.writeHead(200, { "content-type": type }).end(body);
  } else {
    response.writeHead(404).end();
  }
});
server.listen(Number(PORT), "127.0.0.1", () => console.log(`Open http://localhost:${server.address().port}/`));
