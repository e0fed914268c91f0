/** The guide's way to restore a database: what was cancelled after the backup does not go forward again. */
import { Amends, saga, signal } from "amends";
import { sqlite } from "amends/sqlite";
import { expect, it } from "vitest";
import { z } from "zod";
import { raw } from "../../src/storage/sql.ts";
import { cli } from "../cli/support/cli.ts";
import { onDatabase } from "../support/databases.ts";

onDatabase("sqlite", (database) => {
  it("[K-12][P-03] what ran after a backup can be listed, and a cancel before the workers start keeps it from shipping", async () => {
    const calls: string[] = [];
    const approve = signal("approve", z.object({}));
    const order = saga("order", z.object({}))
      .step("charge", {
        act: ({ key }) => void calls.push(`charge ${key}`),
        compensate: ({ key }) => void calls.push(`refund ${key}`),
      })
      .waitFor("approval", { signal: approve })
      .step("ship", { act: () => void calls.push("ship") });
    const db = await database.open();
    const amends = await database.amends({ database: db, sagas: [order] });
    const run = async (on: Amends): Promise<unknown> => on.worker().runOnce();
    await amends.start(order, {}, { id: "before" });
    await amends.start(order, {}, { id: "cancelled" });
    await run(amends);
    const copy = `${await database.place()}-copy.db`;
    await db.query(raw(`vacuum into '${copy}'`));
    const backupTime = new Date().toISOString();
    await amends.cancel("cancelled", { reason: "the customer called", by: "ann" });
    await run(amends);
    expect((await amends.inspect("cancelled"))?.status).toBe("FAILED");
    const listed = await cli(["list", "--since", backupTime, "--json", "--database", await database.place()]);
    const { items } = JSON.parse(listed.out) as { items: readonly { id: string; status: string }[] };
    expect(items).toMatchObject([{ id: "cancelled", status: "FAILED" }]);
    // The restored database does not know of it.
    const restored = new Amends({ database: sqlite(copy), sagas: [order] });
    expect((await restored.inspect("cancelled"))?.status).toBe("RUNNING");
    const steer = ["cancel", "cancelled", "--reason", "was cancelled after the backup", "--by", "ann"];
    expect((await cli([...steer, "--database", copy])).code).toBe(0);
    for (const id of ["before", "cancelled"]) await restored.signal(id, approve, {}).catch(() => undefined);
    await run(restored);
    expect((await restored.inspect("cancelled"))?.status).toBe("FAILED");
    expect((await restored.inspect("before"))?.status).toBe("COMPLETED");
    expect(calls.filter((call) => call === "ship")).toHaveLength(1);
    // The refund was made under its key again: a service that knows the key does nothing.
    const refunds = calls.filter((call) => call.startsWith("refund"));
    expect([refunds.length, new Set(refunds).size]).toEqual([2, 1]);
    await restored.close();
  });

  it("[P-03] `--since` refuses what is no time, and parts that it is not for", async () => {
    await database.open();
    const at = ["--database", await database.place()];
    expect(await cli(["list", "--since", "yesterday-ish", ...at])).toMatchObject({ code: 2 });
    expect(await cli(["list", "outbox", "--since", "2026-11-17T03:00:00Z", ...at])).toMatchObject({
      code: 2,
    });
  });
});
