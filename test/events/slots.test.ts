/** A publication reserves slots for its deliveries before it is written. */
import { ok } from "amends";
import { event, handler } from "amends/events";
import { expect, it } from "vitest";
import { z } from "zod";
import { onEachDatabase } from "../support/databases.ts";
import { sql } from "../../src/storage/sql.ts";
import { faulty } from "../storage/support/faults.ts";

const Placed = event("Placed", z.object({ order: z.string() }));
const Noted = event("Noted", z.object({ order: z.string() }));
const Refused = event("Refused", z.object({ order: z.string() }));

onEachDatabase((database) => {
  it("[F-07] a publication that fails gives back the slots that it reserved", async () => {
    const noted: string[] = [];
    const note = handler("note", {
      on: Placed,
      ok: Noted,
      err: Refused,
      handle: ({ order }) => {
        noted.push(order);
        return ok(Noted({ order }));
      },
    });
    const faults = faulty(await database.open());
    const amends = await database.amends({ events: [note], database: faults.db });
    // With one slot, a reservation that stays would end all work.
    await database.worker(amends, { concurrency: 1 });
    await amends.events.publish(Placed({ order: "o-0" }));
    const table = faults.db.dialect.table("outbox");
    const settled = sql`select count(*) as settled from ${table} where status = 'succeeded'`;
    await expect.poll(async () => Number((await faults.db.query(settled))[0]?.["settled"])).toBe(1);
    faults.plan(1, 1_000_000, "before", () => new Error("injected"));
    await expect(amends.events.publish(Placed({ order: "o-1" }))).rejects.toThrow(
      "The database refused a statement.",
    );
    faults.plan(1, 0, "before", () => new Error("none"));
    await amends.events.publish(Placed({ order: "o-2" }));
    await expect.poll(() => noted).toEqual(["o-0", "o-2"]);
  });
});
