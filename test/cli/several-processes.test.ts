/** `amends worker --processes`: several workers of one config, watched by one process. */
import { writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, expect, it } from "vitest";
import { onEachDatabase } from "../support/databases.ts";
import { cli } from "./support/cli.ts";
import { forget, project, started, type Running } from "./support/project.ts";

const files = (database: string): Readonly<Record<string, string>> => ({
  "package.json": '{ "type": "module" }',
  "amends.config.js": `import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { saga } from "amends";
import { defineConfig } from "amends/config";
const any = { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }) } };
if (process.env.AMENDS_WATCHED_WORKER === "2" && existsSync("broken")) throw new Error("the config is broken");
const order = saga("order", any).step("one", {
  act: async ({ input }) => {
    console.log("acts in", process.pid);
    while (input.waits && !existsSync("go-on")) await sleep(20);
    return process.pid;
  },
});
export default defineConfig({ database: ${JSON.stringify(database)}, sagas: [order], worker: { poll: "50ms" } });
`,
});

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanups.splice(0)) await cleanUp();
});

async function workers(
  place: string,
  ...args: string[]
): Promise<Running & { readonly folder: string; put(name: string): void }> {
  const folder = await project(files(place));
  const one = await started(["worker", "--processes", "2", ...args], folder);
  cleanups.push(async () => {
    one.child.kill("SIGKILL");
    await one.ended();
    forget(folder);
  });
  return { ...one, folder, put: (name) => writeFileSync(path.join(folder, name), "") };
}

async function ask(url: string): Promise<readonly [status: number, body: string]> {
  const response = await fetch(url);
  return [response.status, await response.text()];
}

/** The process that runs a saga, by what its act printed. */
async function pidOf({ seen, folder }: Awaited<ReturnType<typeof workers>>, id: string): Promise<number> {
  await cli(["start", "order", '{"waits":true}', "--id", id], { cwd: folder });
  const [, pid] = await seen(/│ acts in (\d+)(?![\s\S]*│ acts in )/);
  return Number(pid);
}

onEachDatabase((database) => {
  it("[P-07] several processes work, answer probes as one, and end in order with their calls", async () => {
    await database.open();
    const all = await workers(await database.place(), "--migrate", "--health-port", "0", "--deadline", "20s");
    const [, url = ""] = await all.seen(/health {3}(http:\/\/127\.0\.0\.1:\d+\/)/);
    await all.seen(/1 │ working on /);
    await all.seen(/2 │ working on /);
    await expect
      .poll(() => ask(`${url}readyz`), { timeout: 20_000 })
      .toMatchObject([200, expect.any(String)]);
    const { checks } = JSON.parse((await ask(`${url}readyz`))[1]) as { checks: { name: string }[] };
    expect(checks.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["process 1: database", "process 1: worker", "process 2: worker"]),
    );
    await cli(["start", "order", "{}", "--id", "o-1"], { cwd: all.folder });
    await all.seen(/│ acts in /);
    await expect
      .poll(async () => (await ask(`${url}metrics`))[1].match(/completed_total\{process="[12]"\} 1$/gm), {
        timeout: 20_000,
      })
      .toHaveLength(1);
    const [, metrics] = await ask(`${url}metrics`);
    expect(metrics.match(/^amends_worker_last_look_seconds\{process="[12]"\} /gm)).toHaveLength(2);
    expect(metrics.match(/^amends_sagas\{status="RUNNING"\} /gm)).toHaveLength(1);
    await cli(["start", "order", '{"waits":true}', "--id", "o-2"], { cwd: all.folder });
    await all.seen(/acts in [\s\S]*acts in /);
    all.child.kill("SIGTERM");
    await all.seen(/Stopping 2 processes; running calls have 20s\./);
    expect(await ask(`${url}readyz`)).toMatchObject([503, expect.stringContaining("is stopping")]);
    all.put("go-on");
    const { code, out } = await all.ended();
    expect([code, out]).toEqual([0, expect.not.stringContaining("│ Stopping")]);
    const shown = await cli(["show", "o-2", "--json"], { cwd: all.folder });
    expect(JSON.parse(shown.out)).toMatchObject({ status: "COMPLETED" });
  });

  it("[P-07] a process that is killed is told and started again, and its saga goes on", async () => {
    await database.open();
    const all = await workers(await database.place(), "--migrate", "--health-port", "0");
    const [, url = ""] = await all.seen(/health {3}(http:\/\/127\.0\.0\.1:\d+\/)/);
    await all.seen(/2 │ working on [\s\S]*1 │ working on |1 │ working on [\s\S]*2 │ working on /);
    const pid = await pidOf(all, "o-1");
    process.kill(pid, "SIGKILL");
    const [, number] = await all.seen(/ended: process ([12]) ended by SIGKILL; it starts again in 1\.0 s/);
    await all.seen(new RegExp(`ended by SIGKILL[\\s\\S]*${number} │ working on `));
    await expect.poll(async () => (await ask(`${url}readyz`))[0], { timeout: 20_000 }).toBe(200);
    all.put("go-on");
    all.child.kill("SIGTERM");
    expect((await all.ended()).code).toBe(0);
  });

  it("[P-07] processes end when the one that watches them is killed", async () => {
    await database.open();
    const all = await workers(await database.place(), "--migrate");
    await all.seen(/2 │ working on [\s\S]*1 │ working on |1 │ working on [\s\S]*2 │ working on /);
    const pid = await pidOf(all, "o-1");
    all.child.kill("SIGKILL");
    all.put("go-on");
    await expect.poll(() => isAlive(pid), { timeout: 20_000 }).toBe(false);
    const shown = await cli(["show", "o-1", "--json"], { cwd: all.folder });
    expect(JSON.parse(shown.out)).toMatchObject({ status: "COMPLETED" });
  });

  it("[P-07] what no process can begin with ends them all; options that make no sense are refused", async () => {
    await database.open();
    const place = await database.place();
    const other = place.startsWith("postgres") ? ["--schema", "not_migrated"] : ["--prefix", "other_"];
    const unmigrated = await workers(place, "--database", place, ...other);
    const { code: failed, err: reason } = await unmigrated.ended();
    expect([failed, reason]).toEqual([1, expect.stringContaining("amends migrate")]);
    const folder = await project(files(place));
    cleanups.push(async () => forget(folder));
    writeFileSync(path.join(folder, "broken"), "");
    const broken = await started(["worker", "--processes", "2", "--migrate"], folder);
    const ended = await broken.ended();
    expect([ended.code, ended.err]).toEqual([
      1,
      expect.stringMatching(/^2 │ error: .*the config is broken/m),
    ]);
    for (const [args, words] of [
      [["--processes", "2", "--once"], "--processes is for workers that stay"],
      [["--processes", "1"], "--processes must be a whole number of 2 to 64"],
    ] as const) {
      const { code, err } = await cli(["worker", ...args], { cwd: folder });
      expect([code, err]).toEqual([2, expect.stringContaining(words)]);
    }
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
