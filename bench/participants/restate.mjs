// Restate: a workflow of five steps in its TypeScript SDK, on a server of one node that this process starts, called through the
// ingress. The server's data stays on the disk, as it does by default.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import * as restate from "@restatedev/restate-sdk";
import { Agent } from "undici";
import { fetched } from "../../tools/fetched.mjs";

const names = ["a", "b", "c", "d", "e"];
const serverVersion = "1.7.12";

const five = restate.workflow({
  name: "five",
  handlers: {
    run: async (context) => {
      let last;
      for (const name of names) last = await context.run(name, () => ({ n: 1 }));
      return last;
    },
  },
});

export async function open() {
  const folder = mkdtempSync(path.join(tmpdir(), "amends-bench-restate-"));
  const [node, admin, ingress, service] = await Promise.all(Array.from({ length: 4 }, freePort));
  const server = await startServer(folder, { node, admin, ingress });
  await restate.serve({ services: [five], port: service });
  const agent = new Agent({ connections: 256, pipelining: 1 });
  await eventually(() => post(agent, admin, "/deployments", { uri: `http://127.0.0.1:${service}` }));
  const prefix = `bench-${Date.now()}`;
  return {
    async one(_lane, n) {
      await post(agent, ingress, `/five/${prefix}-${n}/run`, { n });
    },
    async close() {
      await agent.close();
      server.kill("SIGKILL");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function startServer(folder, { node, admin, ingress }) {
  const library = await fetched(
    `@restatedev/restate-server-${process.platform}-${process.arch}`,
    serverVersion,
  );
  const config = path.join(folder, "restate.toml");
  writeFileSync(
    config,
    `cluster-name = "bench"
node-name = "n1"
base-dir = "${folder}"
listen-mode = "tcp"
bind-ip = "127.0.0.1"
bind-port = ${node}
advertised-address = "http://127.0.0.1:${node}"
auto-provision = true
disable-telemetry = true
[admin]
bind-address = "127.0.0.1:${admin}"
[ingress]
bind-address = "127.0.0.1:${ingress}"
`,
  );
  const server = spawn(path.join(library, "bin", "restate-server"), ["--no-logo", "-c", config], {
    stdio: "ignore",
  });
  process.once("exit", () => server.kill("SIGKILL"));
  return server;
}

async function post(agent, port, where, body) {
  const answer = await agent.request({
    origin: `http://127.0.0.1:${port}`,
    path: where,
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await answer.body.text();
  if (answer.statusCode >= 300) throw new Error(`${where}: ${answer.statusCode} ${text.slice(0, 300)}`);
}

/** Servers take a moment to start. */
async function eventually(work) {
  const until = performance.now() + 60_000;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (performance.now() > until) throw error;
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
