/** Handlers that no process serves any more: attention, the list, and the end of a subscription. */
import { eventSaga, step } from "amends/events";
import { expect, it } from "vitest";
import type { Database } from "../../src/storage/database.ts";
import { sql } from "../../src/storage/sql.ts";
import { onEachDatabase, virtualClock } from "../support/databases.ts";
import { watchedClock } from "../support/watched-clock.ts";
import { sent, waitFor } from "./support/flow.ts";
import { Billed, billing, listening, Paid } from "./support/services.ts";

const note = { by: "ann", reason: "removed from the code" };

async function seenAgo(db: Database): Promise<number> {
  const { dialect } = db;
  const [row] = await db.query(
    sql`select ${dialect.epochMs(dialect.now())} - ${dialect.epochMs(sql`seen_at`)} as ms from ${dialect.table("event_handlers")}`,
  );
  return Number(row?.["ms"]);
}

onEachDatabase((database) => {
  it("[F-19] a handler that no process has served for ten minutes is an attention item with its backlog, and can be retired", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    const seen: string[] = [];
    const first = await database.amends({ database: db, events: [listening("ship", seen)] });
    const worker = await database.worker(first);
    await worker.stop();
    const other = await database.amends({ database: db, events: [] });
    const attention = async () => (await other.attention.list({ kind: "unserved-handler" })).items;
    await other.events.publish(["a", "b", "c"].map((order) => Paid({ order })));
    clock.jump(9 * 60_000);
    expect(await attention()).toEqual([]);
    clock.jump(2 * 60_000);
    expect(await attention()).toMatchObject([
      { id: "ship", name: "ship", event: "Paid", backlog: 3, actions: ["retire"] },
    ]);
    expect(await other.events.handlers()).toMatchObject([
      { handler: "ship", event: "Paid", status: "unserved", backlog: 3, version: 1 },
    ]);
    expect(await other.events.retire("ship", note)).toEqual({ superseded: 3 });
    expect(await attention()).toEqual([]);
    expect(await other.events.handlers()).toMatchObject([{ handler: "ship", status: "retired", backlog: 0 }]);
    const [row] = await db.query(sql`select notes from ${db.dialect.table("event_handlers")}`);
    expect(JSON.parse(row?.["notes"] as string)).toMatchObject([{ action: "retire", ...note }]);
    // It gets no further events, and begins anew when a worker registers it again.
    await other.events.publish(Paid({ order: "d" }));
    expect((await sent(db)).filter((one) => one.endsWith("(superseded)"))).toHaveLength(3);
    expect((await sent(db)).filter((one) => one === "Paid")).toHaveLength(1);
    const again = await database.amends({ database: db, events: [listening("ship", seen)] });
    await database.worker(again);
    await other.events.publish(Paid({ order: "e" }));
    await waitFor(async () => {
      await clock.advance(1_000);
      return seen.length === 2;
    });
    expect(seen.toSorted()).toEqual(["d", "e"]);
    expect(await other.events.handlers()).toMatchObject([{ handler: "ship", status: "served" }]);
  });

  it("[F-19] what was published while a handler was retired is shown, and retired with it", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    const ship = await database.amends({ database: db, events: [listening("ship", [])] });
    await (await database.worker(ship)).stop();
    clock.jump(11 * 60_000);
    const other = await database.amends({ database: db, events: [] });
    const table = db.dialect.table("event_handlers");
    await other.events.retire("ship", note);
    // A publisher whose snapshot is older has not seen the end.
    await db.query(sql`update ${table} set retired_at = null`);
    await other.events.publish(Paid({ order: "late" }));
    await db.query(sql`update ${table} set retired_at = ${db.dialect.now()}`);
    const { items } = await other.attention.list({ kind: "unserved-handler" });
    expect(items).toMatchObject([{ id: "ship", backlog: 1 }]);
    expect(await other.events.retire("ship", note)).toEqual({ superseded: 1 });
    expect((await other.attention.list()).items).toEqual([]);
  });

  it("[F-19] a worker keeps its handlers alive with its presence, and such a handler is not retired", async () => {
    const clock = watchedClock();
    const db = await database.open({ clock });
    const ship = await database.amends({ database: db, events: [listening("ship", [])] });
    await database.worker(ship);
    for (let beat = 0; beat < 5; beat++) {
      await waitFor(() => clock.setFor(15_000) > 0);
      await clock.advance(15_000);
    }
    await waitFor(async () => (await seenAgo(db)) < 75_000 && (await seenAgo(db)) >= 0);
    await expect(ship.events.retire("ship", note)).rejects.toMatchObject({ code: "NOT_ALLOWED_NOW" });
    await expect(ship.events.retire("nobody", note)).rejects.toThrow(
      "No handler named nobody is registered.",
    );
    await expect(ship.events.retire("ship", {} as never)).rejects.toMatchObject({ code: "BAD_OPTION" });
  });

  it("[F-19] a handler that a run waits for is not retired, and one that is not known here waits", async () => {
    const clock = virtualClock();
    const db = await database.open({ clock });
    const order = eventSaga("order", {
      trigger: Paid,
      correlate: "order",
      steps: [step("charge", billing("charge", []))],
      onCompleted: (id) => Billed({ order: id }),
      onFailed: (id) => Billed({ order: id }),
    });
    const sagas = await database.amends({ database: db, events: [order] });
    await (await database.worker(sagas)).stop();
    await sagas.events.publish(Paid({ order: "o-1" }));
    const other = await database.amends({ database: db, events: [] });
    await other.events.publish(Paid({ order: "o-2" }));
    clock.jump(11 * 60_000);
    const [item] = (await other.attention.list({ kind: "unserved-handler" })).items;
    expect(item).toMatchObject({ id: "charge", backlog: 2 });
    expect(item?.reason).toContain("saga order");
    await expect(other.events.retire("charge", note)).rejects.toThrow("A run of saga order waits");
  });
});
