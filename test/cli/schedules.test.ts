/** Schedules from the terminal: lists, one with its ticks, and the actions of operators. */
import { saga } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import type { Database } from "../../src/storage/database.ts";
import { sql } from "../../src/storage/sql.ts";
import { onEachDatabase, type TestDatabase } from "../support/databases.ts";
import { actionsOf } from "./support/actions.ts";
import { cli, json } from "./support/cli.ts";

/** Its tick was to begin an hour ago. */
async function makeOverdue(db: Database): Promise<void> {
  const { dialect } = db;
  const ago = dialect.plusMs(dialect.now(), -3_600_000);
  await db.query(sql`update ${dialect.table("schedules")} set tick_at = ${ago}, next_at = ${ago}`);
}

async function scene(database: TestDatabase) {
  const invoice = saga("invoice", z.object({ email: z.string() })).step("send", { act: () => 1 });
  const amends = await database.amends({ sagas: [invoice] });
  await amends.schedules.put("nightly-invoices", {
    cron: "0 3 * * *",
    timezone: "Europe/Berlin",
    saga: invoice,
    input: { email: "ada@example.com" },
  });
  return { amends, at: ["--database", await database.place()] };
}

const WHY = ["--reason", "the bank is down", "--by", "ann"];

onEachDatabase((database) => {
  it("[P-03][S-41] schedules are listed, and one is shown with its next and its last ticks", async () => {
    const { amends, at } = await scene(database);
    const { sagaId } = await amends.schedules.run("nightly-invoices", { reason: "a test" });
    const waiting = await cli(["show", "nightly-invoices", ...at]);
    expect(waiting.out).toContain(`${sagaId} waits for a worker that has the saga`);
    await amends.worker().runOnce({ budget: "10s" });
    const { out } = await cli(["list", "schedules", ...at]);
    expect(out).toMatch(/STATUS +NAME +CRON +TIME ZONE +NEXT +LAST TICK +SAGA/);
    expect(out).toMatch(
      /active +nightly-invoices +0 3 \* \* \* +Europe\/Berlin +in .* started .* COMPLETED +invoice@1/,
    );
    const shown = await cli(["show", "nightly-invoices", ...at]);
    expect([shown.code, shown.err]).toEqual([0, ""]);
    for (const line of [
      /^active {2}nightly-invoices$/m,
      /ticks +0 3 \* \* \* \(Europe\/Berlin\)$/m,
      /starts +invoice \(version 1\)$/m,
      /input +\{ email: text \}$/m,
      /overlap +skip$/m,
      /missed +one$/m,
      /next +\d{4}-\d\d-\d\dT0[12]:00:00\.000Z \(in .*\)$/m,
      /started \(run\) +COMPLETED +nightly-invoices@run-/,
      /amends pause nightly-invoices --reason "…"/,
    ])
      expect(shown.out).toMatch(line);
    expect(shown.out).not.toContain("ada@example.com");
    expect(await json(["list", "schedules", "--status", "paused", ...at])).toEqual({
      items: [],
      more: false,
    });
    expect(await json(["list", "schedules", "--name", "night", ...at])).toMatchObject({
      items: [{ id: "nightly-invoices" }],
    });
    const revealed = await cli(["show", "nightly-invoices", "--reveal", "--reason", "ticket 12", ...at]);
    expect(revealed.out).toContain("ada@example.com");
  });

  it("[P-03][S-41] a schedule is paused, resumed, run and removed, each with a reason, on record", async () => {
    const { amends, at } = await scene(database);
    const paused = await cli(["pause", "nightly-invoices", ...WHY, ...at]);
    expect(paused.out).toBe("Paused: schedule nightly-invoices is paused\n");
    expect((await cli(["show", "nightly-invoices", ...at])).out).toMatch(
      /paused +.* by ann: the bank is down/,
    );
    expect(await json(["resume", "nightly-invoices", ...WHY, ...at])).toMatchObject({
      what: "schedule",
      action: "resume",
      status: "active",
    });
    const run = await cli(["run", "nightly-invoices", ...WHY, ...at]);
    expect(run.out).toMatch(
      /^Asked for: saga nightly-invoices@run-\S+, which a worker that has invoice starts\n$/,
    );
    expect((await cli(["run", "nightly-invoices", ...WHY, ...at])).err).toContain(
      "waits for a worker already",
    );
    expect((await cli(["remove", "nightly-invoices", ...WHY, ...at])).out).toBe(
      "Removed: schedule nightly-invoices is removed\n",
    );
    expect((await cli(["remove", "nightly-invoices", ...WHY, ...at])).err).toContain("There is no");
    expect((await cli(["pause", "nightly-invoices", ...at])).err).toContain("A reason is required");
    const actions = (await actionsOf(amends)).filter(({ outcome }) => outcome === "done");
    expect(actions.map(({ by, action, target }) => [by, action, target.kind])).toEqual(
      ["remove", "run", "resume", "pause"].map((action) => ["ann", action, "schedule"]),
    );
  });

  it("[P-03] the doctor tells ticks that no worker has started", async () => {
    const { amends, at } = await scene(database);
    const healthy = await json<{ findings: readonly { check: string }[] }>(["doctor", ...at]);
    expect(healthy.findings).toContainEqual({
      check: "schedules",
      level: "ok",
      detail: "no tick is overdue",
    });
    await makeOverdue(amends.context.database);
    const { findings } = await json<{ findings: readonly { check: string }[] }>(["doctor", ...at], 1);
    expect(findings.find(({ check }) => check === "schedules")).toMatchObject({
      level: "wrong",
      detail:
        "ticks that no worker has started: nightly-invoices (saga invoice@1, which no running worker has)",
    });
  });
});
