/** Subscriptions, erasures, events without a subscriber and signals from the terminal. */
import { DatabaseAuditSink } from "amends/audit";
import { event } from "amends/events";
import { afterEach, expect, it } from "vitest";
import { z } from "zod";
import { sql } from "../../src/storage/sql.ts";
import { onEachDatabase } from "../support/databases.ts";
import { cli, json } from "./support/cli.ts";
import { forget, project } from "./support/project.ts";
import { brokenSystem } from "./support/scene.ts";

const folders: string[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) forget(folder);
});

const config = (database: string): Readonly<Record<string, string>> => ({
  "package.json": '{ "type": "module" }',
  "amends.config.js": `import { saga, signal } from "amends";
import { defineConfig } from "amends/config";
const any = { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }) } };
const cents = { "~standard": { version: 1, vendor: "test", validate: (value) =>
  typeof value.cents === "number" ? { value } : { issues: [{ message: "cents must be a number" }] } } };
const order = saga("order", any).waitFor("payment", { signal: signal("paid", cents) });
export default defineConfig({ database: ${JSON.stringify(database)}, sagas: [order] });
`,
});

onEachDatabase((database) => {
  it("[P-03] subscriptions and erasures are listed, with filters", async () => {
    const { at, db, abandoned } = await brokenSystem(database);
    const listed = await json<{ items: readonly { id: string; status: string }[] }>([
      "list",
      "subscriptions",
      ...at,
    ]);
    expect(listed.items).toMatchObject([{ status: "Active" }]);
    const out = (await cli(["list", "subscriptions", ...at])).out;
    expect(out).toMatch(/Active +\d+ +https:\/\/partner\.example\/hook +order\.\*/);
    expect(out).not.toContain("secret");
    expect((await cli(["list", "subscriptions", "--status", "disabled", ...at])).out).toBe("Nothing.\n");
    const trail = new DatabaseAuditSink(db);
    for (const subjectId of ["u-1", "u-2"])
      await trail.append([{ type: "ERASURE_REQUESTED", subjectId, payload: { entries: 1 } }]);
    const subjects = async (...more: string[]): Promise<readonly string[]> =>
      (
        await json<{ items: readonly { subjectId: string }[] }>(["list", "erasures", ...more, ...at])
      ).items.map(({ subjectId }) => subjectId);
    expect((await subjects()).toSorted()).toEqual(["u-1", "u-2"]);
    expect(await subjects("--name", "u-2")).toEqual(["u-2"]);
    expect(await subjects("--status", "completed")).toEqual([]);
    expect((await subjects("--status", "open,completed")).length).toBe(2);
    expect((await cli(["list", "erasures", ...at])).out).toMatch(/(open|overdue) +erase +u-1 +.+ 1 +1\n/);
    // What is done is not counted: the outbox has rows, and nothing is open.
    const { dialect } = db;
    for (const id of abandoned)
      await db.query(sql`update ${dialect.table("outbox")} set status = 'superseded' where entry_id = ${id}`);
    expect((await cli(["status", ...at])).out).toMatch(/outbox {6}nothing open\n/);
  });

  it("[P-03] an event that no handler subscribes to is shown as that, not as pending", async () => {
    const Granted = event("PointsGranted", z.object({ orderId: z.string() }));
    const amends = await database.amends({ events: [] });
    await amends.events.publish(Granted({ orderId: "o-1" }));
    const at = ["--database", await database.place()];
    const { items } = await json<{ items: readonly { id: string; status: string }[] }>([
      "list",
      "outbox",
      ...at,
    ]);
    expect(items).toMatchObject([{ status: "pending" }]);
    expect((await cli(["list", "outbox", ...at])).out).toMatch(/\nno subscriber +event +PointsGranted /);
    expect((await cli(["show", items[0]?.id ?? "", ...at])).out).toMatch(/^no subscriber {2}PointsGranted /);
  });

  it("[P-03][S-25] a signal is sent from the terminal once for its id, and refused with a payload that does not fit", async () => {
    await database.open();
    const folder = await project(config(await database.place()));
    folders.push(folder);
    const at = { cwd: folder };
    await cli(["start", "order", "{}", "--id", "o-1"], at);
    const send = (name: string, payload: string): ReturnType<typeof cli> =>
      cli(["signal", "o-1", name, payload, "--signal-id", "tx-17"], at);
    const misspelt = await send("piad", "{}");
    expect([misspelt.code, misspelt.err]).toEqual([1, expect.stringContaining("Did you mean paid?")]);
    const unfit = await send("paid", '{"cents":"many"}');
    expect([unfit.code, unfit.err]).toEqual([1, expect.stringContaining("cents must be a number")]);
    expect((await send("paid", "{")).code).toBe(2);
    expect((await send("paid", '{"cents":250}')).out).toBe("sent: signal paid to saga o-1\n");
    expect((await send("paid", '{"cents":250}')).out).toBe("already sent: signal paid to saga o-1\n");
    await cli(["worker", "--once"], at);
    expect((await cli(["show", "o-1"], at)).out).toMatch(/^COMPLETED/);
    const gone = await cli(["signal", "o-2", "paid", '{"cents":1}', "--json"], at);
    expect([gone.code, gone.out + gone.err]).toEqual([1, expect.stringContaining("NOT_FOUND")]);
  });
});
