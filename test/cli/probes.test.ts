/** A real worker process answers the probes of the platform that runs it. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { onEachDatabase } from "../support/databases.ts";
import { cli } from "./support/cli.ts";
import { forget, project, started, type Running } from "./support/project.ts";

const files = (database: string, more: string = ""): Readonly<Record<string, string>> => ({
  "package.json": '{ "type": "module" }',
  "amends.config.js": `import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { saga } from "amends";
import { defineConfig } from "amends/config";
const any = { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }) } };
const order = saga("order", any).step("one", {
  act: async ({ input }) => {
    if (input.waits) console.log("the act waits");
    while (input.waits && !existsSync("go-on")) await sleep(20);
    return "done";
  },
});
export default defineConfig({ database: ${JSON.stringify(database)}, sagas: [order], worker: { poll: "50ms" }${more} });
`,
});

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanups.splice(0)) await cleanUp();
});

async function worker(place: string, ...args: string[]): Promise<Running & { readonly folder: string }> {
  const folder = await project(files(place));
  const one = await started(["worker", "--health-port", "0", ...args], folder);
  cleanups.push(async () => {
    one.child.kill("SIGKILL");
    await one.ended();
    forget(folder);
  });
  return { ...one, folder };
}

/** The status of a probe, and what it said. */
async function ask(url: string): Promise<readonly [status: number, body: string]> {
  const response = await fetch(url);
  return [response.status, await response.text()];
}

onEachDatabase((database) => {
  it("[C-11] a worker serves liveness, readiness and metrics by itself, without a token and without ids", async () => {
    await database.open();
    const { seen, folder } = await worker(await database.place());
    const [, url = ""] = await seen(/health {3}(http:\/\/127\.0\.0\.1:\d+\/)/);
    await seen(/working on /);
    await expect.poll(() => ask(`${url}readyz`), { timeout: 10_000 }).toEqual([200, expect.any(String)]);
    expect(await ask(`${url}livez`)).toEqual([200, '{"status":"ok"}\n']);
    await cli(["start", "order", '{"name":"Ann Example"}', "--id", "order-of-ann"], { cwd: folder });
    await expect
      .poll(() => ask(`${url}metrics`), { timeout: 10_000 })
      .toMatchObject([200, expect.stringContaining("amends_sagas_completed_total 1\n")]);
    const [, text] = await ask(`${url}metrics`);
    expect(text).toContain('amends_oldest_due_seconds{part="sagas"} 0');
    expect(text).not.toMatch(/of-ann|Ann Example/);
    expect(await ask(`${url}api/sagas`)).toEqual([404, expect.any(String)]);
    expect((await fetch(`${url}livez`, { method: "POST" })).status).toBe(405);
    expect((await fetch(`${url}readyz`, { method: "HEAD" })).status).toBe(200);
  });

  it("[C-11] a worker that stops is not ready and still alive, until its calls have ended", async () => {
    await database.open();
    const { child, seen, ended, folder } = await worker(await database.place());
    const [, url = ""] = await seen(/health {3}(http:\/\/127\.0\.0\.1:\d+\/)/);
    await cli(["start", "order", '{"waits":true}', "--id", "o-1"], { cwd: folder });
    await seen(/the act waits/);
    child.kill("SIGTERM");
    await seen(/Stopping/);
    await vi.waitFor(async () => {
      const [status, body] = await ask(`${url}readyz`);
      expect([status, JSON.parse(body)]).toEqual([
        503,
        { status: "stuck", checks: [{ name: "worker", ok: false, detail: "is stopping" }] },
      ]);
    });
    expect(await ask(`${url}livez`)).toEqual([200, expect.any(String)]);
    writeFileSync(path.join(folder, "go-on"), "");
    expect((await ended()).code).toBe(0);
    const shown = await cli(["show", "o-1", "--json"], { cwd: folder });
    expect(JSON.parse(shown.out)).toMatchObject({ status: "COMPLETED" });
  });

  it("[C-11] the config can say where a worker answers probes; a wrong place is refused in words", async () => {
    await database.open();
    const place = await database.place();
    const folder = await project(files(place, ', health: { port: 0, host: "127.0.0.1", stuckAfter: "1m" }'));
    const one = await started(["worker"], folder);
    cleanups.push(async () => {
      one.child.kill("SIGKILL");
      await one.ended();
      forget(folder);
    });
    const [, url = ""] = await one.seen(/health {3}(http:\/\/127\.0\.0\.1:\d+\/)/);
    expect(await ask(`${url}livez`)).toEqual([200, expect.any(String)]);
    const { port } = new URL(url);
    const refusals: readonly (readonly [code: number, message: string, args: readonly string[]])[] = [
      [1, `Port ${port} is in use by another program.`, ["--health-port", port]],
      [2, "--health-port is for a worker that stays", ["--once", "--health-port", "0"]],
    ];
    for (const [code, message, args] of refusals) {
      const refused = await cli(["worker", ...args], { cwd: folder });
      expect([refused.code, refused.err]).toEqual([code, expect.stringContaining(message)]);
    }
    // A module is loaded once: each config has a name of its own.
    for (const [name, more, message] of [
      ["large.config.js", ", health: { port: 70000 }", "`health.port` must be a whole number, 0 to 65535."],
      ["misspelt.config.js", ", health: { prot: 1 }", "`health`: there is no option named prot."],
    ] as const) {
      writeFileSync(path.join(folder, name), files(place, more)["amends.config.js"] ?? "");
      const refused = await cli(["worker", "--config", name], { cwd: folder });
      expect([refused.code, refused.err]).toEqual([1, expect.stringContaining(message)]);
    }
  });
});
