/** What `show` says of a saga that has not ended: its wait, its worker and the lease, and what was lost with a worker. */
import { saga, signal } from "amends";
import { expect, it } from "vitest";
import { z } from "zod";
import { sql } from "../../src/storage/sql.ts";
import { gate } from "../sagas/support/gate.ts";
import { onEachDatabase } from "../support/databases.ts";
import { until } from "../support/until.ts";
import { cli } from "./support/cli.ts";

const nothing = z.object({});
const paid = signal("paid", z.object({ cents: z.number() }));

onEachDatabase((database) => {
  it("[P-03][S-25] a saga that waits is shown with what it waits for and until when, not as one that was lost", async () => {
    const order = saga("order", nothing)
      .step("reserve", { act: () => 1 })
      .waitFor("payment", { signal: paid, timeout: "1h" });
    const patient = saga("patient", nothing).waitFor("payment", { signal: paid });
    const asleep = saga("asleep", nothing).sleep("pause", "2h");
    const amends = await database.amends({ sagas: [order, patient, asleep] });
    await amends.start(order, {}, { id: "order" });
    await amends.start(patient, {}, { id: "patient" });
    await amends.start(asleep, {}, { id: "asleep" });
    await amends.worker().runOnce();
    const show = async (id: string): Promise<string> =>
      (await cli(["show", id, "--database", await database.place()])).out;
    const shown = await show("order");
    expect(shown).toMatch(/\n {2}waits for {3}signal paid, until \d{4}-\S+Z \(in (59 m.*|1 h)\)\n/);
    expect(shown).toMatch(/\n {2}payment +░*▶ +has waited for /);
    expect(shown).not.toContain("did not end");
    expect(shown).not.toContain("\n  due ");
    expect(await show("patient")).toMatch(/waits for {3}signal paid, without a time limit\n/);
    expect(await show("asleep")).toMatch(/waits for {3}time to pass, until \S+ \((in 1 h 59 m.*|in 2 h)\)\n/);
  });

  it("[P-03] a saga with a worker is shown with the end of its lease; one whose worker is gone with what was lost", async () => {
    const held = gate();
    const order = saga("order", nothing).step("charge", { act: () => held.pass() });
    const amends = await database.amends({ sagas: [order] });
    await amends.start(order, {}, { id: "o-1" });
    await database.worker(amends, { poll: "1h" });
    await until(async () => (await amends.inspect("o-1"))?.timeline.some(({ name }) => name === "charge"));
    const show = async (): Promise<string> =>
      (await cli(["show", "o-1", "--database", await database.place()])).out;
    const shown = await show();
    expect(shown).toMatch(
      /\n {2}worker {6}\S+, lease ends in \d+ s: if this worker is gone, another one takes over then\n/,
    );
    expect(shown).toMatch(/\n {2}charge +█*▶ +began .+ ago\n/);
    expect(shown).not.toContain("did not end");
    const db = await database.open();
    const { dialect } = db;
    const past = dialect.plusMs(dialect.now(), -5_000);
    await db.query(sql`update ${dialect.table("saga_executions")} set next_attempt_at = ${past}`);
    expect(await show()).toMatch(/lease ended [\d.]+ s ago: another worker takes over\n/);
    await db.query(sql`update ${dialect.table("saga_executions")} set owner = null`);
    const lost = await show();
    expect(lost).toMatch(/\n {2}due {9}.+ ago\n/);
    expect(lost).toContain("began, and did not end");
    held.open();
  });
});
