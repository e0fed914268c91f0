/** Real processes on the user's own files: init, start, worker, console, dev. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { stripsTypes } from "../../src/cli/config/load-config.ts";
import { onEachDatabase } from "../support/databases.ts";
import { cli } from "./support/cli.ts";
import { forget, processOf, project, started, type Running } from "./support/project.ts";

const SAGA = `
import { err, saga } from "amends";
const order = { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }) } };
export const firstSaga = saga("first", order, { compensateRetry: { attempts: 1 } })
  .step("one", { act: () => "FIRST", compensate: ({ input }) => { if (input.stall) throw new Error("no"); } })
  .step("two", { act: ({ input }) => (input.stall || input.fail ? err("no") : "done") });
`;

const config = (database: string): Readonly<Record<string, string>> => ({
  "package.json": '{ "type": "module" }',
  "amends.config.js": `import { defineConfig } from "amends/config";
import { firstSaga } from "./sagas/first.js";
export default defineConfig({ database: ${JSON.stringify(database)}, sagas: [firstSaga], worker: { poll: "50ms" } });
`,
  "sagas/first.js": SAGA,
});

const folders: string[] = [];
const running: Running[] = [];

async function made(files: Readonly<Record<string, string>> = {}): Promise<string> {
  const folder = await project(files);
  folders.push(folder);
  return folder;
}

async function begin(...given: Parameters<typeof started>): Promise<Running> {
  const one = await started(...given);
  running.push(one);
  return one;
}

afterEach(async () => {
  for (const one of running.splice(0)) {
    one.child.kill("SIGKILL");
    await one.ended();
  }
  for (const folder of folders.splice(0)) forget(folder);
});

onEachDatabase((database) => {
  it("[P-03][K-18] a worker runs what was started, and ends in order when it is told to", async () => {
    await database.open();
    const folder = await made(config(await database.place()));
    const asked = await cli(["start", "first", "{}", "--id", "o-1", "--json"], { cwd: folder });
    expect([asked.code, JSON.parse(asked.out)]).toEqual([0, { id: "o-1", saga: "first", created: true }]);
    const once = await cli(["worker", "--once"], { cwd: folder });
    expect([once.code, once.out]).toEqual([0, "done: 1 piece of work\n"]);
    const budgeted = await cli(["worker", "--once", "--budget", "20s", "--json"], { cwd: folder });
    expect([budgeted.code, JSON.parse(budgeted.out)]).toEqual([0, { processed: 0, more: false }]);
    expect((await cli(["worker", "--budget", "20s"], { cwd: folder })).code).toBe(2);
    const worker = await begin(["worker", "--deadline", "5s"], folder);
    await worker.seen(/working on /);
    await cli(["start", "first", '{"stall":true}', "--id", "o-2"], { cwd: folder });
    await worker.seen(/a saga has stalled and needs a person .*id=o-2/);
    worker.child.kill("SIGTERM");
    const ended = await worker.ended();
    expect([ended.code, ended.out]).toEqual([0, expect.stringContaining("Stopping; running calls have 5s.")]);
    const status = await cli(["status", "--json"], { cwd: folder });
    expect(status.code).toBe(3);
    expect(JSON.parse(status.out)).toMatchObject({
      sagas: { byStatus: { COMPLETED: { value: 1 }, STALLED: { value: 1 } } },
    });
    expect((await cli(["diagram", "first"], { cwd: folder })).out).toContain("S->>P0: act one");
    expect((await cli(["doctor"], { cwd: folder })).out).toMatch(/✓ definitions/);
    const misspelt = await cli(["start", "frist", "{}"], { cwd: folder });
    expect([misspelt.code, misspelt.err]).toEqual([1, expect.stringContaining("Did you mean first?")]);
  });

  it("[S-39][P-03] a saga is started for later, with a priority and attributes, from the terminal", async () => {
    await database.open();
    const folder = await made(config(await database.place()));
    const start = (...options: readonly string[]) =>
      cli(["start", "first", "{}", ...options], { cwd: folder });
    const later = await start(
      "--id",
      "later",
      "--delay",
      "2h",
      "--priority",
      "3",
      "--attributes",
      "tenant=acme,tier=2",
    );
    expect(later.out).toContain("scheduled: saga later");
    await start("--id", "then", "--run-at", "2999-01-01T00:00:00Z");
    const shown = async (id: string): Promise<unknown> =>
      JSON.parse((await cli(["show", id, "--json"], { cwd: folder })).out);
    expect(await shown("later")).toMatchObject({
      isScheduled: true,
      priority: 3,
      attributes: { tenant: "acme", tier: 2 },
    });
    expect(await shown("then")).toMatchObject({ runAt: "2999-01-01T00:00:00.000Z", isScheduled: true });
    for (const [options, words] of [
      [["--delay", "soon"], "`delay` must be milliseconds or a text such as"],
      [["--run-at", "tomorrow"], '--run-at "tomorrow" is no time'],
      [["--priority", "11"], "--priority must be a whole number of 0 to 10"],
      [["--attributes", "tenant"], "--attributes must be pairs such as tenant=acme,tier=2"],
    ] as const)
      expect((await start(...options)).err).toContain(words);
  });

  it("[P-03][X-01] a console on a database alone prints an address whose token lets in", async () => {
    await database.open();
    const folder = await made();
    const console = await begin(["console", "--port", "0", "--database", await database.place()], folder);
    const [, address = ""] = await console.seen(/console {2}(http:\/\/127\.0\.0\.1:\d+\/#token=\S+)/);
    const list = await cli(["list", "--console", address, "--json"], { cwd: folder });
    expect([list.code, JSON.parse(list.out)]).toEqual([0, { items: [], more: false }]);
    const { port } = new URL(address);
    const taken = await cli(["console", "--port", port, "--database", await database.place()], {
      cwd: folder,
    });
    expect([taken.code, taken.err]).toEqual([
      1,
      `error: Port ${port} is in use by another program.\n       Use another one: --port ${Number(port) + 1}, or --port 0 for any free one.\n`,
    ]);
    console.child.kill("SIGINT");
    expect((await console.ended()).code).toBe(0);
  });

  it("[P-03] dev runs worker and console, restarts upon a change, tells a syntax error, and goes on with the next change", async () => {
    const folder = await made(config(await database.place()));
    const dev = await begin(["dev", "--port", "0"], folder);
    const [, address = ""] = await dev.seen(/console {2}(http\S+)/);
    await dev.seen(/working on /);
    const file = path.join(folder, "sagas", "first.js");
    writeFileSync(file, `${SAGA}\nthis is no program`);
    await dev.seen(/sagas\/first\.js changed/);
    await dev.seen(
      /error: amends\.config\.js cannot be loaded: .*\(sagas\/first\.js:\d+\)[\s\S]*Waiting for a change\./,
    );
    writeFileSync(file, SAGA.replace('"FIRST"', '(console.log("SECOND"), "SECOND")'));
    await dev.seen(/Waiting for a change\.[\s\S]*console {2}http[\s\S]*working on /);
    expect((await cli(["start", "first", "{}", "--id", "o-1"], { cwd: folder })).code).toBe(0);
    await dev.seen(/SECOND/);
    // The address that was printed first is still good.
    expect((await cli(["show", "o-1", "--console", address], { cwd: folder })).code).toBe(0);
    dev.child.kill("SIGINT");
    expect((await dev.ended()).code).toBe(0);
  });
});

describe("dev", () => {
  const THROWING = {
    "package.json": '{ "type": "module" }',
    "amends.config.js": `import { err, saga } from "amends";
import { event, handler } from "amends/events";
const any = { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }) } };
const [Asked, Done, Refused] = ["asked", "done", "refused"].map((name) => event(name, any));
const place = saga("place", any).step("charge", {
  act: () => { throw new TypeError("ada's card", { cause: new Error("the bank is away") }); },
});
const stuck = saga("stuck", any, { compensateRetry: { attempts: 1 } })
  .step("one", { act: () => 1, compensate: () => { throw new Error("no way back"); } })
  .step("two", { act: () => err("no") });
const answer = handler("answer", {
  on: Asked, ok: Done, err: Refused, retry: { base: "1h" },
  handle: () => { throw new RangeError("no room"); },
});
export default {
  database: "dev.db", sagas: [place, stuck], events: [answer], worker: { poll: "50ms" },
  onCreate: (amends) => amends.migrate().then(async () => {
    await amends.start(place, {}, { id: "o-1" });
    await amends.events.publish(Asked({}));
    await amends.start(stuck, {}, { id: "o-2" });
  }),
};
`,
  };

  it("[P-03] dev tells what the developer's code threw, with its stack and the next try; a worker only if AMENDS_DEBUG asks", async () => {
    const dev = await begin(["dev", "--no-watch", "--port", "0"], await made(THROWING));
    await dev.seen(
      /place: the act of charge threw saga o-1, try 1: the next try is in 1\.0 s\n +TypeError: ada's card\n +at .*amends\.config\.js:\d+[\s\S]*caused by Error: the bank is away/,
    );
    await dev.seen(
      /stuck: the undo of one threw saga o-2, try 1: it is not tried again\n +Error: no way back/,
    );
    await dev.seen(/handler answer threw entry \S+, try 1: the next try is in 1 h\n +RangeError: no room/);
    const worker = await begin(["worker", "--migrate"], await made(THROWING));
    await worker.seen(/a saga has stalled and needs a person .*id=o-2/);
    expect(worker.text()).not.toMatch(/threw|no way back/);
    const debugged = await begin(["worker", "--migrate"], await made(THROWING), { AMENDS_DEBUG: "1" });
    await debugged.seen(/the undo of one threw saga o-2/);
  });

  it("[P-03] dev ends where its port is taken: no change of a file can help", async () => {
    const folder = await made(config("dev.db"));
    const first = await begin(["dev", "--no-watch", "--port", "0"], folder);
    const [, port = ""] = await first.seen(/console {2}http:\/\/127\.0\.0\.1:(\d+)/);
    const second = await processOf(["dev", "--port", port], folder);
    expect([second.code, second.err]).toEqual([1, expect.stringContaining("is in use by another program")]);
    expect(second.out).not.toContain("Waiting for a change");
  });
});

describe("init", () => {
  it("[P-03] puts a first saga into an empty folder, which runs as it stands, and overwrites nothing", async () => {
    const folder = await made();
    const first = await cli(["init", "--language", "js", "--json"], { cwd: folder });
    expect([first.code, JSON.parse(first.out)]).toMatchObject([
      0,
      { written: ["amends.config.js", "package.json"], kept: [] },
    ]);
    expect((await cli(["migrate"], { cwd: folder })).code).toBe(0);
    await cli(["start", "first-saga", '{"name":"Ann","cents":250}', "--id", "o-1"], { cwd: folder });
    await cli(["start", "first-saga", '{"name":"Ben","cents":25000}', "--id", "o-2"], { cwd: folder });
    const bad = await cli(["start", "first-saga", '{"name":7}'], { cwd: folder });
    expect([bad.code, bad.err]).toEqual([1, expect.stringContaining("an order has a name and whole cents")]);
    await cli(["worker", "--once"], { cwd: folder });
    const list = await cli(["list"], { cwd: folder });
    expect(list.out).toMatch(/FAILED .* o-2 /);
    expect(list.out).toMatch(/COMPLETED .* o-1 /);
    writeFileSync(path.join(folder, "amends.config.js"), "// mine");
    const again = await cli(["init", "--json"], { cwd: folder });
    expect(JSON.parse(again.out)).toMatchObject({
      written: [],
      kept: ["amends.config.js"],
      script: false,
    });
    expect(readFileSync(path.join(folder, "amends.config.js"), "utf8")).toBe("// mine");
  });

  it("[P-03] fits a project that is there: its language, its kind of modules, its scripts", async () => {
    const manifest =
      '{\n\t"name": "shop",\n\t"scripts": {\n\t\t"test": "x"\n\t},\n\t"devDependencies": {\n\t\t"typescript": "7"\n\t}\n}\n';
    const folder = await made({ "package.json": manifest, "tsconfig.json": "{}" });
    const dry = await cli(["init", "--dry-run"], { cwd: folder });
    expect([dry.code, dry.out]).toEqual([
      0,
      expect.stringMatching(
        /^would write {2}amends\.config\.mts\nwould add {4}the script "amends" to package\.json\n/,
      ),
    ]);
    expect(dry.out).not.toMatch(/^(?:written|added)/m);
    expect(existsSync(path.join(folder, "amends.config.mts"))).toBe(false);
    const { out } = await cli(["init"], { cwd: folder });
    expect(out).toMatch(/^written {2}amends\.config\.mts\nadded {4}the script "amends" to package\.json\n/);
    expect(readFileSync(path.join(folder, "package.json"), "utf8")).toBe(
      manifest.replace('"test": "x"', '"test": "x",\n\t\t"amends": "amends dev"'),
    );
    expect(readFileSync(path.join(folder, "tsconfig.json"), "utf8")).toBe("{}");
    const plain = await made({
      "package.json": '{ "scripts": { "start": "node index.js" } }',
      "index.js": "",
    });
    expect((await cli(["init"], { cwd: plain })).out).toMatch(/^written {2}amends\.config\.mjs\n/);
    const broken = await made({ "package.json": "{" });
    expect((await cli(["init"], { cwd: broken })).err).toContain("package.json cannot be read");
  });
});

describe("config", () => {
  it("[P-03] what is wrong with a config is said in one line, with its place", async () => {
    const refused = async (text: string, message: RegExp): Promise<void> => {
      const folder = await made({ "package.json": '{ "type": "module" }', "amends.config.js": text });
      const { code, out, err } = await processOf(["list"], folder);
      expect([text, code, out]).toEqual([text, 1, ""]);
      expect(err).toMatch(message);
      expect(err).not.toMatch(/\n\s+at /);
    };
    await Promise.all([
      refused("export const x = 1;", /amends\.config\.js exports no config\./),
      refused(
        "export default { database: ':memory:', saggas: [] };",
        /there is no option named saggas\. Did you mean sagas\? There are: .*events, calls, webhooks, erasure, retention, .*onCreate, worker, console, health, contracts\./,
      ),
      refused("\n\nthrow new TypeError('no');", /cannot be loaded: no \(amends\.config\.js:3\)/),
      refused('import "nowhere";', /Cannot find package 'nowhere'[\s\S]*npm install nowhere/),
      refused("export default {", /cannot be loaded: Unexpected end of input \(amends\.config\.js:1\)/),
    ]);
  });

  it("[P-03] TypeScript is read by tsx where the project has it, else by Node.js where it can; else it is said what would", async () => {
    const files = {
      "package.json": '{ "type": "module" }',
      "amends.config.ts": 'const database: string = "a.db";\nexport default { database };\n',
    };
    const folder = await made(files);
    const alone = await processOf(["migrate"], folder);
    const [code, message] = stripsTypes()
      ? [0, /^$/]
      : [1, /^error: Node\.js \S+ cannot read amends\.config\.ts: it is TypeScript\.\n.*22\.18.*tsx/];
    expect(alone.code).toBe(code);
    expect(alone.err).toMatch(message);
    const helped = await processOf(["migrate"], await made({ ...files, ...STANDS_IN_FOR_TSX }));
    expect([helped.code, helped.err]).toEqual([0, "tsx was asked\n"]);
  });

  it("[P-03] a config that is broken keeps nobody from looking at a database that is named", async () => {
    const folder = await made({ "package.json": '{ "type": "module" }', "amends.config.js": "throw 1" });
    expect((await cli(["migrate", "--database", "a.db"], { cwd: folder })).code).toBe(0);
    expect((await cli(["list", "--database", "a.db"], { cwd: folder })).code).toBe(0);
    const worker = await cli(["worker", "--once"], { cwd: await made() });
    expect([worker.code, worker.err]).toEqual([
      1,
      expect.stringContaining("There is no amends.config.ts in this folder"),
    ]);
  });

  it("[P-03] a config that imports another copy of the package is refused before it runs", async () => {
    const folder = await made({ "package.json": "{}", "amends.config.mjs": "throw 1" });
    const other = path.join(folder, "node_modules", "amends");
    rmSync(other);
    mkdirSync(other);
    writeFileSync(path.join(other, "package.json"), '{ "name": "amends", "version": "0.0.1" }');
    const { code, err } = await cli(["list"], { cwd: folder });
    expect([code, err]).toEqual([1, expect.stringContaining("npx amends")]);
  });
});

/** What `tsx` offers, as far as it is used: a register function that makes Node.js read TypeScript. */
const STANDS_IN_FOR_TSX = {
  "node_modules/tsx/package.json":
    '{ "name": "tsx", "type": "module", "exports": { "./package.json": "./package.json", "./esm/api": { "import": { "default": "./api.js" }, "require": "./none.cjs" } } }',
  "node_modules/tsx/api.js": `import { register as hook } from "node:module";
export function register() {
  console.error("tsx was asked");
  hook("./hooks.js", import.meta.url);
}`,
  "node_modules/tsx/hooks.js": `import { readFile } from "node:fs/promises";
export async function load(url, context, next) {
  if (!url.endsWith(".ts")) return next(url, context);
  const source = (await readFile(new URL(url), "utf8")).replace(": string", "");
  return { format: "module", source, shortCircuit: true };
}`,
};
