/** A Restate server of one node, from npm, with its data in a folder that is thrown away. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { root } from "../../../tools/project.mjs";
import { until } from "../../support/until.ts";

export interface RestateServer {
  readonly ingress: string;
  readonly admin: string;
  /** Tells the server where a service is. Restate asks it for its workflows. */
  register(uri: string): Promise<void>;
  close(): Promise<void>;
}

const library = `@restatedev/restate-server-${process.platform}-${process.arch}`;
const program = path.join(root, "test", "restate", "node_modules", library, "bin", "restate-server");

export async function startRestate(): Promise<RestateServer> {
  const folder = mkdtempSync(path.join(tmpdir(), "amends-restate-"));
  const [node, admin, ingress] = await freePorts(3);
  const config = path.join(folder, "restate.toml");
  writeFileSync(
    config,
    `cluster-name = "amends"
node-name = "n1"
base-dir = "${folder}"
listen-mode = "tcp"
bind-ip = "127.0.0.1"
bind-port = ${node}
advertised-address = "http://127.0.0.1:${node}"
auto-provision = true
disable-telemetry = true
default-num-partitions = 2
[admin]
bind-address = "127.0.0.1:${admin}"
[ingress]
bind-address = "127.0.0.1:${ingress}"
`,
  );
  const server = spawn(program, ["--no-logo", "-c", config], { stdio: "ignore" });
  const kill = (): boolean => server.kill("SIGKILL");
  process.once("exit", kill);
  const gone = new Promise((resolve) => server.once("exit", resolve));
  const urls = { ingress: `http://127.0.0.1:${ingress}`, admin: `http://127.0.0.1:${admin}` };
  const isUp = async (url: string): Promise<boolean> =>
    (await fetch(url).catch(() => undefined))?.ok === true;
  await until(() => isUp(`${urls.admin}/health`));
  await until(() => isUp(`${urls.ingress}/restate/health`));
  return {
    ...urls,
    register: (uri) => register(urls.admin, uri),
    async close() {
      kill();
      await gone;
      process.off("exit", kill);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function register(admin: string, uri: string): Promise<void> {
  await until(async () => {
    const answer = await fetch(`${admin}/deployments`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ uri, force: true }),
    });
    return answer.ok;
  });
}

export async function freePorts(count: number): Promise<readonly number[]> {
  const servers = await Promise.all(
    Array.from({ length: count }, () => {
      const server = createServer();
      return new Promise<typeof server>((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
    }),
  );
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
