/** `amends events`: what other teams rely on is in a committed file, and a build that breaks it fails. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { root } from "../../tools/project.mjs";
import { cli, json, type Ran } from "./support/cli.ts";

/** A project whose config is rewritten by a test. Each config is a new file: a module is loaded once. */
function shop() {
  const parent = path.join(root, ".amends");
  mkdirSync(parent, { recursive: true });
  const cwd = mkdtempSync(path.join(parent, "events-"));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  let configs = 0;
  const config = (fields: string, more = "", options = ""): string => {
    const name = `config-${configs++}.mjs`;
    const text = `import { consumer, event } from "amends/events";
import { z } from "zod";
const OrderPlaced = event("OrderPlaced", ${fields}${more});
export default { database: ":memory:", events: [consumer("mail", { on: OrderPlaced, handle: () => undefined })], ${options} };`;
    writeFileSync(path.join(cwd, name), text);
    return name;
  };
  const run = (how: "--write" | "--check", name: string, ...more: string[]): Promise<Ran> =>
    cli(["events", how, "events.json", "--config", name, ...more], { cwd });
  return { cwd, config, run };
}

const BEFORE = "z.object({ orderId: z.string(), address: z.object({ street: z.string() }) })";
const V2 = ", { version: 2, upcast: { 1: (data) => data } }";

it("[F-23] the file has each event with its version and its JSON Schema, and the same config passes", async () => {
  const { cwd, config, run } = shop();
  expect(await run("--write", config(BEFORE))).toEqual({
    code: 0,
    out: "events.json has 1 events.\n",
    err: "",
  });
  expect(JSON.parse(readFileSync(path.join(cwd, "events.json"), "utf8"))).toMatchObject({
    catalogue: 1,
    events: [
      {
        event: "OrderPlaced",
        version: 1,
        hash: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
        schema: { type: "object", required: ["orderId", "address"] },
      },
    ],
  });
  const again = await run("--check", config(BEFORE));
  expect(again).toEqual({ code: 0, out: "All 1 events are as in events.json.\n", err: "" });
});

it.each([
  ["z.object({ orderId: z.string() })", "address was removed"],
  [
    BEFORE.replace("orderId: z.string()", "orderId: z.number()"),
    "orderId changed its type from string to number",
  ],
  [BEFORE.replace("{ orderId", "{ sku: z.string(), orderId"), "sku was added as a required field"],
  [BEFORE.replace("street: z.string()", "street: z.string().optional()"), "address.street became optional"],
  [BEFORE.replace("orderId: z.string()", "orderId: z.string().max(9)"), "orderId got maxLength 9"],
])("[F-23] a schema that changed without a version fails the check: %s", async (fields, words) => {
  const { config, run } = shop();
  await run("--write", config(BEFORE));
  const { code, out } = await run("--check", config(fields));
  expect([code, out]).toEqual([1, expect.stringContaining("OrderPlaced@1 changed without a new version:")]);
  expect(out).toContain(`  ${words}\n`);
  expect((await run("--check", config(fields, V2))).code).toBe(0);
});

it("[F-23] an optional field may be added, except where the schema refuses further fields", async () => {
  const { cwd, config, run } = shop();
  await run("--write", config(BEFORE));
  const more = BEFORE.replace("{ orderId", "{ note: z.string().optional(), orderId");
  const { code, out } = await run("--check", config(more));
  expect([code, out]).toEqual([0, expect.stringContaining("  note was added as an optional field\n")]);
  expect(
    await json([
      "events",
      "--check",
      path.join(cwd, "events.json"),
      "--config",
      path.join(cwd, config(more)),
    ]),
  ).toMatchObject({
    ok: true,
    events: [{ event: "OrderPlaced", version: 1, was: 1, status: "compatible" }],
  });
  await run("--write", config(BEFORE.replace("z.object", "z.strictObject")));
  const strict = await run("--check", config(more.replace("z.object", "z.strictObject")));
  expect([strict.code, strict.out]).toEqual([
    1,
    expect.stringContaining("note was added, but the schema so far refuses further fields"),
  ]);
});

it("[F-23] an event that was removed or became older fails the check, and a new one passes", async () => {
  const { config, run } = shop();
  const further = 'contracts: [event("Paid", z.object({ orderId: z.string() }))]';
  await run("--write", config(BEFORE, V2));
  const added = await run("--check", config(BEFORE, V2, further));
  expect([added.code, added.out]).toEqual([0, expect.stringContaining("Paid@1 is new.")]);
  const older = await run("--check", config(BEFORE));
  expect([older.code, older.out]).toEqual([1, expect.stringContaining("which is older than 2")]);
  await run("--write", config(BEFORE, V2, further));
  const removed = await run("--check", config(BEFORE, V2));
  expect([removed.code, removed.out]).toEqual([1, expect.stringContaining("Paid@1 is no longer defined.")]);
});

it("[F-23] a schema without a JSON Schema is refused by name, until it is left out", async () => {
  const { config, run } = shop();
  const mute = `contracts: [event("Mute", { "~standard": { version: 1, vendor: "own", validate: (value) => ({ value }) } })]`;
  const name = config(BEFORE, "", mute);
  for (const how of ["--write", "--check"] as const) {
    const { code, err } = await run(how, name);
    expect([code, err]).toEqual([1, expect.stringMatching(/no JSON Schema: Mute\.[^]*--except Mute/)]);
  }
  expect((await run("--write", name, "--except", "Mute")).code).toBe(0);
  expect((await run("--check", name, "--except", "Mute")).code).toBe(0);
  expect((await run("--check", name, "--except", "Mut")).err).toContain("the config has no event Mut.");
});

it("[F-23] a file that is absent, unreadable or of another kind is told with what to do", async () => {
  const { cwd, config, run } = shop();
  const name = config(BEFORE);
  expect(await run("--check", name)).toMatchObject({
    code: 1,
    err: expect.stringContaining("--write") as string,
  });
  for (const text of ["{", "{}", "null", '{"catalogue":1,"events":[null]}', '{"catalogue":2,"events":[]}']) {
    writeFileSync(path.join(cwd, "events.json"), text);
    expect(await run("--check", name)).toMatchObject({
      code: 1,
      err: expect.stringContaining("--write") as string,
    });
  }
  expect((await cli(["events"], { cwd })).code).toBe(2);
});

it("[F-23] two different events of one name are refused", async () => {
  const { config, run } = shop();
  const twin = 'contracts: [event("OrderPlaced", z.object({ id2: z.string() }))]';
  const { code, err } = await run("--write", config(BEFORE, "", twin));
  expect([code, err]).toEqual([
    1,
    expect.stringContaining("Two different events of the config are named OrderPlaced"),
  ]);
});
